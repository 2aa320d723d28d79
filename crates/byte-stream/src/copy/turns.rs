//! Tries one method after the other, until one comes to the end.

use super::job::{Attempt, Job};
use super::method::Way;
use super::{fast, plain};
use crate::Result;

impl Job<'_> {
    /// Tries the chosen way, then the others, then what always works. The way that finished.
    pub(super) fn all(&mut self, chosen: Way, ways: &[Way]) -> Result<Way> {
        let others = ways.iter().copied().filter(|way| *way != chosen);
        let mut finished = chosen;
        for way in std::iter::once(chosen).chain(others) {
            finished = way;
            if way == Way::ReadWrite || self.attempt(way)? == Attempt::Finished {
                break;
            }
        }
        // Also after success: `copy_file_range` sees the end of a file of /proc at its beginning.
        let done = self.done;
        plain::copy(self, finished)?;
        Ok(if self.done > done { Way::ReadWrite } else { finished })
    }

    fn attempt(&mut self, way: Way) -> Result<Attempt> {
        match way {
            Way::CopyFileRange => fast::copy_file_range(self),
            Way::Splice => fast::splice(self),
            Way::SpliceThroughPipe => fast::splice_through_pipe(self),
            Way::Sendfile => fast::sendfile(self),
            Way::ReadWrite => Ok(Attempt::Refused),
        }
    }
}

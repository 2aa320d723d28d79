//! Tries one method after the other until one reaches the end of the input.

use super::job::{Attempt, Job};
use super::method::CopyMethod;
use super::{fast, plain};
use crate::Result;

impl Job<'_> {
    /// Tries the chosen method, then the others, then `read` and `write`. Returns the method that
    /// finished.
    pub(super) fn all(&mut self, chosen: CopyMethod, methods: &[CopyMethod]) -> Result<CopyMethod> {
        let others = methods.iter().copied().filter(|method| *method != chosen);
        let mut finished = chosen;
        for method in std::iter::once(chosen).chain(others) {
            finished = method;
            if method == CopyMethod::ReadWrite || self.attempt(method)? == Attempt::Finished {
                break;
            }
        }
        // Needed after success as well: `copy_file_range` sees the end of a file of /proc at its
        // beginning.
        let done = self.done;
        plain::copy(self, finished)?;
        Ok(if self.done > done { CopyMethod::ReadWrite } else { finished })
    }

    fn attempt(&mut self, method: CopyMethod) -> Result<Attempt> {
        match method {
            CopyMethod::CopyFileRange => fast::copy_file_range(self),
            CopyMethod::Splice => fast::splice(self),
            CopyMethod::SpliceThroughPipe => fast::splice_through_pipe(self),
            CopyMethod::Sendfile => fast::sendfile(self),
            CopyMethod::ReadWrite => Ok(Attempt::Refused),
        }
    }
}

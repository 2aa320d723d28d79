//! `O_DIRECT`: from the device into the buffer, bypassing the page cache.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, Result};
use lab::experiment::{Method, Task, skip};
use lab::param::Point;
use rustix::fs::OFlags;

use super::fold::Fold;
use super::source::{Input, Source, contender, reading};
use crate::experiments::shared::aligned_buffer::{Buffer, PAGE};

/// The type number in statfs(2) of a file system in memory, which may accept `O_DIRECT` but has no
/// device.
const TMPFS: u32 = 0x0102_1994;

pub(super) fn method() -> Method {
    let about = "O_DIRECT into an aligned buffer";
    let method = contender("direct", about, &["buffer"], build);
    Method { bypasses_cache: true, ..method }
}

struct Direct {
    input: Input,
    buffer: Buffer,
}

fn build(point: &Point) -> Result<Box<dyn Task>> {
    reading(point, |input| Direct::new(point, input))
}

impl Direct {
    fn new(point: &Point, input: Input) -> Result<Direct> {
        let buffer = Buffer::new(Buffer::from_point(point)?.len().next_multiple_of(PAGE))?;
        let mut direct = Direct { input, buffer };
        direct.try_out()?;
        Ok(direct)
    }

    /// Skips the method if the first block cannot be read in this way.
    fn try_out(&mut self) -> Result<()> {
        let (input, buffer) = (&self.input, &mut self.buffer);
        let system = rustix::fs::statfs(&input.path).with_context(|| input.doing("statfs of"))?;
        if system.f_type as u32 == TMPFS {
            return Err(skip("the file is on tmpfs, which has no device to read from"));
        }
        match open(input).and_then(|mut file| file.read(&mut buffer[..PAGE])) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                Err(skip("the file system refuses O_DIRECT"))
            }
            // Any other error occurs again in the first pass, and fails it.
            _ => Ok(()),
        }
    }
}

fn open(input: &Input) -> io::Result<File> {
    let direct = OFlags::DIRECT.bits() as i32;
    OpenOptions::new().read(true).custom_flags(direct).open(&input.path)
}

impl Source for Direct {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let file = open(&self.input).with_context(|| self.input.doing("opening"))?;
        self.input.check_size(&file)?;
        self.hand_over(&file, fold)
    }
}

impl Direct {
    fn hand_over<F: Fold>(&mut self, mut file: &File, fold: &mut F) -> Result<()> {
        let (input, buffer) = (&self.input, &mut self.buffer);
        let mut offset = 0;
        loop {
            let n = file.read(buffer).map_err(|error| input.failed(offset, error))?;
            fold.chunk(&buffer[..n]);
            offset = input.advanced(offset, n)?;
            // No read is possible behind an incomplete last block: offsets, lengths and addresses
            // must be multiples of the block size of the device (open(2)), and a page is such a
            // multiple.
            if n == 0 || !n.is_multiple_of(PAGE) {
                return input.ended(offset);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lab::experiment::Skip;

    use super::*;
    use crate::experiments::reading::fold::Sum;
    use crate::experiments::reading::tests::{check_cut, cut_file};

    #[test]
    fn a_file_that_is_cut_while_it_is_read_is_an_error() {
        let (_dir, point, input, file) = cut_file();
        match Direct::new(&point, input) {
            Ok(mut direct) => check_cut(direct.hand_over(&file, &mut Sum::at(0))),
            Err(error) => assert!(error.is::<Skip>(), "{error:#}"),
        }
    }

    #[test]
    fn a_file_on_tmpfs_skips_the_method() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut point = Point::default();
        point.set("size", 5000u64);
        point.set("buffer", 4096u64);
        let path = dir.path().join("file");
        std::fs::write(&path, [7; 5000]).unwrap();
        let error = Direct::new(&point, Input { path, size: 5000 }).err().expect("an error");
        assert!(error.is::<Skip>(), "{error:#}");
    }
}

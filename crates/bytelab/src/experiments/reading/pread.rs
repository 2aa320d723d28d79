//! `pread` by several threads, each of which reads one part of the file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::thread;

use anyhow::{Context, Result};
use lab::experiment::{Method, Task};
use lab::param::Point;

use super::fold::{ALIGN, Fold};
use super::source::{Input, Source, contender, joined, reading};
use crate::experiments::shared::aligned_buffer::Buffer;

pub(super) fn method() -> Method {
    let about = "pread by several threads, a part of the file each";
    contender("pread-threads", about, &["buffer", "threads"], build)
}

struct Pread {
    input: Input,
    /// One buffer for each thread.
    buffers: Vec<Buffer>,
}

fn build(point: &Point) -> Result<Box<dyn Task>> {
    let threads = point.number("threads")?.max(1);
    reading(point, |input| {
        let buffers = (0..threads).map(|_| Buffer::from_point(point)).collect::<Result<_>>()?;
        Ok(Pread { input, buffers })
    })
}

impl Source for Pread {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let Pread { input, buffers } = self;
        let (input, file) = (&*input, &input.open_checked()?);
        let part = input.size.div_ceil(buffers.len() as u64).next_multiple_of(ALIGN);
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for (start, buffer) in (0..input.size).step_by(part as usize).zip(buffers) {
                let end = input.size.min(start.saturating_add(part));
                let thread = thread::Builder::new()
                    .spawn_scoped(scope, move || read_part::<F>(input, file, start..end, buffer))
                    .with_context(|| input.doing("starting a thread that reads"))?;
                threads.push(thread);
            }
            for part in threads.into_iter().map(joined) {
                fold.merge(part?);
            }
            Ok(())
        })
    }
}

fn read_part<F: Fold>(
    input: &Input,
    file: &File,
    part: std::ops::Range<u64>,
    buffer: &mut [u8],
) -> Result<F> {
    let mut fold = F::at(part.start);
    let mut offset = part.start;
    while offset < part.end {
        let want = usize::try_from(part.end - offset).map_or(buffer.len(), |n| n.min(buffer.len()));
        match file.read_at(&mut buffer[..want], offset) {
            Ok(0) => {
                input.ended(offset)?;
                break;
            }
            Ok(n) => {
                fold.chunk(&buffer[..n]);
                offset += n as u64;
            }
            Err(error) => return Err(input.failed(offset, error)),
        }
    }
    Ok(fold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::reading::fold::Sum;
    use crate::experiments::reading::tests::{check_cut, cut_file};

    #[test]
    fn a_file_that_is_cut_while_it_is_read_is_an_error() {
        let (_dir, _point, input, file) = cut_file();
        check_cut(read_part::<Sum>(&input, &file, 0..input.size, &mut [0; 4096]));
        check_cut(read_part::<Sum>(&input, &file, 8192..input.size, &mut [0; 4096]));
    }
}

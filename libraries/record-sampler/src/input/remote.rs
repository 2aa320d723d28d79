//! What a caller gives as a file of another machine. This crate sends no requests.

use std::io;

/// A file that can be read at any offset, such as a resource of a server: a population of them is
/// opened by [`Population::open_remote`](crate::Population::open_remote). All bytes must be of one
/// version; otherwise reading is an error.
///
/// ```
/// use record_sampler::{Format, Population, ReadAt, Sampler};
///
/// struct Memory(&'static [u8]);
///
/// impl ReadAt for Memory {
///     fn size_bytes(&self) -> u64 {
///         self.0.len() as u64
///     }
///
///     fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
///         std::io::Read::read(&mut &self.0[offset as usize..], buffer)
///     }
/// }
///
/// let file: Box<dyn ReadAt> = Box::new(Memory(b"abcdef"));
/// let mut population = Population::open_remote([("s3://bucket/key", file)], Format::Fixed(2))?;
/// assert_eq!(Sampler::exactly(3).records(&mut population)?, [b"ab", b"cd", b"ef"]);
/// # Ok::<(), record_sampler::Error>(())
/// ```
pub trait ReadAt: Send + Sync {
    /// The size.
    fn size_bytes(&self) -> u64;

    /// Reads bytes from an offset on, as many as there are or fit: 0 only at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The content of the index that [`Sampler::with_index`](crate::Sampler::with_index) has stored
    /// beside the file it was made of, if it is beside this one, too.
    fn index(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

//! Files of other machines: the samples of files, by few bytes.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use record_sampler::{ErrorKind, Format, LayoutChoice, Population, ReadAt, Sampler};

use crate::files::file;

/// A file in memory that counts what is read.
struct Memory {
    bytes: Vec<u8>,
    index: io::Result<Option<Vec<u8>>>,
    /// The reads and their bytes.
    read: Arc<Mutex<(u64, u64)>>,
    /// Reading fails from this offset on.
    broken: Arc<AtomicU64>,
}

impl Memory {
    fn new(path: &Path) -> Memory {
        let mut index = path.as_os_str().to_owned();
        index.push(".nlx");
        Memory {
            bytes: fs::read(path).unwrap(),
            index: Ok(fs::read(index).ok()),
            read: Arc::default(),
            broken: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }
}

impl ReadAt for Memory {
    fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let broken = self.broken.load(Ordering::Relaxed);
        if offset >= broken {
            return Err(io::Error::other("the line is cut"));
        }
        let end = self.bytes.len().min(broken.try_into().unwrap_or(usize::MAX));
        let rest = &self.bytes[(offset as usize).min(end)..end];
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        let mut read = self.read.lock().unwrap();
        *read = (read.0 + 1, read.1 + n as u64);
        Ok(n)
    }

    fn index(&self) -> io::Result<Option<Vec<u8>>> {
        match &self.index {
            Ok(index) => Ok(index.clone()),
            Err(error) => Err(error.kind().into()),
        }
    }
}

fn remote(memory: Memory) -> [(&'static str, Box<dyn ReadAt>); 1] {
    [("s3://bucket/lines", Box::new(memory))]
}

fn text(n: usize) -> String {
    (0..n).map(|i| format!("line {i}\n")).collect::<Vec<_>>().concat()
}

#[test]
fn a_file_with_an_index_has_the_sample_of_a_file_by_few_reads() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", text(500_000));
    let sampler = Sampler::exactly(20).seed(3).with_index();
    let expected = sampler.records(&mut Population::open([&path], Format::Lines).unwrap()).unwrap();
    let memory = Memory::new(&path);
    let read = memory.read.clone();
    let (mut population, layout) = LayoutChoice::default().open_remote(remote(memory)).unwrap();
    assert_eq!(layout.name, "lines");
    assert_eq!(sampler.records(&mut population).unwrap(), expected);
    let (reads, bytes) = *read.lock().unwrap();
    // What shows the format and the content, and a block of each line or two.
    assert!(reads <= 30 + 3 * 20 && bytes <= 1_000_000, "{reads} reads of {bytes} bytes");
}

#[test]
fn a_file_without_an_index_that_fits_is_refused_if_one_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", text(10_000));
    let sampler = Sampler::exactly(5).seed(3);
    let refused = |memory: Memory| {
        let mut population = Population::open_remote(remote(memory), Format::Lines).unwrap();
        let error = sampler.clone().with_index().records(&mut population).unwrap_err();
        (error.kind(), error.to_string())
    };
    let text =
        "s3://bucket/lines: has no index beside it that was made of its bytes, in this format";
    let no_index = (ErrorKind::BadRequest, text.to_owned());
    assert_eq!(refused(Memory::new(&path)), no_index);
    let mut local = Population::open([&path], Format::Lines).unwrap();
    let expected = sampler.clone().with_index().records(&mut local).unwrap();
    let mut other = Memory::new(&path);
    other.bytes[3] = b'x';
    assert_eq!(refused(other), no_index);
    let unreadable = Memory { index: Err(io::ErrorKind::TimedOut.into()), ..Memory::new(&path) };
    let (kind, text) = refused(unreadable);
    assert_eq!(kind, ErrorKind::Io);
    assert!(text.starts_with("s3://bucket/lines: reading its index: "), "{text}");
    // Without it all is counted.
    let whole = Memory { index: Ok(None), ..Memory::new(&path) };
    let mut population = Population::open_remote(remote(whole), Format::Lines).unwrap();
    assert_eq!(sampler.records(&mut population).unwrap(), expected);
}

#[test]
fn records_of_a_fixed_size_are_read_and_not_mapped() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "records", text(10_000));
    let format = Format::Fixed(2);
    let size = fs::metadata(&path).unwrap().len();
    assert_eq!(size % 2, 0, "{size}");
    for n in [5, 30_000] {
        let sampler = Sampler::exactly(n).seed(3).with_mapping();
        let mut local = Population::open([&path], format).unwrap();
        let mut remote = Population::open_remote(remote(Memory::new(&path)), format).unwrap();
        let drawn = sampler.records(&mut remote).unwrap();
        assert!(drawn == sampler.records(&mut local).unwrap(), "{n}");
    }
}

#[test]
fn what_is_not_for_files_of_other_machines_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", text(100));
    let open = || Population::open_remote(remote(Memory::new(&path)), Format::Lines).unwrap();
    let mapped = Sampler::exactly(5).by(record_sampler::FetchMethod::Mmap);
    assert_eq!(mapped.records(&mut open()).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(open().parts(10).unwrap_err().kind(), ErrorKind::BadRequest);
    let memory = Memory::new(&path);
    memory.broken.store(100, Ordering::Relaxed);
    let mut broken = Population::open_remote(remote(memory), Format::Lines).unwrap();
    let error = Sampler::exactly(5).records(&mut broken).unwrap_err().to_string();
    assert!(error.starts_with("s3://bucket/lines: reading at offset "), "{error}");
    assert!(error.ends_with(": the line is cut"), "{error}");
}

#[cfg(feature = "decode")]
#[test]
fn what_is_compressed_is_no_file_of_another_machine() {
    let dir = tempfile::tempdir().unwrap();
    let [(_, packed)] = remote(Memory::new(&file(dir.path(), "a.gz", "")));
    let error = Population::open_remote([("a.gz", packed)], Format::Lines).unwrap_err();
    assert_eq!(error.to_string(), "a.gz: is compressed, and is read from its start");
}

#[cfg(feature = "parquet")]
#[test]
fn rows_of_parquet_are_those_of_a_file_by_few_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    let ids = [0..20_000, 20_000..40_000, 40_000..60_000];
    crate::parquet::write(&path, &ids, true, parquet::basic::Compression::UNCOMPRESSED);
    let sampler = Sampler::exactly(3).seed(5);
    let mut expected = Vec::new();
    sampler.write_parquet([&path], &mut expected).unwrap();
    let memory = Memory::new(&path);
    let (read, size) = (memory.read.clone(), memory.size_bytes());
    let population = Population::open_remote(remote(memory), Format::Fixed(1)).unwrap();
    let mut drawn = Vec::new();
    let stats = sampler.write_parquet_from(&population, &mut drawn).unwrap();
    let rows = crate::parquet::rows;
    assert_eq!((rows(drawn), stats.taken), (rows(expected), 3));
    let (_, bytes) = *read.lock().unwrap();
    assert!(bytes < size / 2, "{bytes} of {size} bytes");
    let (mut train, mut test) = (Vec::new(), Vec::new());
    let outputs: &mut [&mut (dyn io::Write + Send)] = &mut [&mut train, &mut test];
    let all = Sampler::probability(1.0).split_parquet_from(&population, &[0.5, 0.5], outputs);
    assert_eq!(all.unwrap().iter().map(|stats| stats.taken).sum::<u64>(), 60_000);
}

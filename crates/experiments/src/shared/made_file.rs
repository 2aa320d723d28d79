//! Generates the files that are read when the user gives none: once, and always in the same way,
//! because the size of the writes determines the size of the pages in which the cache keeps the
//! file.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use measure::cache;
use measure::stop::Stop;
use model::param::{Param, ParamKind, Point, bytes};

use super::input::user_file;

/// Part of the file's name; it changes with the contents.
const VERSION: u32 = 1;
const WRITE_BYTES: usize = 4 << 20;
const PREFIX: &str = "reading-v";
const UNFINISHED: &str = ".unfinished";

/// The paths of `count` files of random bytes in this directory. Files of earlier runs are reused
/// while they are in the page cache.
pub(crate) fn files(dir: &Path, size: u64, count: u64, stop: &Stop) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(dir).with_context(|| format!("making the directory {}", dir.display()))?;
    remove_leftovers(dir)?;
    let path = |index| dir.join(format!("{PREFIX}{VERSION}-{size}-{index}.bin"));
    let mut missing = Vec::new();
    for index in 0..count {
        if !is_made(&path(index), size)? || must_be_written_again(&path(index), size) {
            missing.push(index);
        }
    }
    check_space(dir, size.saturating_mul(missing.len() as u64))?;
    for index in missing {
        make(&path(index), size, index, stop)?;
    }
    Ok((0..count).map(path).collect())
}

/// The params of [`given_or_made`], and that of the buffer by which the file is read.
pub(crate) fn params(size: &'static str) -> Vec<Param> {
    vec![
        Param::new("size", ParamKind::Bytes(1, 1 << 40), size)
            .help("size of the file that is made; with --file, that of the file"),
        Param::new("file", ParamKind::Path, "").help("a file of your own to read"),
        Param::new("buffer", ParamKind::Bytes(1, 1 << 30), "128KiB")
            .help("how much is read at once"),
    ]
}

/// The user's file that the param `file` names, or else a made one of `size` bytes, and its size.
pub(crate) fn given_or_made(point: &Point, dir: &Path, stop: &Stop) -> Result<(PathBuf, u64)> {
    if point.get("file").is_some() {
        return user_file(&point.path("file")?);
    }
    let size = point.number("size")?;
    Ok((files(dir, size, 1, stop)?.remove(0), size))
}

fn is_made(path: &Path, size: u64) -> Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.is_file() && metadata.len() == size),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("looking at {}", path.display())),
    }
}

/// A written file is in the page cache in pieces of up to 2 MiB; after eviction and reading it is
/// in smaller ones, and then mappings take twice the time. Writing it again makes runs comparable.
fn must_be_written_again(path: &Path, size: u64) -> bool {
    const QUICKLY_WRITTEN_BYTES: u64 = 1 << 30;
    let is_cached = || cache::residency(path).is_ok_and(|now| now.cached >= now.pages);
    size <= QUICKLY_WRITTEN_BYTES && !is_cached()
}

pub(crate) fn check_space(dir: &Path, needed: u64) -> Result<()> {
    let system = rustix::fs::statvfs(dir).with_context(|| format!("statvfs {}", dir.display()))?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    let rounded = bytes(if free < 1 << 20 { free >> 10 << 10 } else { free >> 20 << 20 });
    ensure!(
        needed <= free,
        "needs {} in {}, {rounded} are free; give another directory with --data-dir or a smaller --size",
        bytes(needed),
        dir.display()
    );
    Ok(())
}

/// No process sees an incomplete file under its name, and two processes may create the same file.
fn make(path: &Path, size: u64, index: u64, stop: &Stop) -> Result<()> {
    write_whole(path, |file| Ok(write_random(file, size, index, stop)?)).with_context(|| {
        format!("making {} (is there room? --data-dir and --size can change it)", path.display())
    })
}

/// Writes a file that has its name only when all of it is written and on the device. What a killed
/// process leaves of it is removed by the next run.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&File) -> Result<()>) -> Result<()> {
    let unfinished = Unfinished::new(path)?;
    write(&unfinished.file)?;
    unfinished.file.sync_all()?;
    Ok(fs::rename(&unfinished.path, path)?)
}

fn write_random(mut file: impl Write, size: u64, seed: u64, stop: &Stop) -> std::io::Result<()> {
    let mut buffer = vec![0; WRITE_BYTES];
    let mut words = (0u64..).map(|place| mix(mix(seed) ^ place));
    let mut left = size;
    while left > 0 {
        stop.check().map_err(std::io::Error::other)?;
        let n = usize::try_from(left).map_or(WRITE_BYTES, |left| left.min(WRITE_BYTES));
        for (place, word) in buffer[..n].chunks_mut(8).zip(&mut words) {
            place.copy_from_slice(&word.to_le_bytes()[..place.len()]);
        }
        file.write_all(&buffer[..n])?;
        left -= n as u64;
    }
    Ok(())
}

/// The last step of `SplitMix64`: every bit of the number affects every bit of the result.
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// A file that is locked while it is written, so that other processes can distinguish it from a
/// leftover. Removed when dropped, unless it has been renamed.
struct Unfinished {
    path: PathBuf,
    file: File,
}

impl Unfinished {
    fn new(path: &Path) -> Result<Unfinished> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let ending = format!("{}-{count}{UNFINISHED}", process::id());
            let path = path.with_extension(ending);
            let file = match File::create_new(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                result => result.with_context(|| {
                    format!("making {}; --data-dir names another directory", path.display())
                })?,
            };
            let unfinished = Unfinished { path, file };
            // On a file system without locks, leftovers are not removed either.
            let _ = unfinished.file.lock();
            // Another process may have treated it as a leftover before it was locked.
            let links = unfinished.file.metadata().map_or(1, |metadata| metadata.nlink());
            if links > 0 {
                return Ok(unfinished);
            }
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // The file does not exist under this name after it was renamed.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the leftovers of killed processes: the unfinished files that no process holds locked.
pub(crate) fn remove_leftovers(dir: &Path) -> Result<()> {
    let entries = fs::read_dir(dir).with_context(|| format!("listing {}", dir.display()))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_unfinished(&name) {
            // Another process may remove it at the same time; a file that cannot be removed does no
            // harm.
            let _ = File::open(entry.path())
                .is_ok_and(|file| file.try_lock().is_ok() && fs::remove_file(entry.path()).is_ok());
        }
    }
    Ok(())
}

/// The name ends with a process id and a count.
fn is_unfinished(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let ending = name.strip_suffix(UNFINISHED).and_then(|name| name.rsplit_once('.'));
    let numbers = ending.and_then(|(_, numbers)| numbers.split_once('-'));
    numbers.is_some_and(|(process, count)| number(process) && number(count))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_made_file_is_random_and_the_same_every_time() {
        let dir = tempfile::tempdir().unwrap();
        let size = WRITE_BYTES as u64 + 5;
        let path = &files(dir.path(), size, 1, &Stop::default()).unwrap()[0];
        let first = fs::read(path).unwrap();
        fs::remove_file(path).unwrap();
        files(dir.path(), size, 1, &Stop::default()).unwrap();
        assert!(first == fs::read(path).unwrap());

        let mut counts = [0u32; 256];
        for byte in &first {
            counts[usize::from(*byte)] += 1;
        }
        let expected = first.len() as f64 / 256.0;
        let chi_squared: f64 =
            counts.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
        // 255 degrees of freedom: exceeded by chance once in 10^12.
        assert!(chi_squared < 460.0, "{chi_squared}");
    }

    #[test]
    fn a_file_of_an_earlier_run_is_kept_and_one_of_another_size_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = &files(dir.path(), 1000, 1, &Stop::default()).unwrap()[0];
        let inode = fs::metadata(path).unwrap().ino();
        files(dir.path(), 1000, 2, &Stop::default()).unwrap();
        assert_eq!(fs::metadata(path).unwrap().ino(), inode);
        let whole = fs::read(path).unwrap();
        fs::write(path, &whole[..999]).unwrap();
        files(dir.path(), 1000, 1, &Stop::default()).unwrap();
        assert_eq!(fs::read(path).unwrap(), whole);
        assert_eq!(names(dir.path()), ["reading-v1-1000-0.bin", "reading-v1-1000-1.bin"]);
    }

    #[test]
    fn a_leftover_is_removed_unless_its_process_lives() {
        let dir = tempfile::tempdir().unwrap();
        let dead = dir.path().join("reading-v1-1000-0.123-0.unfinished");
        fs::write(&dead, "x").unwrap();
        let living = Unfinished::new(&dir.path().join("reading-v1-1000-0.bin")).unwrap();
        let other = dir.path().join("something.unfinished");
        fs::write(&other, "x").unwrap();
        remove_leftovers(dir.path()).unwrap();
        assert!(!dead.exists() && living.path.exists() && other.exists());
        let path = living.path.clone();
        drop(living);
        assert!(!path.exists());
    }

    #[test]
    fn many_makers_of_one_file_do_not_disturb_each_other() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| files(dir.path(), 100_000, 2, &Stop::default()).unwrap());
            }
        });
        assert_eq!(names(dir.path()), ["reading-v1-100000-0.bin", "reading-v1-100000-1.bin"]);
    }

    #[test]
    fn too_little_space_is_said_before_a_byte_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let error = format!("{:#}", files(dir.path(), 1 << 60, 2, &Stop::default()).unwrap_err());
        let start = format!("needs 2097152TiB in {}, ", dir.path().display());
        assert!(error.starts_with(&start), "{error}");
        assert!(
            error.ends_with("are free; give another directory with --data-dir or a smaller --size")
        );
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn a_full_disk_while_writing_is_an_error() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = write_random(full, 10, 0, &Stop::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    }

    #[test]
    fn a_directory_that_cannot_be_made_or_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        let error = format!("{:#}", files(&file, 10, 1, &Stop::default()).unwrap_err());
        assert!(error.starts_with(&format!("making the directory {}", file.display())), "{error}");

        fs::create_dir(dir.path().join("reading-v1-10-0.bin")).unwrap();
        let error = format!("{:#}", files(dir.path(), 10, 1, &Stop::default()).unwrap_err());
        assert!(error.contains("reading-v1-10-0.bin") && error.contains("--data-dir"), "{error}");
        assert_eq!(names(dir.path()), ["file", "reading-v1-10-0.bin"]);
    }

    #[test]
    fn a_stop_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let stop = Stop::default();
        stop.raise(2);
        let error = files(dir.path(), 10 << 20, 1, &stop).unwrap_err();
        assert!(format!("{error:#}").contains("stopped by a signal"), "{error:#}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

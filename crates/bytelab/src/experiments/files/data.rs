//! What exists before any method starts: the run's folder, and in it the files that the contenders
//! share.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use lab::experiment::{Data, Skip, skip};
use lab::param::{Point, bytes};
use lab::random::XorShift64;
use lab::stop::Stop;

use super::folder::{Folder, folder};

/// The jobs that need no file.
const WITHOUT_FILES: [&str; 2] = ["call", "map"];

/// Passes the run's `folder` to the methods, and in `shared` the files that were created for them.
pub(super) fn data(point: &Point, data_dir: &Path, stop: &Stop) -> Result<Data> {
    let mut data = Data { arguments: point.clone(), ..Data::default() };
    let job = point.text("job")?;
    if WITHOUT_FILES.contains(&job) {
        return Ok(data);
    }
    let dir = point.path("dir").unwrap_or_else(|_| data_dir.to_owned());
    let dir = std::path::absolute(&dir).with_context(|| format!("finding {}", dir.display()))?;
    let folder = folder(&dir, data_dir)?;
    data.arguments.set("folder", folder.path.clone());
    data.notes.clone_from(&folder.notes);
    data.directory = Some(dir);
    if let Some(made) = shared(point, job, &folder, stop) {
        match made {
            Ok(path) => {
                data.arguments.set("shared", path.clone());
                if ["read", "random"].contains(&job) {
                    data.files.push(path);
                }
            }
            // If there is too little space, only these methods are skipped.
            Err(error) if error.is::<Skip>() => {
                data.arguments.set("refused", format!("{error:#}").as_str());
            }
            Err(error) => return Err(error),
        }
    }
    data.guard = Some(Box::new(folder));
    Ok(data)
}

/// Creates, once, the files that the job's methods share.
fn shared(point: &Point, job: &str, folder: &Arc<Folder>, stop: &Stop) -> Option<Result<PathBuf>> {
    let (name, number) = match job {
        "read" => ("read", "size"),
        "random" => ("random", "span"),
        "random-cold" => ("cold", "span"),
        "readdir" => ("entries", "entries"),
        _ => return None,
    };
    let make = || {
        let number = point.number(number)?;
        let path = folder.path.join(format!("{name}-{number}"));
        if !path.exists() {
            let made = if job == "readdir" {
                entries(&path, number, stop)
            } else {
                file(&path, number, stop)
            };
            if let Err(error) = made {
                // An incomplete file must not be mistaken for a complete one.
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
                return Err(error);
            }
        }
        Ok(path)
    };
    Some(make())
}

/// Writes a file of random bytes of this size and syncs it to the device.
fn file(path: &Path, size: u64, stop: &Stop) -> Result<()> {
    enough_space(path, size)?;
    let doing = || format!("writing {}", path.display());
    let mut file = File::create_new(path).or_refuse(doing)?;
    let mut random = XorShift64(0x9e37_79b9_7f4a_7c15 ^ size);
    let mut left = size;
    while left > 0 {
        stop.check()?;
        let block = random_block(&mut random);
        let len = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.write_all(&block[..len]).or_refuse(doing)?;
        left -= len as u64;
    }
    file.sync_all().or_refuse(doing)
}

/// Bytes that no device can compress or deduplicate.
pub(super) fn random_block(random: &mut XorShift64) -> Vec<u8> {
    let mut block = Vec::with_capacity(1 << 20);
    while block.len() < 1 << 20 {
        block.extend_from_slice(&random.draw().to_ne_bytes());
    }
    block
}

/// One name in this many is a new file, the others are hard links: so the removal of the folder
/// frees few inodes, which ext4 would search for minutes.
const NAMES_PER_FILE: u64 = 1000;

fn entries(path: &Path, n: u64, stop: &Stop) -> Result<()> {
    let doing = || format!("making {n} entries in {}", path.display());
    fs::create_dir(path).or_refuse(doing)?;
    let mut first = PathBuf::new();
    for i in 0..n {
        stop.check()?;
        let entry = path.join(format!("entry-{i:08}"));
        let is_new = i % NAMES_PER_FILE == 0;
        // A file system may lack hard links.
        if is_new || fs::hard_link(&first, &entry).is_err() {
            File::create_new(&entry).or_refuse(doing)?;
            first = entry;
        }
    }
    Ok(())
}

/// Skips a method that would fill the file system.
pub(super) fn enough_space(path: &Path, needed: u64) -> Result<()> {
    let parent = path.parent().unwrap_or(path);
    let stat = rustix::fs::statvfs(parent)
        .with_context(|| format!("asking how much space {} has", parent.display()))?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if needed > free {
        let (needed, free) = (bytes(needed), bytes(free));
        return Err(skip(format!("needs {needed} in {}, where {free} are free", parent.display())));
    }
    Ok(())
}

/// Turns an error of the file system into a value of the result.
pub(super) trait OrRefuse<T> {
    fn or_refuse(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T> OrRefuse<T> for io::Result<T> {
    fn or_refuse(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| {
            let refused = [
                io::ErrorKind::StorageFull,
                io::ErrorKind::QuotaExceeded,
                io::ErrorKind::ReadOnlyFilesystem,
                io::ErrorKind::FileTooLarge,
            ];
            if refused.contains(&error.kind()) {
                skip(format!("{}: {error}", doing()))
            } else {
                anyhow::Error::new(error).context(doing())
            }
        })
    }
}

impl<T> OrRefuse<T> for rustix::io::Result<T> {
    fn or_refuse(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(io::Error::from).or_refuse(doing)
    }
}

#[cfg(test)]
mod tests {
    use super::super::folder::ENDED;
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_a_skip_and_all_else_a_failure() {
        let doing = || "writing there".to_owned();
        let mut full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = full.write_all(&[0]).or_refuse(doing).unwrap_err();
        assert!(error.is::<Skip>());
        assert_eq!(error.to_string(), "writing there: No space left on device (os error 28)");
        let error = File::open("/nonexistent").or_refuse(doing).unwrap_err();
        assert!(!error.is::<Skip>());
        assert!(format!("{error:#}").starts_with("writing there: No such file"), "{error:#}");
    }

    #[test]
    fn a_stop_leaves_no_half_file() {
        let dir = tempfile::tempdir().unwrap();
        let stop = Stop::default();
        stop.raise(2);
        for (job, number) in [("read", "size"), ("readdir", "entries")] {
            let mut point = Point::default();
            point.set("job", job);
            point.set("dir", dir.path().to_path_buf());
            point.set(number, 10u64);
            assert!(data(&point, dir.path(), &stop).is_err());
            let left = fs::read_dir(dir.path()).unwrap().flatten();
            let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
            assert_eq!(left, [ENDED]);
        }
    }
}

//! The data of the methods of this experiment: the run's folder in a directory of the user's, the
//! files in it that the contenders share, and the folder of each process.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use anyhow::{Context, Result, bail, ensure};
use measure::experiment::{Build, Data, Method, Skip, skip};
use measure::stop::Stop;
use model::param::{Point, bytes};
use model::random::XorShift64;

use crate::shared::Buffer;
use crate::shared::locked_folder::{make_locked, remove_leftovers};

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
    if let Some(made) = make_shared(point, job, &folder, stop) {
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
fn make_shared(
    point: &Point,
    job: &str,
    folder: &Arc<RunFolder>,
    stop: &Stop,
) -> Option<Result<PathBuf>> {
    let (name, number) = match job {
        "read" | "open" => ("read", "size"),
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
fn random_block(random: &mut XorShift64) -> Vec<u8> {
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

/// ext4 does not reuse an inode for some minutes after it was freed, and checks each of them when
/// it searches for a free one.
const RECENT_S: i64 = 6 * 60;

/// Touched at the end of a run, so that the next run knows when files were last removed.
const ENDED: &str = "files-ended";

/// The folder of one run in a directory of the user's: the run creates, locks and removes it when
/// its last user is dropped. The folder of a killed run is removed by the next run, which finds out
/// through the lock that the owner has ended.
#[derive(Debug)]
struct RunFolder {
    path: PathBuf,
    ended: PathBuf,
    /// Warnings about the directory.
    notes: Vec<String>,
    /// Holds the lock, which the kernel releases however the process ends.
    _lock: File,
}

/// The folders of this process, so that all points of one directory share a folder.
static FOLDERS: Mutex<Vec<(PathBuf, Weak<RunFolder>)>> = Mutex::new(Vec::new());

/// The run's folder in this directory. `data_dir` stores what the next run must know.
fn folder(dir: &Path, data_dir: &Path) -> Result<Arc<RunFolder>> {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = folders.iter().find(|(known, _)| known == dir);
    if let Some(folder) = known.and_then(|(_, folder)| folder.upgrade()) {
        return Ok(folder);
    }
    let folder = Arc::new(RunFolder::make(dir, data_dir)?);
    folders.retain(|(known, _)| known != dir);
    folders.push((dir.to_owned(), Arc::downgrade(&folder)));
    Ok(folder)
}

impl RunFolder {
    fn make(dir: &Path, data_dir: &Path) -> Result<RunFolder> {
        let name = dir.display();
        let kind = match fs::metadata(dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("{name} does not exist; give a directory with --dir")
            }
            other => other.with_context(|| format!("looking at {name}"))?.file_type(),
        };
        ensure!(kind.is_dir(), "{name} is not a directory; give one with --dir");
        let left = remove_leftovers(dir);
        let (path, lock) = make_locked(dir).with_context(|| {
            format!("making a folder in {name}; give a directory that you may write to with --dir")
        })?;
        let ended = data_dir.join(ENDED);
        let mut folder = RunFolder { path, ended, notes: Vec::new(), _lock: lock };
        if left > 0 {
            folder.notes.push(format!("{name}: what {left} killed runs had left was removed"));
        }
        if is_ext(dir) && (left > 0 || folder.is_recent()) {
            folder.notes.push(format!(
                "{name}: files were removed here less than {} minutes ago: ext4 does not use their \
                 inodes again so soon, and to create a file may take several times as long",
                RECENT_S / 60
            ));
        }
        Ok(folder)
    }

    /// Whether the last run ended recently. The new folder's own time is used as the current time.
    fn is_recent(&self) -> bool {
        let changed = |path: &Path| fs::metadata(path).map(|metadata| metadata.mtime());
        match (changed(&self.ended), changed(&self.path)) {
            (Ok(ended), Ok(now)) => (0..RECENT_S).contains(&(now - ended)),
            _ => false,
        }
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // The next run tries again to remove what cannot be removed now.
        let _ = fs::remove_dir_all(&self.path);
        let _ = fs::write(&self.ended, "");
    }
}

/// Whether the directory is on ext2, ext3 or ext4, which share one magic number.
#[cfg(target_os = "linux")]
fn is_ext(dir: &Path) -> bool {
    const EXT4: u32 = 0xef53;
    rustix::fs::statfs(dir).is_ok_and(|stat| stat.f_type as u32 == EXT4)
}

#[cfg(not(target_os = "linux"))]
fn is_ext(_dir: &Path) -> bool {
    false
}

/// A method that reads cached data.
pub(super) fn cached(
    job: &'static str,
    name: &str,
    about: &str,
    reads: &[&'static str],
    build: Build,
) -> Method {
    Method::built_in(name, about, build).job(job).reads(&["job"]).reads(reads)
}

/// A method that may read from the device, even if only the file system's own blocks.
pub(super) fn changing(
    job: &'static str,
    name: &str,
    about: &str,
    reads: &[&'static str],
    build: Build,
) -> Method {
    Method { bypasses_cache: true, ..cached(job, name, about, reads, build) }
}

/// A folder for this process in the folder of the run.
pub(super) fn own_folder(point: &Point) -> Result<PathBuf> {
    let folder = point.path("folder")?;
    let path = folder.join(std::process::id().to_string());
    fs::create_dir_all(&path).or_refuse(|| format!("making {}", path.display()))?;
    Ok(path)
}

/// The files that the job's methods share; skips with the reason if they could not be created.
pub(super) fn shared(point: &Point) -> Result<PathBuf> {
    match point.text("refused") {
        Ok(reason) => Err(skip(reason)),
        Err(_) => point.path("shared"),
    }
}

/// The folders of a method that creates files: a new one for each sample, and none is removed,
/// because ext4 checks every inode that was freed in the last minutes when it searches for a free
/// one.
pub(super) struct NewFolders {
    own: PathBuf,
    n: u64,
    /// The folder of the next sample.
    pub(super) folder: PathBuf,
}

impl NewFolders {
    pub(super) fn new(point: &Point) -> Result<NewFolders> {
        let own = own_folder(point)?;
        let mut fresh = NewFolders { folder: own.clone(), own, n: 0 };
        fresh.next()?;
        Ok(fresh)
    }

    pub(super) fn next(&mut self) -> Result<()> {
        let folder = self.own.join(self.n.to_string());
        fs::create_dir(&folder).or_refuse(|| format!("making {}", folder.display()))?;
        self.n += 1;
        self.folder = folder;
        Ok(())
    }
}

/// The times of the phases of each operation in the last sample.
pub(super) struct Phases<const N: usize> {
    names: [&'static str; N],
    ns: [Vec<u64>; N],
}

impl<const N: usize> Phases<N> {
    pub(super) fn new(names: [&'static str; N]) -> Phases<N> {
        Phases { names, ns: std::array::from_fn(|_| Vec::new()) }
    }

    pub(super) fn clear(&mut self) {
        self.ns.iter_mut().for_each(Vec::clear);
    }

    /// Takes the moments that delimit the phases: one more than there are phases.
    pub(super) fn push(&mut self, moments: &[u64]) {
        for (ns, pair) in self.ns.iter_mut().zip(moments.windows(2)) {
            ns.push(pair[1].saturating_sub(pair[0]));
        }
    }

    /// The medians by nearest rank; none without operations.
    pub(super) fn medians(&mut self) -> Vec<(&'static str, f64)> {
        let median = |ns: &mut Vec<u64>| {
            ns.sort_unstable();
            ns.get(ns.len().saturating_sub(1) / 2).map(|ns| *ns as f64)
        };
        let all = self.names.into_iter().zip(&mut self.ns);
        all.filter_map(|(name, ns)| Some((name, median(ns)?))).collect()
    }
}

/// The buffer with which a file of this size is read or written, of the usual length. It starts at
/// a page: a `pread` of 4 KiB into a buffer 16 bytes behind a page start took three times as long.
pub(super) fn buffer(size: u64) -> Result<Buffer> {
    const LEN_MAX: u64 = 128 << 10;
    Buffer::new(usize::try_from(size.clamp(1, LEN_MAX))?)
}

#[cfg(test)]
mod tests {
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

#[cfg(test)]
mod folder_tests {
    use rustix::fs::{FlockOperation, flock};

    use super::*;

    #[test]
    fn the_points_of_a_directory_share_a_folder_that_is_gone_with_the_last() {
        let dir = tempfile::tempdir().unwrap();
        let first = folder(dir.path(), dir.path()).unwrap();
        let second = folder(dir.path(), dir.path()).unwrap();
        assert_eq!(first.path, second.path);
        fs::write(first.path.join("file"), "x").unwrap();
        drop(first);
        assert!(second.path.join("file").exists());
        let path = second.path.clone();
        drop(second);
        assert!(!path.exists());
        assert!(dir.path().join(ENDED).exists());
    }

    #[test]
    fn a_folder_of_the_dead_is_removed_and_one_of_the_living_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in [".bytelab-files-1-0", ".bytelab-files-2-7", ".bytelab-files-x-1", "other"] {
            fs::create_dir_all(path(name).join("sub")).unwrap();
            fs::write(path(name).join("sub/file"), "x").unwrap();
        }
        fs::write(path(".bytelab-files-3-0"), "a file").unwrap();
        let living = File::open(path(".bytelab-files-2-7")).unwrap();
        flock(&living, FlockOperation::NonBlockingLockExclusive).unwrap();
        let made = RunFolder::make(dir.path(), dir.path()).unwrap();
        assert!(made.notes[0].ends_with("what 1 killed runs had left was removed"));
        assert!(!path(".bytelab-files-1-0").exists());
        for name in [".bytelab-files-2-7", ".bytelab-files-x-1", "other"] {
            assert!(path(name).join("sub/file").exists(), "{name}");
        }
        assert!(path(".bytelab-files-3-0").exists());
        // Its own folder is locked: another run does not remove it.
        assert_eq!(remove_leftovers(dir.path()), 0);
        assert!(made.path.exists());
    }

    #[test]
    fn what_is_no_directory_is_reported_in_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        for (path, expected) in [
            (dir.path().join("missing"), "does not exist; give a directory with --dir"),
            (file, "is not a directory; give one with --dir"),
        ] {
            let error = format!("{:#}", RunFolder::make(&path, dir.path()).unwrap_err());
            assert_eq!(error, format!("{} {expected}", path.display()));
        }
        // No user can create a folder there, not even root.
        let error = format!("{:#}", RunFolder::make(Path::new("/proc"), dir.path()).unwrap_err());
        assert!(error.starts_with("making a folder in /proc; give a directory"), "{error}");
    }
}

#[cfg(test)]
mod place_tests {
    use super::*;

    #[test]
    fn phases_are_between_moments_and_have_medians() {
        let mut phases = Phases::new(["a_ns", "b_ns"]);
        assert_eq!(phases.medians(), []);
        for moments in [[0, 10, 30], [100, 105, 200], [300, 301, 302]] {
            phases.push(&moments);
        }
        assert_eq!(phases.medians(), [("a_ns", 5.0), ("b_ns", 20.0)]);
        phases.clear();
        assert_eq!(phases.medians(), []);
    }
}

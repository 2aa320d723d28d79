//! The folder of one run in a directory of the user's: the run creates, locks and removes it. The
//! folder of a killed run is removed by the next run, which finds out through the lock that the
//! owner has ended.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use anyhow::{Context, Result, bail, ensure};

use crate::experiments::shared::locked_folder::{make_locked, remove_leftovers};

/// ext4 does not reuse an inode for some minutes after it was freed, and checks each of them when
/// it searches for a free one.
const RECENT_S: i64 = 6 * 60;

/// Touched at the end of a run, so that the next run knows when files were last removed.
pub(super) const ENDED: &str = "files-ended";

/// A folder that is removed when its last user is dropped.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    ended: PathBuf,
    /// Warnings about the directory.
    pub(super) notes: Vec<String>,
    /// Holds the lock, which the kernel releases however the process ends.
    _lock: File,
}

/// The folders of this process, so that all points of one directory share a folder.
static FOLDERS: Mutex<Vec<(PathBuf, Weak<Folder>)>> = Mutex::new(Vec::new());

/// The run's folder in this directory. `data_dir` stores what the next run must know.
pub(super) fn folder(dir: &Path, data_dir: &Path) -> Result<Arc<Folder>> {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = folders.iter().find(|(known, _)| known == dir);
    if let Some(folder) = known.and_then(|(_, folder)| folder.upgrade()) {
        return Ok(folder);
    }
    let folder = Arc::new(Folder::make(dir, data_dir)?);
    folders.retain(|(known, _)| known != dir);
    folders.push((dir.to_owned(), Arc::downgrade(&folder)));
    Ok(folder)
}

impl Folder {
    fn make(dir: &Path, data_dir: &Path) -> Result<Folder> {
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
        let mut folder = Folder { path, ended, notes: Vec::new(), _lock: lock };
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

impl Drop for Folder {
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

#[cfg(test)]
mod tests {
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
        let made = Folder::make(dir.path(), dir.path()).unwrap();
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
            let error = format!("{:#}", Folder::make(&path, dir.path()).unwrap_err());
            assert_eq!(error, format!("{} {expected}", path.display()));
        }
        // No user can create a folder there, not even root.
        let error = format!("{:#}", Folder::make(Path::new("/proc"), dir.path()).unwrap_err());
        assert!(error.starts_with("making a folder in /proc; give a directory"), "{error}");
    }
}

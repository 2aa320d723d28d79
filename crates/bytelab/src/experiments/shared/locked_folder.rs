//! Folders that a run makes and locks: by the lock another run knows that the owner of one is dead.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

const PREFIX: &str = ".bytelab-files-";

/// A new folder that this process has locked.
pub(crate) fn make_locked(dir: &Path) -> Result<(PathBuf, File)> {
    for n in 0..100 {
        let path = dir.join(format!("{PREFIX}{}-{n}", std::process::id()));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        let lock = File::open(&path)?;
        // Between the making and the locking another run may have taken it for a leftover. A file
        // system without locks is no harm: others see that they cannot lock it, either, and leave
        // it.
        if flock(&lock, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            continue;
        }
        let same = |now: fs::Metadata| lock.metadata().is_ok_and(|own| own.ino() == now.ino());
        if fs::symlink_metadata(&path).is_ok_and(same) {
            return Ok((path, lock));
        }
    }
    bail!("a hundred folders of this process are there already")
}

/// Removes the folders whose owner is dead, and tells how many they were.
pub(crate) fn remove_leftovers(dir: &Path) -> usize {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let ours = entries.flatten().filter(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && is_our_name(&entry.file_name().to_string_lossy())
    });
    ours.filter(|entry| remove_if_dead(&entry.path())).count()
}

/// The prefix, then the number of a process and a count.
fn is_our_name(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(process, n)| number(process) && number(n))
}

fn remove_if_dead(path: &Path) -> bool {
    let Ok(folder) = File::open(path) else { return false };
    flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
        && fs::remove_dir_all(path).is_ok()
}

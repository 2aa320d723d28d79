//! Folders that a run creates and locks: through the lock, another run finds out whether the owner
//! has ended.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

const PREFIX: &str = ".bytelab-files-";
/// A file system may be mounted at this name in such a folder.
pub(crate) const MOUNT: &str = "medium";
/// Each run that starts at the same moment may remove one before it is locked.
const FOLDERS_MAX: u32 = 10_000;

/// Creates a new folder that this process has locked.
pub(crate) fn make_locked(dir: &Path) -> Result<(PathBuf, File)> {
    for n in 0..FOLDERS_MAX {
        let path = dir.join(format!("{PREFIX}{}-{n}", std::process::id()));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        // Between creation and locking, another run may have treated it as a leftover. A file
        // system without locks is harmless: other runs cannot lock it either, and do not remove it.
        let lock = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            opened => opened?,
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            continue;
        }
        let same = |now: fs::Metadata| lock.metadata().is_ok_and(|own| own.ino() == now.ino());
        if fs::symlink_metadata(&path).is_ok_and(same) {
            return Ok((path, lock));
        }
    }
    bail!("{FOLDERS_MAX} folders of this process are there already")
}

/// Removes the folders of this user whose owner has ended, and returns their number.
pub(crate) fn remove_leftovers(dir: &Path) -> usize {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let ours = entries.flatten().filter(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && is_our_name(&entry.file_name().to_string_lossy())
    });
    ours.filter(|entry| remove_if_dead(&entry.path())).count()
}

/// The prefix, then a process id and a count.
fn is_our_name(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(process, n)| number(process) && number(n))
}

fn remove_if_dead(path: &Path) -> bool {
    let Ok(folder) = File::open(path) else { return false };
    // In `/tmp` anybody can make one, with whatever root would then unmount and remove.
    let user = rustix::process::geteuid().as_raw();
    if !folder.metadata().is_ok_and(|folder| folder.uid() == user) {
        return false;
    }
    if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err() {
        return false;
    }
    unmount(path);
    fs::remove_dir_all(path).is_ok()
}

/// Unmounts what is mounted in such a folder, if anything is. Processes that still use it keep it
/// until they end.
#[cfg(target_os = "linux")]
pub(crate) fn unmount(folder: &Path) {
    use rustix::mount::UnmountFlags;
    let mount = folder.join(MOUNT);
    let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
    if rustix::mount::unmount(&mount, flags) == Err(Errno::PERM)
        && is_mount(&mount, folder)
        && let Some(mount) = mount.to_str()
    {
        let argv = ["fusermount3", "-u", "-q", "-z", "--", mount].map(str::to_owned);
        // What cannot be unmounted is tried again by the next run.
        let _ = measure::launch::run_to_end(&argv, UNMOUNT_NS, &measure::stop::Stop::default());
    }
}

#[cfg(target_os = "linux")]
const UNMOUNT_NS: u64 = 10_000_000_000;

/// Whether a folder is on another file system than the one above it. Nothing can be told of a
/// folder whose server has ended.
#[cfg(target_os = "linux")]
fn is_mount(path: &Path, above: &Path) -> bool {
    match (fs::symlink_metadata(path), fs::metadata(above)) {
        (Ok(own), Ok(above)) => own.dev() != above.dev(),
        (Err(error), Ok(_)) => error.kind() != ErrorKind::NotFound,
        _ => false,
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn unmount(_folder: &Path) {}

/// A folder for temporary files that only this user may read. It is removed on drop, and by the
/// next run if this process is killed.
pub struct TemporaryFolder {
    pub path: PathBuf,
    _lock: File,
}

impl TemporaryFolder {
    pub fn new_in(dir: &Path) -> Result<TemporaryFolder> {
        remove_leftovers(dir);
        let making = || format!("making a folder in {}", dir.display());
        let (path, lock) = make_locked(dir).with_context(making)?;
        let folder = TemporaryFolder { path, _lock: lock };
        fs::set_permissions(&folder.path, fs::Permissions::from_mode(0o700))
            .with_context(making)?;
        Ok(folder)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn runs_that_start_together_all_get_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !ended.load(Ordering::Relaxed) {
                        remove_leftovers(dir.path());
                    }
                });
            }
            let made = (0..2000).try_for_each(|_| make_locked(dir.path()).map(drop));
            ended.store(true, Ordering::Relaxed);
            made.unwrap();
        });
    }

    #[test]
    fn what_another_user_has_made_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(format!("{PREFIX}17-0"));
        fs::create_dir(&folder).unwrap();
        // Only root can give a folder away.
        if rustix::process::geteuid().is_root() {
            let give_to = |user| std::os::unix::fs::chown(&folder, Some(user), None).unwrap();
            give_to(65_534);
            assert_eq!(remove_leftovers(dir.path()), 0);
            give_to(0);
        }
        assert_eq!(remove_leftovers(dir.path()), 1);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_link_to_a_mount_is_no_mount() {
        let dir = tempfile::tempdir().unwrap();
        let mount = dir.path().join(MOUNT);
        std::os::unix::fs::symlink("/proc", &mount).unwrap();
        assert!(!is_mount(&mount, dir.path()));
        assert!(is_mount(Path::new("/proc"), dir.path()));
        assert!(!is_mount(&dir.path().join("none"), dir.path()));
    }
}

//! The control group of a method that may use only so much memory (`--memory`): nested in the group
//! of the lab, of version 1 or 2, and without swap. It is removed when the method has ended. A lab
//! that is killed leaves its groups to its keeper, and else to the next lab.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use model::metric::{GROUP_PEAK, MEMORY_STALL, REFAULTS};
use model::param::{Point, bytes};
use model::path_text::from_path;
use rustix::event::{Timespec, poll};
use rustix::fs::{FlockOperation, flock};

use super::helpers::run;
use super::process::ChildStdio;
use super::{Child, Limits, RawSample, Ready, RunError, Runner};
use crate::cache::{CgroupFiles, memory_group};
use crate::proc_fs;

/// The name of a group is this, the process id of the lab, and a number.
const PREFIX: &str = "bytelab-";
/// Ends the name of the group into which a lab has moved, in version 2.
const OF_LAB: &str = "-lab";
/// So many names may be those of groups that others have made.
const NAMES_MAX: u32 = 10_000;
const MEMBERS: &str = "cgroup.procs";
/// The controllers that the groups below have, in version 2.
const CONTROLLERS: &str = "cgroup.subtree_control";
/// How often the removal of a group is tried while its last processes end.
const ATTEMPTS: u32 = 100;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// A smaller group could not hold a process.
const LEAST_BYTES: u64 = 1 << 20;

/// How a group may be made where that is refused. Root is refused in a group that has other
/// processes.
fn advice() -> &'static str {
    if rustix::process::geteuid().is_root() {
        "run bytelab by `systemd-run --scope -p Delegate=yes bytelab …`"
    } else {
        "run bytelab as root, or by `systemd-run --user --scope -p Delegate=yes bytelab …`"
    }
}

/// Whether a method can have a control group with this limit: one is made and removed. Returns the
/// metrics that it would lack, with the reasons. The error is one line that says how to allow it.
pub fn can_limit_memory(limit_bytes: u64) -> Result<Vec<(&'static str, String)>, String> {
    Ok(MemoryGroup::new(limit_bytes)?.missing())
}

/// A control group for the processes of one method.
pub(super) struct MemoryGroup {
    folder: GroupFolder,
    limit_bytes: u64,
    /// A process that writes 0 to it joins the group.
    members: File,
    /// The file with the peak, which can be reset, or why there is none.
    peak: Result<File, String>,
}

/// The memory that a group used in a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupUse {
    pub peak_bytes: Option<u64>,
    /// The pages of files that were read again after they had been evicted.
    pub refaults: Option<u64>,
    /// How long a task of the group waited for memory.
    pub stall_ns: Option<u64>,
}

impl MemoryGroup {
    pub(super) fn new(limit_bytes: u64) -> Result<Arc<MemoryGroup>, String> {
        if limit_bytes < LEAST_BYTES {
            return Err(format!("--memory: a process needs at least {}", bytes(LEAST_BYTES)));
        }
        let parent = GroupParent::of_lab()?;
        let refused = |path: &Path, error: io::Error| {
            format!("--memory: no control group in {}: {error}; {}", path.display(), advice())
        };
        let folder = GroupFolder::new(&parent, "").map_err(|error| refused(&parent.path, error))?;
        let path = folder.path.clone();
        let refused = |error| refused(&path, error);
        let members = OpenOptions::new().write(true).open(path.join(MEMBERS)).map_err(refused)?;
        set_limit(&path, parent.files, limit_bytes).map_err(refused)?;
        let peak = File::options().read(true).write(true).open(path.join(parent.files.peak));
        let peak = peak.and_then(|file| reset(&file).map(|()| file));
        let peak = peak.map_err(|error| {
            format!("{} cannot be reset before Linux 6.12: {error}", parent.files.peak)
        });
        Ok(Arc::new(MemoryGroup { folder, limit_bytes, members, peak }))
    }

    /// The process that the command starts joins the group before it becomes the program, so that
    /// all that the program touches is charged to the group.
    #[expect(unsafe_code, reason = "a process joins its group between fork and exec")]
    pub(super) fn receive(self: &Arc<MemoryGroup>, command: &mut Command) {
        let group = Arc::clone(self);
        let join = move || (&group.members).write_all(b"0");
        // SAFETY: the function calls `write(2)` and nothing else, which is safe after a fork.
        unsafe { command.pre_exec(join) };
    }

    /// Begins a sample: the peak is that of the sample from here on.
    fn begin(&self) -> GroupUse {
        if let Ok(peak) = &self.peak {
            let _ = reset(peak);
        }
        self.read()
    }

    /// What the group used since this reading.
    fn since(&self, before: &GroupUse) -> GroupUse {
        let now = self.read();
        let less = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        GroupUse {
            refaults: less(now.refaults, before.refaults),
            stall_ns: less(now.stall_ns, before.stall_ns),
            ..now
        }
    }

    fn read(&self) -> GroupUse {
        let peak_bytes = self.peak.as_ref().ok().and_then(|file| {
            let mut text = [0; 32];
            let n = file.read_at(&mut text, 0).ok()?;
            std::str::from_utf8(&text[..n]).ok()?.trim().parse().ok()
        });
        let refaults = self.folder.number("memory.stat", "workingset_refault_file ");
        let stall = self.folder.number("memory.pressure", "some ");
        GroupUse { peak_bytes, refaults, stall_ns: stall.map(|us| us.saturating_mul(1000)) }
    }

    /// The number of processes that the kernel has ended because the group had no memory left.
    fn killed(&self) -> u64 {
        self.folder.number(self.folder.parent.files.kills, "oom_kill ").unwrap_or_default()
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        let now = self.read();
        let mut missing = Vec::new();
        if let Err(why) = &self.peak {
            missing.push((GROUP_PEAK, why.clone()));
        }
        if now.refaults.is_none() {
            let why = "memory.stat of the control group has no workingset_refault_file";
            missing.push((REFAULTS, why.to_owned()));
        }
        if now.stall_ns.is_none() {
            let why = "the control group has no memory.pressure: that takes version 2 and PSI";
            missing.push((MEMORY_STALL, why.to_owned()));
        }
        missing
    }
}

/// Both versions of the file take any text.
fn reset(peak: &File) -> io::Result<()> {
    peak.write_at(b"0", 0).map(drop)
}

/// Swap would make room that the limit denies.
fn set_limit(group: &Path, files: &CgroupFiles, limit_bytes: u64) -> io::Result<()> {
    write(&group.join(files.limit), &limit_bytes.to_string())?;
    let (name, swap_bytes) = match files.version {
        1 => ("memory.memsw.limit_in_bytes", limit_bytes),
        _ => ("memory.swap.max", 0),
    };
    match write(&group.join(name), &swap_bytes.to_string()) {
        // The kernel does not account swap.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        written => written,
    }
}

// A method in such a group.

/// A method whose processes are in a group, which is read around each sample.
pub(super) struct LimitedRunner {
    inner: Box<dyn Runner>,
    group: Arc<MemoryGroup>,
    limits: Limits,
}

impl LimitedRunner {
    /// `limits` are those with which the method was started.
    pub(super) fn boxed(inner: Box<dyn Runner>, limits: Limits) -> Box<dyn Runner> {
        match limits.memory.clone() {
            Some(group) => Box::new(LimitedRunner { inner, group, limits }),
            None => inner,
        }
    }

    /// Says so where the kernel has ended the method because its group had no memory left.
    fn explained<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Runner) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let killed = self.group.killed();
        work(&mut *self.inner).map_err(|ended| match ended {
            RunError::Failed(why) if self.group.killed() > killed => {
                let limit = bytes(self.group.limit_bytes);
                RunError::Failed(format!("{why}: it needs more than --memory {limit}"))
            }
            ended => ended,
        })
    }
}

impl Child for LimitedRunner {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.explained(|inner| inner.prepare(arguments))
    }

    fn before(&mut self, n: u64) -> Result<(), RunError> {
        self.inner.before(n)
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        [self.inner.missing(), self.group.missing()].concat()
    }

    fn bye(&mut self) {
        self.inner.bye();
    }
}

impl Runner for LimitedRunner {
    fn started(&mut self) -> Result<(), RunError> {
        self.explained(|inner| inner.started())
    }

    fn begin_to_prepare(&mut self, arguments: &Point) -> Result<(), RunError> {
        self.explained(|inner| inner.begin_to_prepare(arguments))
    }

    fn fill(&mut self, files: &[PathBuf]) -> Result<(), RunError> {
        let files = files.iter().map(|file| from_path(file).into_owned());
        let argv: Vec<String> =
            ["/bin/cat", "--"].map(str::to_owned).into_iter().chain(files).collect();
        run(&argv, ChildStdio::Null, &[], &self.limits)
    }

    fn go(&mut self, n: u64, ops: u64) -> Result<RawSample, RunError> {
        let before = self.group.begin();
        let taken = self.explained(|inner| inner.go(n, ops))?;
        Ok(RawSample { group: Some(self.group.since(&before)), ..taken })
    }

    fn noop_ns(&mut self) -> Result<Option<u64>, RunError> {
        self.inner.noop_ns()
    }

    fn has_died(&self) -> bool {
        self.inner.has_died()
    }
}

// Where groups are made, and their removal.

/// The place where groups are made: below the group of the lab.
#[derive(Clone)]
struct GroupParent {
    path: PathBuf,
    files: &'static CgroupFiles,
    /// The group that receives the processes which are left when another one is removed.
    of_lab: PathBuf,
}

/// The group into which the lab has moved.
static MOVED: Mutex<Option<GroupFolder>> = Mutex::new(None);

impl GroupParent {
    /// Found once: in version 2 the lab moves, because a group with processes of its own cannot
    /// limit others.
    fn of_lab() -> Result<GroupParent, String> {
        static PARENT: OnceLock<Result<GroupParent, String>> = OnceLock::new();
        PARENT
            .get_or_init(|| {
                let parent = GroupParent::found()?;
                remove_stale(&parent);
                if parent.files.version == 1 { Ok(parent) } else { parent.delegated() }
            })
            .clone()
    }

    /// The memory group of this process, whose mount may begin at the group of a container.
    fn found() -> Result<GroupParent, String> {
        let none = || {
            let advice = advice();
            format!("--memory: this system has no control groups for memory; {advice}")
        };
        let groups = fs::read_to_string("/proc/self/cgroup").map_err(|_| none())?;
        let (files, own) = memory_group(&groups).ok_or_else(none)?;
        let root = Path::new(files.root);
        let mut places = [root.join(own), root.to_owned()].into_iter();
        let own = places.find(|group| group.join(MEMBERS).exists()).ok_or_else(none)?;
        Ok(GroupParent::around(own, files))
    }

    /// The keeper, and what else a lab has started, may be in the group into which that has moved,
    /// beside which the other groups are.
    fn around(own: PathBuf, files: &'static CgroupFiles) -> GroupParent {
        let name = own.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let above = own.parent().filter(|_| is_our_name(name) && name.ends_with(OF_LAB));
        GroupParent { path: above.unwrap_or(&own).to_owned(), files, of_lab: own }
    }

    fn delegated(self) -> Result<GroupParent, String> {
        let refused = |error: io::Error| {
            let (path, advice) = (self.path.display(), advice());
            format!("--memory: the control group {path} cannot limit others: {error}; {advice}")
        };
        let enable = || write(&self.path.join(CONTROLLERS), "+memory");
        match enable() {
            Ok(()) => return Ok(self),
            Err(error) if error.raw_os_error() != Some(libc::EBUSY) => return Err(refused(error)),
            Err(_) => {}
        }
        let folder = GroupFolder::new(&self, OF_LAB).map_err(refused)?;
        let of_lab = folder.path.clone();
        for member in members(&self.path) {
            if member != process::id() && parent_of(member) != Some(process::id()) {
                continue;
            }
            match write(&of_lab.join(MEMBERS), &member.to_string()) {
                // A child has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                moved => moved.map_err(refused)?,
            }
        }
        // Then the lab moves back.
        let others = |error: io::Error| match error.raw_os_error() {
            Some(libc::EBUSY) => io::Error::other("it has other processes"),
            _ => error,
        };
        enable().map_err(others).map_err(refused)?;
        *MOVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
        Ok(GroupParent { of_lab, ..self })
    }
}

/// At the end of a lab: its first group has no controller and no groups again, so that it can have
/// processes.
pub(super) fn move_back() {
    let moved = MOVED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(folder) = moved {
        let _ = write(&folder.parent.path.join(CONTROLLERS), "-memory");
    }
}

/// A group that is removed on drop. Processes that are still in it go on in the group of the lab.
struct GroupFolder {
    path: PathBuf,
    parent: GroupParent,
    /// Held as long as the lab lives. A process id would not tell that: another process may have
    /// it by now, and a lab in another container has one that is not known here.
    _lock: File,
}

impl GroupFolder {
    fn new(parent: &GroupParent, suffix: &str) -> io::Result<GroupFolder> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        for _ in 0..NAMES_MAX {
            let n = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.path.join(format!("{PREFIX}{}-{n}{suffix}", process::id()));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            match locked(&path) {
                Ok(lock) => return Ok(GroupFolder { path, parent: parent.clone(), _lock: lock }),
                // Before it was locked, another lab has taken it for a leftover.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WouldBlock) => {}
                Err(error) => {
                    let _ = fs::remove_dir(&path);
                    return Err(error);
                }
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// The number behind this word in a file of the group, which for pressure is the total in µs.
    fn number(&self, file: &str, word: &str) -> Option<u64> {
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(word))?;
        line.rsplit([' ', '=']).next()?.parse().ok()
    }
}

impl Drop for GroupFolder {
    fn drop(&mut self) {
        remove(&self.path, &self.parent.of_lab);
    }
}

/// Removes a group, and moves the processes that are in it.
fn remove(group: &Path, to: &Path) {
    for _ in 0..ATTEMPTS {
        for member in members(group) {
            let _ = write(&to.join(MEMBERS), &member.to_string());
        }
        match fs::remove_dir(group) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
            _ => return,
        }
        let _ = poll(&mut [], Some(&PAUSE));
    }
}

/// The lock of a group, if no lab has it and the group is still there.
fn locked(group: &Path) -> io::Result<File> {
    let lock = File::open(group)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    let (own, now) = (lock.metadata()?, fs::symlink_metadata(group)?);
    if own.ino() == now.ino() && own.dev() == now.dev() {
        Ok(lock)
    } else {
        Err(ErrorKind::NotFound.into())
    }
}

/// Writes to a file that the kernel has made. It is not created where it is missing, which the
/// kernel would refuse by EACCES.
fn write(file: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.write_all(text.as_bytes())
}

/// Those that have a number here: a process of another container is 0, which would be this one if
/// it were moved.
fn members(group: &Path) -> Vec<u32> {
    let text = fs::read_to_string(group.join(MEMBERS)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).filter(|process| *process > 0).collect()
}

/// Removes the groups of labs that were killed.
pub(super) fn remove_groups_of_the_dead() {
    if let Ok(parent) = GroupParent::found() {
        remove_stale(&parent);
    }
}

fn remove_stale(parent: &GroupParent) {
    let entries = fs::read_dir(&parent.path).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ours: Vec<String> = names.filter(|name| is_our_name(name)).collect();
    // The group of a lab is the last, because its processes can only then go to the one above.
    ours.sort_by_key(|name| name.ends_with(OF_LAB));
    for name in ours {
        let group = parent.path.join(&name);
        let Ok(_lock) = locked(&group) else { continue };
        if name.ends_with(OF_LAB) {
            let _ = write(&parent.path.join(CONTROLLERS), "-memory");
            remove(&group, &parent.path);
        } else {
            remove(&group, &parent.of_lab);
        }
    }
}

/// Whether labs give this name to groups.
fn is_our_name(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name.strip_suffix(OF_LAB).unwrap_or(name).strip_prefix(PREFIX);
    let numbers = numbers.and_then(|numbers| numbers.split_once('-'));
    numbers.is_some_and(|(process, n)| number(process) && number(n))
}

fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(proc_fs::path(process, "stat").ok()?).ok()?;
    // The name of the program, in brackets, may contain anything.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(path: &Path) -> GroupParent {
        let (files, _) = memory_group("0::/a").unwrap();
        GroupParent::around(path.to_owned(), files)
    }

    #[test]
    fn the_groups_of_labs_are_known_by_their_names() {
        for name in ["bytelab-17-0", "bytelab-1-12-lab"] {
            assert!(is_our_name(name), "{name}");
        }
        for name in ["bytelab-", "bytelab-17", "bytelab-17-", "bytelab-x-1", "bytelab-1-x", "a-1-0"]
        {
            assert!(!is_our_name(name), "{name}");
        }
    }

    #[test]
    fn the_groups_of_labs_that_have_ended_are_removed_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let parent = parent(directory.path());
        let own = GroupFolder::new(&parent, "").unwrap();
        for name in ["bytelab-17-0", "bytelab-17-1-lab", "bytelab-17", "other-17-0"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        remove_stale(&parent);
        let left = || {
            let entries = fs::read_dir(directory.path()).unwrap();
            let mut names: Vec<_> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let name = own.path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected = vec!["bytelab-17".to_owned(), name, "other-17-0".to_owned()];
        expected.sort();
        assert_eq!(left(), expected);
        drop(own);
        assert_eq!(left(), ["bytelab-17", "other-17-0"]);
    }

    #[test]
    fn a_keeper_finds_the_groups_beside_that_of_its_lab() {
        let found = |own: &str| {
            let parent = parent(Path::new(own));
            assert_eq!(parent.of_lab, Path::new(own));
            parent.path
        };
        assert_eq!(found("/a/bytelab-17-0-lab"), Path::new("/a"));
        // In the group of a method, groups are inside it.
        assert_eq!(found("/a/bytelab-17-0"), Path::new("/a/bytelab-17-0"));
        assert_eq!(found("/a/my-lab"), Path::new("/a/my-lab"));
    }

    #[test]
    fn a_kernel_that_does_not_count_swap_limits_memory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        for (groups, limit) in [("0::/a", "memory.max"), ("4:memory:/a", "memory.limit_in_bytes")] {
            let (files, _) = memory_group(groups).unwrap();
            assert_eq!(set_limit(path, files, 7).unwrap_err().kind(), ErrorKind::NotFound);
            fs::write(path.join(limit), "").unwrap();
            set_limit(path, files, 4096).unwrap();
            assert_eq!(fs::read_to_string(path.join(limit)).unwrap(), "4096");
        }
        // The kernel has made no other file, and neither has the lab.
        assert_eq!(fs::read_dir(path).unwrap().count(), 2);
    }

    #[test]
    fn a_process_without_a_number_is_no_member() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(members(directory.path()), Vec::<u32>::new());
        fs::write(directory.path().join(MEMBERS), "17\n0\n1\n").unwrap();
        assert_eq!(members(directory.path()), [17, 1]);
    }

    #[test]
    fn the_parent_of_a_process_is_known() {
        let parent = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get() as u32);
        assert_eq!(parent_of(process::id()), parent);
    }

    #[test]
    fn a_figure_is_read_from_the_files_of_both_versions() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        let write = |name: &str, text: &str| fs::write(path.join(name), text).unwrap();
        write("memory.stat", "cache 1\nworkingset_refault_file 803\nswap 0\n");
        write(
            "memory.pressure",
            "some avg10=0.00 avg60=1.00 avg300=0.00 total=4711\nfull avg10=0 total=1\n",
        );
        write("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
        let parent = parent(&path);
        let folder = GroupFolder { path: path.clone(), parent, _lock: File::open(&path).unwrap() };
        assert_eq!(folder.number("memory.stat", "workingset_refault_file "), Some(803));
        assert_eq!(folder.number("memory.pressure", "some "), Some(4711));
        assert_eq!(folder.number("memory.oom_control", "oom_kill "), Some(2));
        assert_eq!(folder.number("memory.stat", "absent "), None);
        assert_eq!(folder.number("absent", "some "), None);
    }

    #[test]
    fn too_small_a_limit_is_refused_in_a_line() {
        let why = can_limit_memory(4096).unwrap_err();
        assert_eq!(why, "--memory: a process needs at least 1MiB");
    }
}

//! The control group of a method that may use only so much memory (`--memory`): nested in the group
//! of the lab, of version 1 or 2, and without swap. It is removed when the method has ended. A lab
//! that is killed leaves its groups to its keeper, and else to the next lab.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use model::metric::{GROUP_PEAK, MEMORY_STALL, REFAULTS};
use model::param::{Point, bytes};
use model::path_text::from_path;
use rustix::event::{Timespec, poll};

use super::helpers::run;
use super::process::ChildStdio;
use super::{Child, Limits, RawSample, Ready, RunError, Runner};
use crate::cache::{CgroupFiles, memory_group};
use crate::proc_fs;

/// The name of a group is this, the process id of the lab, and a number.
const PREFIX: &str = "bytelab-";
const MEMBERS: &str = "cgroup.procs";
/// The controllers that the groups below have, in version 2.
const CONTROLLERS: &str = "cgroup.subtree_control";
/// How often the removal of a group is tried while its last processes end.
const ATTEMPTS: u32 = 100;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// A smaller group could not hold a process.
const LEAST_BYTES: u64 = 1 << 20;
/// How a group may be made where that is refused.
const ADVICE: &str =
    "run bytelab as root, or by `systemd-run --user --scope -p Delegate=yes bytelab …`";

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
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if limit_bytes < LEAST_BYTES {
            return Err(format!("--memory: a process needs at least {}", bytes(LEAST_BYTES)));
        }
        let parent = GroupParent::of_lab()?;
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.path.join(format!("{PREFIX}{}-{n}", process::id()));
        let refused = |error: io::Error| {
            format!("--memory: no control group {}: {error}; {ADVICE}", path.display())
        };
        fs::create_dir(&path).map_err(refused)?;
        let folder = GroupFolder { path: path.clone(), parent: parent.clone() };
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
    fs::write(group.join(files.limit), limit_bytes.to_string())?;
    let (name, swap_bytes) = match files.version {
        1 => ("memory.memsw.limit_in_bytes", limit_bytes),
        _ => ("memory.swap.max", 0),
    };
    match fs::write(group.join(name), swap_bytes.to_string()) {
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
        let none = || format!("--memory: this system has no control groups for memory; {ADVICE}");
        let groups = fs::read_to_string("/proc/self/cgroup").map_err(|_| none())?;
        let (files, own) = memory_group(&groups).ok_or_else(none)?;
        let root = Path::new(files.root);
        let mut places = [root.join(own), root.to_owned()].into_iter();
        let path = places.find(|group| group.join(MEMBERS).exists()).ok_or_else(none)?;
        Ok(GroupParent { of_lab: path.clone(), path, files })
    }

    fn delegated(self) -> Result<GroupParent, String> {
        let refused = |error: io::Error| {
            let path = self.path.display();
            format!("--memory: the control group {path} cannot limit others: {error}; {ADVICE}")
        };
        let enable = || fs::write(self.path.join(CONTROLLERS), "+memory");
        match enable() {
            Ok(()) => return Ok(self),
            Err(error) if error.raw_os_error() != Some(libc::EBUSY) => return Err(refused(error)),
            Err(_) => {}
        }
        let of_lab = self.path.join(format!("{PREFIX}{}-lab", process::id()));
        fs::create_dir(&of_lab).map_err(refused)?;
        let folder = GroupFolder { path: of_lab.clone(), parent: self.clone() };
        for member in members(&self.path) {
            let stat = process_stat(member);
            if member == process::id() || stat.is_some_and(|(_, parent)| parent == process::id()) {
                fs::write(of_lab.join(MEMBERS), member.to_string()).map_err(refused)?;
            }
        }
        // Where others are in the group, the lab moves back.
        enable().map_err(refused)?;
        std::mem::forget(folder);
        Ok(GroupParent { of_lab, ..self })
    }
}

/// A group that is removed on drop. Processes that are still in it go on in the group of the lab.
struct GroupFolder {
    path: PathBuf,
    parent: GroupParent,
}

impl GroupFolder {
    /// The number behind this word in a file of the group, which for pressure is the total in µs.
    fn number(&self, file: &str, word: &str) -> Option<u64> {
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(word))?;
        line.rsplit([' ', '=']).next()?.parse().ok()
    }
}

impl Drop for GroupFolder {
    fn drop(&mut self) {
        for _ in 0..ATTEMPTS {
            for member in members(&self.path) {
                let _ = fs::write(self.parent.of_lab.join(MEMBERS), member.to_string());
            }
            match fs::remove_dir(&self.path) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                _ => return,
            }
            let _ = poll(&mut [], Some(&PAUSE));
        }
    }
}

fn members(group: &Path) -> Vec<u32> {
    let text = fs::read_to_string(group.join(MEMBERS)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Removes the groups of labs that were killed.
pub(super) fn remove_groups_of_the_dead() {
    if let Ok(parent) = GroupParent::found() {
        remove_stale(&parent);
    }
}

fn remove_stale(parent: &GroupParent) {
    let entries = fs::read_dir(&parent.path).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let lab = name.to_str().and_then(lab_of);
        if lab.is_some_and(is_gone) {
            drop(GroupFolder { path: entry.path(), parent: parent.clone() });
        }
    }
}

/// The process id in the name of a group.
fn lab_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

/// Whether a process has ended, although its parent may not have noticed yet.
fn is_gone(process: u32) -> bool {
    proc_fs::is_own() && process_stat(process).is_none_or(|(state, _)| state == 'Z')
}

/// The state of a process, and its parent.
fn process_stat(process: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(proc_fs::path(process, "stat").ok()?).ok()?;
    // The name of the program, in brackets, may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_a_lab_are_known_by_their_names() {
        let known = ["bytelab-17-0", "bytelab-17-lab", "bytelab-", "bytelab-x-1", "other-17-0"];
        assert_eq!(known.map(lab_of), [Some(17), Some(17), None, None, None]);
    }

    #[test]
    fn a_process_that_runs_is_not_gone() {
        assert!(!is_gone(process::id()));
        let own = process_stat(process::id()).map(|(_, parent)| parent);
        assert_eq!(
            own,
            rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get() as u32)
        );
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
        let (files, _) = memory_group("0::/a").unwrap();
        let parent = GroupParent { path: path.clone(), files, of_lab: path.clone() };
        let folder = GroupFolder { path: path.clone(), parent };
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

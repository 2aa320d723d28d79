//! A helper process that ends what the lab has started if the lab is killed. It is this
//! program again, and sees the end of the lab by the end of a pipe of which only the lab has the
//! other side. What it ends are the process groups in a file in memory, to which the lab writes at
//! the start and the end of each child, and the processes that have the mark of the lab in their
//! environment, which finds those in a session of their own. The file is read only then: what is
//! read from a pipe would wake the keeper in each sample.

use std::fs::{self, File};
use std::io::{self, PipeWriter};
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use super::expanded;
use super::memory;
use crate::stop::Stop;
use crate::{clock, proc_fs};

/// The program is a keeper if this word and a mark are its arguments.
pub const KEEPER: &str = "__keeper";

/// In the environment of each child: the mark of the lab that has started it.
const MARK_VARIABLE: &str = "BYTELAB_RUN";

/// A process that cannot be ended within this time hangs in the kernel.
const LIMIT_NS: u64 = 5_000_000_000;

static STATE: Mutex<KeeperState> = Mutex::new(KeeperState::Off);

static MARKS: AtomicBool = AtomicBool::new(true);

enum KeeperState {
    Off,
    /// It is started with the first child, and has this mark.
    Wanted(fn() -> String),
    Running(Keeper),
}

struct Keeper {
    process: Child,
    mark: String,
    /// A process group in each 4 bytes, or 0.
    groups: File,
    is_used: Vec<bool>,
    /// The kernel closes it, however this process ends.
    open: PipeWriter,
}

/// From now on, what this process starts ends with it, even if it is killed. No other process may
/// ever have the same mark.
pub fn keep_children(mark: fn() -> String) {
    *state() = KeeperState::Wanted(mark);
}

/// Ends the keeper at the end of the program. What was left running on purpose, such as the server
/// of a compiler, stays, unless a signal has stopped the program.
pub fn end_keeper() {
    let KeeperState::Running(mut keeper) = mem::replace(&mut *state(), KeeperState::Off) else {
        return memory::move_back();
    };
    if !Stop::was_received() {
        let _ = keeper.process.kill();
    }
    drop(keeper.open);
    let _ = keeper.process.wait();
    memory::move_back();
}

fn state() -> MutexGuard<'static, KeeperState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The process of the keeper, which is a child of this one.
#[cfg(target_os = "linux")]
pub(super) fn keeper_process() -> Option<i32> {
    match &*state() {
        KeeperState::Running(keeper) => Some(keeper.process.id() as i32),
        KeeperState::Off | KeeperState::Wanted(_) => None,
    }
}

/// Gives a child that is about to be started the mark. Starts the keeper before the first one; if
/// that fails, the run goes on without it.
pub(super) fn mark(command: &mut Command) {
    let mut state = state();
    if let KeeperState::Wanted(mark) = &*state {
        *state = Keeper::start(mark()).map_or(KeeperState::Off, KeeperState::Running);
    }
    if let KeeperState::Running(keeper) = &*state
        && MARKS.load(Ordering::Relaxed)
    {
        command.env(MARK_VARIABLE, &keeper.mark);
    }
}

/// Starts a process without the mark, if it is to go on after the lab.
pub(super) fn started<T>(is_kept: bool, start: impl FnOnce() -> T) -> T {
    if !is_kept {
        return start();
    }
    set_marking(false);
    let started = start();
    set_marking(true);
    started
}

/// Whether children get the mark. One without it is ended with its group only.
pub(super) fn set_marking(marks: bool) {
    MARKS.store(marks, Ordering::Relaxed);
}

impl Keeper {
    fn start(mark: String) -> io::Result<Keeper> {
        let (closed, open) = io::pipe()?;
        let groups = expanded::memory()?;
        // The file of a running program may have been replaced.
        let program = if cfg!(target_os = "linux") {
            "/proc/self/exe".into()
        } else {
            std::env::current_exe()?
        };
        #[expect(clippy::disallowed_methods, reason = "this is crate::launch")]
        let mut command = Command::new(program);
        let process = command
            .arg0("bytelab")
            .args([KEEPER, &mark])
            .env_clear()
            .current_dir("/")
            .stdin(closed)
            .stdout(groups.try_clone()?)
            .stderr(Stdio::null())
            // Ctrl-C reaches the lab alone.
            .process_group(0)
            .spawn()?;
        Ok(Keeper { process, mark, groups, is_used: Vec::new(), open })
    }

    fn write(&self, place: usize, group: u32) {
        let _ = self.groups.write_at(&group.to_le_bytes(), 4 * place as u64);
    }
}

/// A process group that the keeper ends if the lab is killed.
pub(super) struct KeptGroup(Option<usize>);

impl KeptGroup {
    pub(super) fn new(group: u32) -> KeptGroup {
        let KeeperState::Running(keeper) = &mut *state() else { return KeptGroup(None) };
        let free = keeper.is_used.iter().position(|is_used| !is_used);
        let place = free.unwrap_or_else(|| {
            keeper.is_used.push(false);
            keeper.is_used.len() - 1
        });
        keeper.is_used[place] = true;
        keeper.write(place, group);
        KeptGroup(Some(place))
    }

    /// To be called when the group is killed and its leader not yet reaped: from then on, its
    /// number may belong to others.
    pub(super) fn forget(&mut self) {
        if let (Some(place), KeeperState::Running(keeper)) = (self.0.take(), &mut *state()) {
            keeper.write(place, 0);
            keeper.is_used[place] = false;
        }
    }
}

/// What a keeper does: it waits for the end of the lab, and ends what that has left.
pub fn keep(mark: &str) -> Result<()> {
    // The signals of a terminal, and of what ends all processes of a service, are for the lab.
    let _caught = Stop::on_signals()?;
    let closed = io::stdin();
    let is_closed = || {
        // Without an event to wait for, the end is still reported.
        let mut ends = [PollFd::new(&closed, PollFlags::empty())];
        match poll(&mut ends, None) {
            Ok(_) => Ok(!ends[0].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error),
        }
    };
    while !is_closed().context("waiting for the end of the lab")? {}
    let groups = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut bytes = vec![0; usize::try_from(groups.metadata()?.len())?];
    groups.read_exact_at(&mut bytes, 0)?;
    let (groups, _) = bytes.as_chunks();
    for group in groups.iter().filter_map(|bytes| Pid::from_raw(i32::from_le_bytes(*bytes))) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // A process may start others while it is being ended.
    while_marked(mark, |process| end(process, mark));
    memory::remove_groups_of_the_dead();
    Ok(())
}

/// The processes with this mark that still run after the keeper had time to end them.
pub fn left_running(mark: &str) -> Vec<i32> {
    while_marked(mark, |_| {})
}

/// Does `work` with each process that has the mark, until there is none, or for [`LIMIT_NS`].
fn while_marked(mark: &str, work: impl Fn(i32)) -> Vec<i32> {
    let deadline_ns = clock::now_ns().saturating_add(LIMIT_NS);
    loop {
        let left = marked(mark);
        left.iter().copied().for_each(&work);
        if left.is_empty() || clock::now_ns() > deadline_ns {
            return left;
        }
        let pause = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        let _ = poll(&mut [], Some(&pause));
    }
}

/// The other processes of this user that have the mark; none where there is no `/proc`.
fn marked(mark: &str) -> Vec<i32> {
    let user = rustix::process::geteuid().as_raw();
    let processes = proc_fs::is_own().then(|| fs::read_dir("/proc"));
    let processes = processes.into_iter().flatten().flatten().flatten();
    let marked = processes.filter_map(|entry| {
        let process: i32 = entry.file_name().to_str()?.parse().ok()?;
        let is_own = entry.metadata().is_ok_and(|process| process.uid() == user);
        let is_other = process.cast_unsigned() != process::id();
        (is_own && is_other && has_mark(process, mark)).then_some(process)
    });
    marked.collect()
}

/// The environment of a process that has ended is empty.
fn has_mark(process: i32, mark: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{process}/environ")) else { return false };
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| {
        let value = variable.strip_prefix(MARK_VARIABLE.as_bytes());
        value.and_then(|value| value.strip_prefix(b"=")) == Some(mark.as_bytes())
    })
}

/// Ends a process, if it still is the one that has the mark.
#[cfg(target_os = "linux")]
fn end(process: i32, mark: &str) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let opened = Pid::from_raw(process).map(|process| pidfd_open(process, PidfdFlags::empty()));
    if let Some(Ok(opened)) = opened
        && has_mark(process, mark)
    {
        let _ = pidfd_send_signal(opened, Signal::KILL);
    }
}

#[cfg(not(target_os = "linux"))]
fn end(_process: i32, _mark: &str) {}

//! Processes that outlive the process that started them, in a session or group of their own. While
//! the lab measures, the kernel makes them children of the lab, which ends them, so that none is
//! left running.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rustix::event::{Timespec, poll};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use super::keeper;
use crate::clock;

/// Adopts orphans while it lives, and ends them when it is dropped: at that time, no other child of
/// this process may be running.
pub struct Orphans(());

impl Orphans {
    /// May exist only once at a time, because it applies to the whole process.
    pub fn adopt() -> Orphans {
        system::adopt(true);
        Orphans(())
    }

    /// Runs `work` and ends its orphans neither at its end nor if the lab is killed, such as the
    /// server that a compiler starts for later invocations.
    pub fn without<T>(&self, work: impl FnOnce() -> T) -> T {
        system::adopt(false);
        keeper::set_marking(false);
        let done = work();
        keeper::set_marking(true);
        system::adopt(true);
        done
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        EarlierProcesses(Some(BTreeSet::new())).end_others();
        system::adopt(false);
    }
}

/// Processes that a command has left running and that the lab leaves alone.
static KEPT: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Leaves these processes alone from now on, also at the end of the run.
pub(super) fn keep(processes: &[Pid]) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    // Those that have ended since must not stay as zombies.
    kept.retain(|kept| {
        let pid = Pid::from_raw(*kept);
        matches!(waitpid(pid, WaitOptions::NOHANG), Ok(None))
    });
    kept.extend(processes.iter().map(|process| process.as_raw_nonzero().get()));
}

/// A process that ends within this time after its command was not left running.
const MOMENT_NS: u64 = 10_000_000;

/// The processes that a sample has left behind.
#[derive(Default)]
pub(super) struct LeftBehind {
    pub(super) running: Vec<Pid>,
    /// Nobody has waited for them.
    pub(super) ended: Vec<Pid>,
}

/// The children of this process at one time; none where orphans are not adopted.
pub(super) struct EarlierProcesses(Option<BTreeSet<i32>>);

impl EarlierProcesses {
    pub(super) fn now() -> EarlierProcesses {
        EarlierProcesses(system::adopts().then(system::children))
    }

    /// Whether orphans are adopted, so that what a command leaves is seen.
    pub(super) fn are_known(&self) -> bool {
        self.0.is_some()
    }

    /// The processes that have become children since, but for these, which the lab has started.
    pub(super) fn others(&self, own: &[Pid]) -> LeftBehind {
        let mut left = LeftBehind::default();
        let Some(known) = &self.0 else { return left };
        let others = system::children().into_iter().filter(|pid| !known.contains(pid));
        for pid in others.filter_map(Pid::from_raw).filter(|pid| !own.contains(pid)) {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            match waitid(WaitId::Pid(pid), options) {
                // A process whose system calls are traced is also reported when it is stopped.
                Ok(Some(status)) if status.exited() || status.killed() || status.dumped() => {
                    left.ended.push(pid);
                }
                Ok(_) => left.running.push(pid),
                Err(_) => {}
            }
        }
        left
    }

    /// The same, after those that are about to end have had a moment for it.
    pub(super) fn others_in_a_moment(&self, own: &[Pid]) -> LeftBehind {
        let until_ns = clock::now_ns() + MOMENT_NS;
        loop {
            let left = self.others(own);
            if left.running.is_empty() || clock::now_ns() >= until_ns {
                return left;
            }
            let pause = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            let _ = poll(&mut [], Some(&pause));
        }
    }

    /// Ends all processes that have become children since: orphans, and the orphans that these
    /// leave.
    pub(super) fn end_others(&self) {
        if let Some(known) = &self.0 {
            system::end_others(known);
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::io::Read;
    use std::sync::PoisonError;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::event::{Timespec, poll};
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, waitpid};

    use super::KEPT;
    use crate::launch::keeper::keeper_process;
    use crate::{clock, proc_fs};

    static ADOPTS: AtomicBool = AtomicBool::new(false);
    /// The usual length of a list of children is far below it.
    const TEXT_BYTES: usize = 1 << 10;
    /// A process that cannot be ended within this time is left: it hangs in the kernel, or has the
    /// rights of another user.
    const LIMIT_NS: u64 = 1_000_000_000;

    /// Calls `PR_SET_CHILD_SUBREAPER`; kernels since 3.4 do not refuse it.
    pub(super) fn adopt(adopts: bool) {
        // In another pid namespace the children would have the numbers of other processes.
        let adopts = adopts && proc_fs::is_own();
        let reaper = adopts.then(rustix::process::getpid);
        ADOPTS.store(adopts && set_child_subreaper(reaper).is_ok(), Ordering::Relaxed);
    }

    pub(super) fn adopts() -> bool {
        ADOPTS.load(Ordering::Relaxed)
    }

    pub(super) fn children() -> BTreeSet<i32> {
        let mut children = BTreeSet::new();
        // With room for the text nothing but opening, two reads and closing is needed.
        let mut text = Vec::with_capacity(TEXT_BYTES);
        let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        for thread in threads {
            text.clear();
            if let Ok(file) = File::open(thread.path().join("children")) {
                let _ = file.take(u64::MAX).read_to_end(&mut text);
            }
            let words = text.split(u8::is_ascii_whitespace).map(str::from_utf8);
            children.extend(words.filter_map(|pid| pid.ok()?.parse::<i32>().ok()));
        }
        if let Some(keeper) = keeper_process() {
            children.remove(&keeper);
        }
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain(|pid| !kept.contains(pid));
        children
    }

    /// The children of an ended orphan become orphans themselves, so this repeats until there are
    /// none.
    pub(super) fn end_others(known: &BTreeSet<i32>) {
        let deadline_ns = clock::now_ns().saturating_add(LIMIT_NS);
        loop {
            let others: Vec<i32> = children().difference(known).copied().collect();
            if others.is_empty() || clock::now_ns() > deadline_ns {
                return;
            }
            for pid in others.into_iter().filter_map(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
            let pause = Timespec { tv_sec: 0, tv_nsec: 100_000 };
            let _ = poll(&mut [], Some(&pause));
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::collections::BTreeSet;

    pub(super) fn adopt(_adopts: bool) {}

    pub(super) fn adopts() -> bool {
        false
    }

    pub(super) fn children() -> BTreeSet<i32> {
        BTreeSet::new()
    }

    pub(super) fn end_others(_known: &BTreeSet<i32>) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "it is only looked at")]
    fn a_process_that_another_thread_has_started_is_a_child() {
        if !std::fs::exists("/proc/thread-self/children").unwrap() {
            return;
        }
        // The children of a thread that has ended become those of another one.
        let (started, is_started) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
            started.send(child.id() as i32).unwrap();
            let _ = ends.recv();
            child.kill().unwrap();
            child.wait().unwrap();
        });
        let child = is_started.recv().unwrap();
        let is_known = system::children().contains(&child);
        drop(end);
        thread.join().unwrap();
        assert!(is_known);
    }
}

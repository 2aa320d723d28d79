//! Processes that outlive the process that started them, in a session or group of their own. While
//! the lab measures, the kernel makes them children of the lab, which ends them, so that none is
//! left running.

use std::collections::BTreeSet;

use super::keeper;

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

/// The children of this process at one time; none where orphans are not adopted.
pub(super) struct EarlierProcesses(Option<BTreeSet<i32>>);

impl EarlierProcesses {
    pub(super) fn now() -> EarlierProcesses {
        EarlierProcesses(system::adopts().then(system::children))
    }

    /// Ends all processes that have become children since: orphans, and the orphans that these
    /// leave. Returns whether there were any.
    pub(super) fn end_others(&self) -> bool {
        self.0.as_ref().is_some_and(system::end_others)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::event::{Timespec, poll};
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, waitpid};

    use crate::clock;
    use crate::launch::keeper::keeper_process;

    static ADOPTS: AtomicBool = AtomicBool::new(false);
    /// A process that cannot be ended within this time is left: it hangs in the kernel, or has the
    /// rights of another user.
    const LIMIT_NS: u64 = 1_000_000_000;

    /// Calls `PR_SET_CHILD_SUBREAPER`; kernels since 3.4 do not refuse it.
    pub(super) fn adopt(adopts: bool) {
        let reaper = adopts.then(rustix::process::getpid);
        ADOPTS.store(adopts && set_child_subreaper(reaper).is_ok(), Ordering::Relaxed);
    }

    pub(super) fn adopts() -> bool {
        ADOPTS.load(Ordering::Relaxed)
    }

    pub(super) fn children() -> BTreeSet<i32> {
        let mut children = BTreeSet::new();
        let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        for thread in threads {
            let text = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            children.extend(text.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
        if let Some(keeper) = keeper_process() {
            children.remove(&keeper);
        }
        children
    }

    /// The children of an ended orphan become orphans themselves, so this repeats until there are
    /// none.
    pub(super) fn end_others(known: &BTreeSet<i32>) -> bool {
        let deadline_ns = clock::now_ns().saturating_add(LIMIT_NS);
        let mut were_any = false;
        loop {
            let others: Vec<i32> = children().difference(known).copied().collect();
            if others.is_empty() || clock::now_ns() > deadline_ns {
                return were_any;
            }
            were_any = true;
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

    pub(super) fn end_others(_known: &BTreeSet<i32>) -> bool {
        false
    }
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

//! What a plain command waited for a CPU: each of its tasks, and the lab's own thread where it saw
//! the end late.

use std::os::fd::{AsFd, BorrowedFd};

use super::runner::CommandWaits;
use crate::clock;
use crate::counters::{OwnWait, TaskEnds, TaskTree, overlap_ns};

/// Watches the waits of one sample after the other.
pub(super) struct WaitWatch {
    own: OwnWait,
    /// None where the kernel does not report the tasks that end.
    ends: Option<TaskEnds>,
    /// Whether the reports are read when they come. That shows when each task ended, and wakes the
    /// lab each time, so it is done in the first sample only.
    reads_at_once: bool,
    /// The own wait until the process was started.
    starting_ns: u64,
    /// The own wait at the last moment at which the lab was not waiting for the process.
    polled_ns: u64,
}

impl WaitWatch {
    pub(super) fn open() -> WaitWatch {
        WaitWatch {
            own: OwnWait::of_thread(),
            ends: TaskEnds::open().ok(),
            reads_at_once: true,
            starting_ns: 0,
            polled_ns: 0,
        }
    }

    fn own_ns(&self) -> u64 {
        self.own.read_ns().unwrap_or_default()
    }

    /// Right before the process is started.
    pub(super) fn begin(&mut self) {
        if self.ends.as_mut().is_some_and(|ends| ends.listen().is_err()) {
            self.ends = None;
        }
        self.starting_ns = self.own_ns();
    }

    pub(super) fn started(&mut self) {
        self.polled_ns = self.own_ns();
        self.starting_ns = self.polled_ns.saturating_sub(self.starting_ns);
    }

    /// What is to be polled, besides the end of the process.
    pub(super) fn polled(&self) -> Option<BorrowedFd<'_>> {
        self.ends.as_ref().filter(|_| self.reads_at_once).map(AsFd::as_fd)
    }

    pub(super) fn before_poll(&mut self) {
        self.polled_ns = self.own_ns();
    }

    /// Reads the reports that have come.
    pub(super) fn after_poll(&mut self) {
        let late_ns = self.own_ns().saturating_sub(self.polled_ns);
        let now_ns = clock::now_ns();
        if let Some(ends) = self.ends.as_mut().filter(|_| self.reads_at_once) {
            ends.receive([now_ns.saturating_sub(late_ns), now_ns]);
        }
    }

    /// Right after the end of the process was seen, or of the last of several.
    pub(super) fn end(&mut self, start_ns: u64) -> CommandWaits {
        let late_ns = self.own_ns().saturating_sub(self.polled_ns);
        let own_ns = self.starting_ns + late_ns;
        let now_ns = clock::now_ns();
        let seen_ns = [now_ns.saturating_sub(late_ns), now_ns];
        let ended = self.ends.as_mut().and_then(|ends| {
            let ended = ends.take(seen_ns);
            let _ = ends.ignore();
            ended
        });
        let Some(ended) = ended else {
            return CommandWaits { own_ns, ..CommandWaits::default() };
        };
        let reads_at_once = std::mem::replace(&mut self.reads_at_once, false);
        let (tree, members) = TaskTree::of(&ended, std::process::id(), start_ns);
        let overlap_ns = if reads_at_once { overlap_ns(&members) } else { None };
        let tree = (tree.tasks > 0).then_some(tree);
        CommandWaits { own_ns, tree, overlap_ns, is_serial: false }
    }
}

/// The tasks of a serial tree live one after the other, but for the ends of some and the starts of
/// others, which may take this share of the wall time.
const OVERLAP_SHARE: f64 = 0.05;

/// Whether the tree is serial; none where the ends of its tasks were not seen. What runs or waits
/// one after the other cannot do so for longer than the whole takes.
pub(super) fn is_serial(waits: &CommandWaits, cpu_ns: u64, wall_ns: u64) -> Option<bool> {
    let (tree, overlap_ns) = waits.tree.zip(waits.overlap_ns)?;
    let wall_ns = wall_ns as f64;
    let ran_or_waited_ns = (cpu_ns + tree.wait_ns + waits.own_ns) as f64;
    let is_serial = overlap_ns as f64 <= wall_ns * OVERLAP_SHARE
        && ran_or_waited_ns <= wall_ns * (1.0 + OVERLAP_SHARE);
    Some(is_serial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_serial_if_its_tasks_neither_live_nor_run_at_once() {
        let of = |overlap_ns, wait_ns, cpu_ns| {
            let tree = TaskTree { tasks: 3, wait_ns, longest_task_cpu_ns: 10 };
            let waits = CommandWaits { own_ns: 5, tree: Some(tree), overlap_ns, is_serial: false };
            is_serial(&waits, cpu_ns, 1000)
        };
        assert_eq!(of(None, 0, 900), None);
        assert_eq!([of(Some(50), 100, 945), of(Some(51), 100, 900)], [Some(true), Some(false)]);
        // They lived one after the other as far as was seen, and waited at the same time.
        assert_eq!(of(Some(0), 101, 945), Some(false));
        assert_eq!(is_serial(&CommandWaits::default(), 1, 1000), None);
    }
}

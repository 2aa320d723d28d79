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
    /// The own wait at the last moment at which the lab was not waiting for the process.
    polled_ns: u64,
    /// The times between which the last process ended.
    seen_ns: [u64; 2],
}

impl WaitWatch {
    pub(super) fn open() -> WaitWatch {
        WaitWatch {
            own: OwnWait::of_thread(),
            ends: TaskEnds::open().ok(),
            reads_at_once: true,
            polled_ns: 0,
            seen_ns: [0; 2],
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
    }

    /// Where the lab waits for a CPU after it has started the process, the process does not wait
    /// for the lab.
    pub(super) fn started(&mut self) {
        self.polled_ns = self.own_ns();
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
    pub(super) fn ended(&mut self) {
        let now_ns = clock::now_ns();
        let late_ns = self.own_ns().saturating_sub(self.polled_ns);
        self.seen_ns = [now_ns.saturating_sub(late_ns), now_ns];
    }

    /// The waits of the sample; `first` is the first process, which has ended and is not reaped,
    /// and how long it waited in all.
    pub(super) fn take(&mut self, start_ns: u64, first: (u32, Option<u64>)) -> CommandWaits {
        let seen_ns = self.seen_ns;
        let late_ns = seen_ns[1] - seen_ns[0];
        let ended = self.ends.as_mut().and_then(|ends| {
            let ended = ends.take(seen_ns);
            let _ = ends.ignore();
            ended
        });
        let Some(ended) = ended else {
            return CommandWaits { own_ns: late_ns, ..CommandWaits::default() };
        };
        let reads_at_once = std::mem::replace(&mut self.reads_at_once, false);
        let (mut tree, members) = TaskTree::of(&ended, std::process::id(), start_ns);
        // The kernel reports a task before it frees its memory, for which it may wait again.
        let reported_ns = members.iter().find(|task| task.task == first.0).map(|task| task.wait_ns);
        if let Some((all_ns, reported_ns)) = first.1.zip(reported_ns) {
            tree.wait_ns += all_ns.saturating_sub(reported_ns);
        }
        let overlap_ns = if reads_at_once { overlap_ns(&members) } else { None };
        let tree = (tree.tasks > 0).then_some(tree);
        CommandWaits { own_ns: late_ns, tree, overlap_ns, is_serial: false }
    }
}

/// The tasks of a serial tree live one after the other, but for the ends of some and the starts of
/// others, which may take this share of the wall time.
const OVERLAP_SHARE: f64 = 0.05;

/// Whether the tree is serial; none where the ends of its tasks were not seen. A parent that works
/// beside its child overlaps with no other, but then they compute and wait longer, all together,
/// than it takes.
pub(super) fn is_serial(waits: &CommandWaits, cpu_ns: u64, wall_ns: u64) -> Option<bool> {
    let overlap_ns = waits.overlap_ns?;
    let busy_ns = cpu_ns + waits.tree?.wait_ns;
    let most_ns = wall_ns as f64 * OVERLAP_SHARE;
    Some(overlap_ns as f64 <= most_ns && busy_ns as f64 <= wall_ns as f64 + most_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_serial_if_its_tasks_live_one_after_the_other() {
        let of = |overlap_ns, wait_ns, cpu_ns| {
            let tree = Some(TaskTree { wait_ns, ..TaskTree::default() });
            is_serial(&CommandWaits { tree, overlap_ns, ..CommandWaits::default() }, cpu_ns, 1000)
        };
        let by_overlap = [None, Some(50), Some(51)].map(|overlap_ns| of(overlap_ns, 0, 1000));
        assert_eq!(by_overlap, [None, Some(true), Some(false)]);
        // A parent that computes beside its child.
        assert_eq!([of(Some(0), 350, 700), of(Some(0), 351, 700)], [Some(true), Some(false)]);
        assert_eq!(of(Some(0), 0, 1250), Some(false));
    }
}

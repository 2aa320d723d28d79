//! The values of one reading of a process's counters.

use crate::clock::TreeUsage;

/// The kernel's counts of a process since its start. None: not known on this machine; see
/// [`super::Counters::why`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// For all threads, including those that have ended.
    pub cpu_ns: Option<u64>,
    /// The parts of `cpu_ns`, which are known only in ticks while a process runs.
    pub user_ns: Option<u64>,
    pub system_ns: Option<u64>,
    /// Equal to `cpu_ns` if the process computes in one thread only.
    pub main_thread_cpu_ns: Option<u64>,
    /// For the main thread: ready to run, but no CPU was free.
    pub run_queue_wait_ns: Option<u64>,
    pub device_read_bytes: Option<u64>,
    pub device_write_bytes: Option<u64>,
    /// Including those of the children that it has waited for, and of theirs.
    pub minor_faults: Option<u64>,
    /// For the children that it has waited for, and theirs. No process ends without such a fault.
    pub minor_faults_of_children: Option<u64>,
    /// Including those of the children that it has waited for, and of theirs.
    pub major_faults: Option<u64>,
    /// For the main thread.
    pub voluntary_switches: Option<u64>,
    /// For the main thread.
    pub involuntary_switches: Option<u64>,
    /// Since the last [`super::Counters::reset_peak`].
    pub peak_rss_bytes: Option<u64>,
    pub threads: Option<u64>,
    /// Whether the main thread was on no CPU. While it is on one, the CPU times are those of the
    /// last tick of the kernel: 0 was read for a process that had run for 2 ms.
    pub at_rest: bool,
}

impl Reading {
    /// The reading with the usage of the process and of all that it waited for in place of its own.
    #[must_use]
    pub(crate) fn of_tree(&self, tree: &TreeUsage) -> Self {
        Self {
            cpu_ns: Some(tree.cpu.all_ns),
            user_ns: Some(tree.cpu.user_ns),
            system_ns: Some(tree.cpu.system_ns()),
            minor_faults: Some(tree.counts.minor_faults),
            major_faults: Some(tree.counts.major_faults),
            voluntary_switches: Some(tree.counts.voluntary_switches),
            involuntary_switches: Some(tree.counts.involuntary_switches),
            ..*self
        }
    }

    /// Whether a process that it started has ended and was waited for.
    pub(crate) fn has_children(&self) -> bool {
        self.minor_faults_of_children.is_some_and(|faults| faults > 0)
    }

    /// Whether one thread used all of its CPU time, except for what reading the counters takes;
    /// none where that is not known.
    pub(crate) fn computed_in_main_thread(&self) -> Option<bool> {
        Some(is_nearly_all(self.main_thread_cpu_ns?, self.cpu_ns?))
    }

    /// The difference from `before`; the peak is that of this reading, and of the numbers of
    /// threads the larger is taken.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let less = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        Self {
            cpu_ns: less(self.cpu_ns, before.cpu_ns),
            user_ns: less(self.user_ns, before.user_ns),
            system_ns: less(self.system_ns, before.system_ns),
            main_thread_cpu_ns: less(self.main_thread_cpu_ns, before.main_thread_cpu_ns),
            run_queue_wait_ns: less(self.run_queue_wait_ns, before.run_queue_wait_ns),
            device_read_bytes: less(self.device_read_bytes, before.device_read_bytes),
            device_write_bytes: less(self.device_write_bytes, before.device_write_bytes),
            minor_faults: less(self.minor_faults, before.minor_faults),
            minor_faults_of_children: less(
                self.minor_faults_of_children,
                before.minor_faults_of_children,
            ),
            major_faults: less(self.major_faults, before.major_faults),
            voluntary_switches: less(self.voluntary_switches, before.voluntary_switches),
            involuntary_switches: less(self.involuntary_switches, before.involuntary_switches),
            peak_rss_bytes: self.peak_rss_bytes,
            threads: self.threads.max(before.threads),
            at_rest: self.at_rest && before.at_rest,
        }
    }
}

/// Whether the CPU time of the main thread is that of its process.
pub(crate) fn is_nearly_all(main_ns: u64, all_ns: u64) -> bool {
    (main_ns + AROUND_NS) as f64 >= all_ns as f64 * COMPUTED_SHARE
}

/// A process computes in one thread if that thread uses this share of the CPU time.
const COMPUTED_SHARE: f64 = 0.99;

/// The CPU time that reading the counters takes. It is in the CPU time of a sample but not in its
/// wall time.
const AROUND_NS: u64 = 20_000;

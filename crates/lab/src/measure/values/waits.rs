//! The waits for a CPU of a sample: of all of its tasks, or unknown.

use crate::counters::is_nearly_all;
use crate::launch::RawSample;
use crate::metric::CPU;

/// The value that the method reports itself, for the whole sample.
fn own(taken: &RawSample, name: &str) -> Option<f64> {
    let ops = taken.done.ops as f64;
    taken.done.metrics.iter().find(|(n, _)| n == name).map(|(_, value)| value * ops)
}

/// The sum of the waits of all tasks, in ns. Of a worker seen from outside it would include the
/// wait before and after the timed interval, so that only the worker itself knows it.
pub(super) fn delay_ns(taken: &RawSample) -> Option<u64> {
    let of_one = || is_one_thread(taken).then_some(taken.used.run_queue_wait_ns).flatten();
    if taken.startup_ns.is_some() {
        let of_tasks = taken.waits.tree.map(|tree| tree.wait_ns).or_else(of_one)?;
        return Some(of_tasks + taken.waits.own_ns);
    }
    let reported = own(taken, "run_queue_wait_ns").filter(|_| is_one_thread(taken))?;
    Some(reported as u64)
}

/// No more than the CPU time of the task that computed most.
pub(super) fn longest_task_cpu_ns(taken: &RawSample) -> Option<u64> {
    let main_ns = taken.used.main_thread_cpu_ns;
    let tree = taken.waits.tree.map(|tree| tree.longest_task_cpu_ns);
    let of_one = main_ns.filter(|_| taken.used.at_rest && is_one_thread(taken));
    tree.max(of_one)
}

/// Whether one thread did all of the work, as far as the sample shows.
fn is_one_thread(taken: &RawSample) -> bool {
    let used = &taken.used;
    if let Some(tree) = taken.waits.tree {
        return tree.tasks == 1;
    }
    used.computed_in_main_thread() == Some(true) && !used.has_children()
}

/// Wall time without the wait for a CPU: of one thread, or of a tree whose tasks run one after the
/// other. A process and the child that it has just started may wait at the same time, so that the
/// sum of the waits of a tree may be too large; it cannot take less than its CPU time.
pub(super) fn wall_less_wait_ns(taken: &RawSample) -> Option<f64> {
    let (done, used) = (&taken.done, &taken.used);
    let is_one = is_one_thread(taken);
    let is_known = taken.waits.is_serial || is_one;
    let wait_ns = delay_ns(taken).filter(|_| is_known && used.at_rest)? as f64;
    let left_ns = done.wall_ns as f64 - wait_ns;
    let cpu_ns = own(taken, CPU).map_or(used.cpu_ns, |ns| Some(ns as u64))?;
    if !is_one {
        return Some(left_ns.max(cpu_ns as f64));
    }
    // One thread cannot use more CPU time than what is left; a little of it is used around the
    // interval.
    (left_ns > 0.0 && is_nearly_all(left_ns as u64, cpu_ns)).then_some(left_ns)
}

use super::*;
use crate::counters::{Counter, Reading, TaskTree};
use crate::launch::CommandWaits;
use crate::protocol::Done;

fn at_rest<const N: usize>(values: [(Counter, u64); N]) -> Reading {
    Reading::new(true).with(values)
}

/// The value in a sample of two operations whose process was at rest after it, or still on a CPU.
fn value(name: &str, at_rest: bool) -> Option<f64> {
    let done = Done { n: 1, wall_ns: 1000, ops: 2, bytes: 10, ..Done::default() };
    let used = Reading::new(at_rest).with([
        (Counter::CpuNs, 600),
        (Counter::RunQueueWaitNs, 30),
        (Counter::MinorFaults, 4),
    ]);
    let taken = RawSample { done, used, ..RawSample::default() };
    values(&taken).into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[test]
fn the_cpu_time_of_a_process_that_is_still_on_a_cpu_is_not_known() {
    assert_eq!(value("cpu_ns", true), Some(300.0));
    assert_eq!(value("cpu_ns", false), None);
    for at_rest in [true, false] {
        assert_eq!(value("wall_ns", at_rest), Some(500.0));
        assert_eq!(value("run_queue_wait_ns", at_rest), Some(15.0));
        assert_eq!(value("minor_faults", at_rest), Some(2.0));
        assert_eq!(value("throughput_bytes_per_s", at_rest), Some(1e7));
        assert_eq!(value("major_faults", at_rest), None);
    }
}

/// A worker with this number of threads, this CPU time, and this part of it in the main thread.
fn of_threads(threads: u64, main_ns: u64, cpu_ns: u64) -> Vec<&'static str> {
    let used = at_rest([
        (Counter::CpuNs, cpu_ns),
        (Counter::MainThreadCpuNs, main_ns),
        (Counter::RunQueueWaitNs, 30),
        (Counter::VoluntarySwitches, 4),
        (Counter::InvoluntarySwitches, 0),
        (Counter::Threads, threads),
    ]);
    let done = Done { n: 1, wall_ns: 10_000_000, ops: 1, ..Done::default() };
    let taken = RawSample { done, used, ..RawSample::default() };
    let known: Vec<&str> = values(&taken).into_iter().map(|(name, _)| name).collect();
    let names = ["run_queue_wait_ns", "voluntary_switches", "involuntary_switches"];
    for name in names {
        // A value that is left out has a reason.
        let why = missing(&taken).filter(|(missing, _)| *missing == name).count();
        assert_eq!(why, usize::from(!known.contains(&name)), "{name}");
    }
    names.into_iter().filter(|name| known.contains(name)).collect()
}

#[test]
fn counters_of_the_main_thread_are_not_used_for_several_threads() {
    let all = ["run_queue_wait_ns", "voluntary_switches", "involuntary_switches"];
    assert_eq!(of_threads(1, 5_000_000, 5_000_000), all);
    // A thread has started and ended.
    assert_eq!(of_threads(1, 2_000_000, 5_000_000), [""; 0]);
    // The other threads of a runtime wait for work, and are woken occasionally.
    assert_eq!(of_threads(9, 5_000_000, 5_000_000), ["run_queue_wait_ns"]);
    assert_eq!(of_threads(9, 2_000_000, 5_000_000), [""; 0]);
}

/// A sample of 1 ms in which the main thread computed and waited for a CPU for these times.
fn taken(computed_ns: u64, waited_ns: f64) -> RawSample {
    let metrics = [("run_queue_wait_ns", waited_ns), ("cpu_ns", computed_ns as f64)];
    let metrics = metrics.map(|(name, ns)| (name.to_owned(), ns)).to_vec();
    let done = Done { wall_ns: 1_000_000, ops: 1, metrics, ..Done::default() };
    let used = at_rest([
        (Counter::CpuNs, computed_ns + 5_000),
        (Counter::MainThreadCpuNs, computed_ns + 5_000),
        (Counter::MinorFaultsOfChildren, 0),
    ]);
    RawSample { done, used, ..RawSample::default() }
}

#[test]
fn a_time_without_the_wait_is_of_what_waits_in_one_thread() {
    use super::wall_less_wait_ns;

    assert_eq!(wall_less_wait_ns(&taken(1_000_000, 0.0)), Some(1e6));
    assert_eq!(wall_less_wait_ns(&taken(400_000, 600_000.0)), Some(4e5));
    // For a part of it the thread waited for something else.
    assert_eq!(wall_less_wait_ns(&taken(380_000, 600_000.0)), Some(4e5));
    // More than is possible.
    assert_eq!(wall_less_wait_ns(&taken(500_000, 600_000.0)), None);
    let mut with_children = taken(1_000_000, 0.0);
    with_children.used[Counter::MinorFaultsOfChildren] = Some(60);
    assert_eq!(wall_less_wait_ns(&with_children), None);
    let mut with_threads = taken(1_000_000, 0.0);
    with_threads.used[Counter::CpuNs] = Some(1_100_000);
    assert_eq!(wall_less_wait_ns(&with_threads), None);
}

/// A plain command of 1 ms with two tasks that computed 500 µs and waited 300 µs, the first one 100
/// µs; the lab waited 20 µs.
fn of_tree(is_serial: bool, tree: Option<TaskTree>) -> RawSample {
    let done = Done { wall_ns: 1_000_000, ops: 1, ..Done::default() };
    let used = at_rest([
        (Counter::CpuNs, 500_000),
        (Counter::MainThreadCpuNs, 1_000),
        (Counter::RunQueueWaitNs, 100_000),
        (Counter::MinorFaultsOfChildren, 60),
    ]);
    let waits = CommandWaits { own_ns: 20_000, tree, overlap_ns: None, is_serial };
    RawSample { done, used, startup_ns: Some(1), waits, ..RawSample::default() }
}

#[test]
fn the_wait_of_a_tree_is_that_of_all_of_its_tasks_and_of_the_lab() {
    let tree = Some(TaskTree {
        tasks: 2,
        wait_ns: 300_000,
        longest_task_cpu_ns: 450_000,
        cpu_ns: 600_000,
    });
    let value = |taken: &RawSample, name: &str| {
        values(taken).into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    };
    let serial = of_tree(true, tree);
    assert_eq!(value(&serial, "cpu_delay_ns"), Some(320_000.0));
    assert_eq!(value(&serial, "longest_task_cpu_ns"), Some(450_000.0));
    assert_eq!(value(&serial, "tasks"), Some(2.0));
    assert_eq!(value(&serial, "wall_less_wait_ns"), Some(680_000.0));
    let mut at_once = serial;
    at_once.done.wall_ns = 700_000;
    assert_eq!(value(&at_once, "wall_less_wait_ns"), Some(500_000.0));
    // Where they wait at once, the sum of their waits is no part of the wall time.
    let parallel = of_tree(false, tree);
    assert_eq!(value(&parallel, "cpu_delay_ns"), Some(320_000.0));
    assert_eq!(value(&parallel, "wall_less_wait_ns"), None);
    // Without taskstats only the wait of its first process is known.
    let unknown = of_tree(true, None);
    assert_eq!(value(&unknown, "cpu_delay_ns"), None);
    assert_eq!(value(&unknown, "wall_less_wait_ns"), None);
    let why = |taken: &RawSample| missing(taken).any(|(name, _)| name == "cpu_delay_ns");
    assert_eq!([why(&unknown), why(&parallel)], [true, false]);
}

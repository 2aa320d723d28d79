use std::io::{Read, Write};
use std::process::{Child, Stdio};

use super::*;
use crate::clock::{TreeUsage, Usage};

/// A process that waits until it is dropped.
struct Cat(Child);

impl Cat {
    fn start() -> Self {
        #[expect(clippy::disallowed_methods, reason = "crate::launch starts methods; this is none")]
        let mut command = std::process::Command::new("cat");
        let cat = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut cat = Self(cat.unwrap());
        // Some counters of a process do not exist before its first turn on a CPU.
        cat.0.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        cat.0.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        cat
    }
}

impl Drop for Cat {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn every_counter_is_either_read_or_explained() {
    let cat = Cat::start();
    let mut counters = Counters::open(cat.0.id());
    let peak = counters.reset_peak();
    let reading = counters.start();
    let check = |of_file: &[Counter], read: Counter| {
        for counter in of_file {
            let is_explained = counters.why().contains_key(counter.name());
            assert_eq!(reading[read].is_none(), is_explained, "{counter:?} {reading:?}");
        }
    };
    check(CPU, Counter::CpuNs);
    check(SCHEDSTAT, Counter::RunQueueWaitNs);
    check(IO, Counter::DeviceReadBytes);
    check(STAT, Counter::MajorFaults);
    check(SWITCHES, Counter::InvoluntarySwitches);
    check(PEAK, Counter::PeakRssBytes);
    assert_eq!(peak.is_err(), counters.why().contains_key("peak_rss_bytes"));
    assert_eq!(reading[Counter::Threads], Some(1));

    let totals = Totals { cpu_ns: 3, device_read_bytes: 512, ..Totals::default() };
    let used = counters.complete(&totals);
    assert_eq!((used[Counter::CpuNs], used.at_rest), (Some(3), true));
    let device_bytes = reading[Counter::DeviceReadBytes].map(|_| 512);
    assert_eq!(used[Counter::DeviceReadBytes], device_bytes);
    assert_eq!(
        (used[Counter::PeakRssBytes].is_some(), used[Counter::Threads]),
        (peak.is_ok(), Some(1))
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_knows_of_itself_what_the_devices_delivered_and_took() {
    let mut counters = Counters::open(std::process::id());
    if counters.why().contains_key("device_read_bytes") {
        return;
    }
    let mut file = tempfile::tempfile_in(std::env::temp_dir()).unwrap();
    file.write_all(&vec![1; 1 << 20]).unwrap();
    file.sync_all().unwrap();
    // Other tests of this process may read and write at any time.
    let before = counters.read();
    let own = TreeUsage::own().plus(&TreeUsage::of_ended_children()).counts;
    let after = counters.read();
    let is_between = |before: Option<u64>, own: u64, after: Option<u64>| {
        assert!(before <= Some(own) && Some(own) <= after, "{before:?} {own} {after:?}");
    };
    let counted = [
        (Counter::DeviceReadBytes, own.device_read_bytes),
        (Counter::DeviceWriteBytes, own.device_write_bytes),
    ];
    for (counter, own) in counted {
        is_between(before[counter], own, after[counter]);
    }
}

#[test]
fn a_process_that_ended_has_no_counters() {
    let mut cat = Cat::start();
    let mut counters = Counters::open(cat.0.id());
    cat.0.kill().unwrap();
    cat.0.wait().unwrap();
    assert_eq!(counters.read(), Reading::default());
    let mut late = Counters::open(cat.0.id());
    assert_eq!(late.read(), Reading::default());
    assert!(late.reset_peak().is_err());
    assert_eq!(late.why().len(), 10, "{:?}", late.why());
}

#[test]
#[cfg(target_os = "linux")]
fn of_a_process_that_is_not_reaped_the_kernel_still_has_the_same() {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let mut cat = Cat::start();
    cat.0.kill().unwrap();
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(&cat.0)), options).unwrap();
    let (ended, all) = (read_ended(cat.0.id()), Counters::open(cat.0.id()).read());
    assert!(ended.at_rest && all.at_rest);
    for counter in [
        Counter::MainThreadCpuNs,
        Counter::RunQueueWaitNs,
        Counter::MinorFaults,
        Counter::MinorFaultsOfChildren,
    ] {
        assert_eq!(ended[counter], all[counter], "{counter:?}");
    }
}

#[test]
fn of_a_tree_the_bytes_of_devices_are_known_where_the_kernel_counts_them() {
    let counts = Usage { device_read_bytes: 512, ..Usage::default() };
    let tree = TreeUsage { counts, ..TreeUsage::default() };
    let read = |is_counted| Reading::default().of_tree(&tree, is_counted);
    let bytes = [true, false].map(|is_counted| read(is_counted)[Counter::DeviceReadBytes]);
    assert_eq!(bytes, [Some(512), None]);
}

#[test]
#[cfg(target_os = "linux")]
fn the_times_of_a_thread_are_those_that_it_ran_and_waited() {
    let cat = Cat::start();
    let pid = cat.0.id();
    if Counters::open(pid).why().contains_key("run_queue_wait_ns") {
        return;
    }
    // The kernel adds the time when the thread sleeps again.
    let ran = (0..1_000_000).any(|_| {
        std::thread::yield_now();
        thread_times_ns(pid, pid).is_some_and(|(ran_ns, _)| ran_ns > 1000)
    });
    assert!(ran, "{:?}", thread_times_ns(pid, pid));
}

#[test]
fn a_file_without_the_expected_content_explains_what_is_missing() {
    let pid = std::process::id();
    let empty = || Some(File::open("/dev/null").unwrap());
    let mut counters = Counters {
        schedstat: empty(),
        io: empty(),
        stat: empty(),
        status: empty(),
        // Not open for writing.
        clear_refs: empty(),
        why: BTreeMap::new(),
        ..Counters::open(pid)
    };
    counters.probe(pid);
    for (of_file, file) in
        [(SCHEDSTAT, "schedstat"), (IO, "io"), (STAT, "stat"), (SWITCHES, "status")]
    {
        for counter in of_file {
            let expected = format!("/proc/{pid}/{file} does not tell it on this system");
            assert_eq!(counters.why().get(counter.name()), Some(&expected), "{counter:?}");
        }
    }
    let peak = &counters.why()["peak_rss_bytes"];
    assert!(peak.starts_with(&format!("/proc/{pid}/clear_refs: ")), "{peak}");
    assert!(counters.reset_peak().is_err_and(|error| error.kind() == io::ErrorKind::Unsupported));
}

#[test]
#[cfg(target_os = "linux")]
fn the_peak_is_that_since_the_reset() {
    let mut counters = Counters::open(std::process::id());
    if counters.why().contains_key("peak_rss_bytes") {
        return;
    }
    let size = 64 << 20;
    let touch = || drop(std::hint::black_box(vec![1u8; size]));
    touch();
    let before = counters.read();
    counters.reset_peak().unwrap();
    let after = counters.read().since(&before);
    assert!(before[Counter::PeakRssBytes].unwrap() >= size as u64);
    assert!(
        after[Counter::PeakRssBytes].unwrap() < before[Counter::PeakRssBytes].unwrap(),
        "{before:?} {after:?}"
    );
    touch();
    assert!(counters.read()[Counter::PeakRssBytes].unwrap() >= size as u64);
}

#[test]
#[cfg(target_os = "linux")]
fn the_own_wait_is_that_of_the_kernel() {
    let wait_ns = || -> Option<u64> {
        let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    };
    // None where the kernel does not report it.
    let (before, own, after) = (wait_ns(), OwnWait::open().read_ns(), wait_ns());
    assert!((before..=after).contains(&own), "{before:?} {own:?} {after:?}");
}

/// Where the kernel reports the tasks that end, a shell that starts three processes and a thread of
/// this process are among them.
#[test]
#[cfg(target_os = "linux")]
fn the_kernel_reports_each_task_of_a_tree_with_its_wait() {
    let Ok(mut ends) = TaskEnds::open() else { return };
    let start_ns = clock::now_ns();
    ends.listen().unwrap();
    #[expect(clippy::disallowed_methods, reason = "crate::launch starts methods; this is none")]
    let mut shell = std::process::Command::new("sh");
    let shell = shell.args(["-c", "sh -c 'true; true' & true; wait; sh -c 'exit 3'; exit 7"]);
    let mut shell = shell.spawn().unwrap();
    let pid = shell.id();
    assert_eq!(shell.wait().unwrap().code(), Some(7));
    let now_ns = clock::now_ns();
    let ended = ends.take([now_ns, now_ns]).unwrap();
    ends.ignore().unwrap();
    let of_shell: Vec<_> =
        ended.into_iter().filter(|task| task.parent == pid || task.task == pid).collect();
    let (tree, members) = TaskTree::from_ended(&of_shell, std::process::id(), start_ns);
    assert_eq!((tree.tasks, members.last().map(|task| task.process)), (3, Some(pid)));
    assert_eq!(tree.wait_ns, members.iter().map(|task| task.wait_ns).sum::<u64>());
    assert!(members.iter().all(|task| task.lifetime_ns + task.wait_ns > 0), "{members:?}");
}

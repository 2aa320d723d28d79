//! The usage of a sample is that of all its processes, or it is unknown; it includes nothing from
//! before the sample.

use std::io::{Read, Write};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::RwLockWriteGuard;

use measure::counters::Counter;
use measure::experiment::{Command, Execution, Method};
use measure::launch::{Launch, RawSample, Runner};
use measure::values;
use model::param::Point;
use model::run::Plan;

use crate::counting::traced;
use crate::script::{alone, cell, launcher, method, no_other, on_go, plan, run, script};

/// Some ten milliseconds of CPU time of a shell.
const BURN: &str = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done";

fn shell(name: &str, text: &str) -> Method {
    method(name, Execution::Command(Command::script(text)))
}

struct Started {
    runner: Box<dyn Runner>,
    _alone: RwLockWriteGuard<'static, ()>,
}

impl Deref for Started {
    type Target = dyn Runner;

    fn deref(&self) -> &Self::Target {
        &*self.runner
    }
}

impl DerefMut for Started {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.runner
    }
}

fn started(method: &Method) -> Started {
    let alone = no_other();
    let mut runner = launcher().start("", method, false).unwrap();
    runner.prepare(&Point::default()).unwrap();
    Started { runner, _alone: alone }
}

fn value(taken: &RawSample, name: &str) -> Option<f64> {
    let reported = taken.done.metrics.iter().map(|(name, value)| (name.as_str(), *value));
    reported.chain(values(taken)).find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[test]
#[cfg(target_os = "linux")]
fn of_a_command_all_processes_count() {
    let by_child = shell("", &format!("sh -c '{BURN}'; true"));
    let taken = started(&by_child).go(1, 1).unwrap();
    let own_ns = taken.used[Counter::MainThreadCpuNs].unwrap() as f64;
    // The shell only starts another shell, which does the work.
    let cpu_ns = value(&taken, "cpu_ns").unwrap();
    assert!(cpu_ns > 3.0 * own_ns, "{cpu_ns} {taken:?}");
    // Each process touches pages of its own.
    let alone = value(&started(&shell("", "true")).go(1, 1).unwrap(), "minor_faults").unwrap();
    let faults = value(&taken, "minor_faults").unwrap();
    assert!(faults > 1.5 * alone, "{faults} {alone}");
    let [user_ns, system_ns] =
        ["user_ns", "system_ns"].map(|name| value(&taken, name).unwrap_or_default());
    assert!(user_ns > 0.0 && user_ns + system_ns == cpu_ns, "{user_ns} {system_ns} {cpu_ns}");
    // Each process waits in a run queue of its own, and only the kernel's reports have all waits.
    assert_eq!(value(&taken, "run_queue_wait_ns"), None, "{taken:?}");
    let is_reported = taken.waits.tree.is_some();
    assert!(taken.waits.tree.is_none_or(|tree| tree.tasks == 2), "{taken:?}");
    assert_eq!(value(&taken, "cpu_delay_ns").is_some(), is_reported, "{taken:?}");
    // One runs after the other.
    let without_wait = value(&taken, "wall_less_wait_ns");
    assert_eq!(without_wait.is_some(), taken.waits.is_serial, "{taken:?}");
    assert!(without_wait.is_none_or(|ns| cpu_ns <= ns && ns <= taken.done.wall_ns as f64));
}

#[test]
fn as_many_copies_of_a_command_are_started_as_it_says() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let argv = ["/bin/sh", "-c", "echo >>$0", log.to_str().unwrap()];
    let plain = Command::plain(argv);
    started(&method("", Execution::Command(Command { copies: 3, ..plain }))).go(1, 1).unwrap();
    assert_eq!(std::fs::read(&log).unwrap(), b"\n\n\n");
}

/// Two processes that live at the same time may wait at the same time.
#[test]
#[cfg(target_os = "linux")]
fn a_command_whose_processes_wait_for_each_other_has_no_time_without_the_wait() {
    let text = format!(
        "mkfifo $0.$$; (sh -c '{BURN}'; : >$0.$$) & (read -r x <$0.$$; true) & wait; rm $0.$$"
    );
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    let argv = ["/bin/sh", "-c", &text, fifo.to_str().unwrap()];
    let command = method("", Execution::Command(Command::plain(argv)));
    let taken = started(&command).go(1, 1).unwrap();
    assert_eq!(value(&taken, "wall_less_wait_ns"), None, "{taken:?}");
}

/// A worker whose work is done by a process that it starts. It reports that it never waited, which
/// is true for the worker itself, and a wall time that is possible however fast the machine is.
fn by_a_child() -> String {
    on_go(&format!(
        "sh -c '{BURN}'; echo \"done $n wall=1000000 bytes=8 answer=2a run_queue_wait_ns=0\""
    ))
}

#[test]
#[cfg(target_os = "linux")]
fn of_a_worker_that_starts_others_nothing_of_its_own_stands_for_all() {
    let mut runner = started(&script("", &by_a_child()));
    let taken = runner.go(1, 1).unwrap();
    runner.bye();
    for name in [
        "wall_less_wait_ns",
        "cpu_ns",
        "peak_rss_bytes",
        "user_ns",
        "system_ns",
        "voluntary_switches",
        "involuntary_switches",
    ] {
        assert_eq!(value(&taken, name), None, "{name} {taken:?}");
    }
    // For these the kernel keeps the sums including all that a process has waited for.
    let faults = value(&taken, "minor_faults").unwrap_or_default();
    let of_children = taken.used[Counter::MinorFaultsOfChildren].unwrap() as f64;
    assert!(of_children > 0.0 && faults > of_children, "{faults} {taken:?}");
    assert!(value(&taken, "major_faults").is_some(), "{taken:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_not_known_of_a_tree_has_its_reason() {
    let command = shell("command", &format!("sh -c '{BURN}'; true"));
    let methods = vec![script("worker", &by_a_child()), command];
    let run = alone(methods, Plan { counting: 0, ..plan(2) });
    let why = |method: &str, metric: &str| {
        let of = |note: &&model::run::Warning| note.method.as_deref() == Some(method);
        let start = format!("{metric}: ");
        run.notes.iter().filter(of).filter(|note| note.to_string().starts_with(&start)).count()
    };
    assert_eq!(why("worker", "cpu_ns"), 1, "{:?}", run.notes);
    assert_eq!(why("worker", "peak_rss_bytes"), 1, "{:?}", run.notes);
    assert_eq!(why("worker", "user_ns"), 1, "{:?}", run.notes);
    assert_eq!(why("command", "user_ns"), 0, "{:?}", run.notes);
    assert_eq!(why("command", "run_queue_wait_ns"), 1, "{:?}", run.notes);
    assert_eq!(why("command", "cpu_ns"), 0, "{:?}", run.notes);
    assert_eq!(cell(&run, "worker").counted("cpu_ns").count(), 0);
}

/// The counting pass observes each of these processes when it is about to end.
#[test]
#[cfg(target_os = "linux")]
fn the_peak_of_a_worker_that_starts_others_is_that_of_the_largest_of_them() {
    // Its buffer is filled in a single call: each is traced, which takes long on a busy machine.
    let fill = "dd if=/dev/zero of=/dev/null bs=20M count=1 2>/dev/null";
    let large = by_a_child().replace("sh -c '", &format!("{fill}; sh -c '"));
    let methods = vec![script("small", &by_a_child()), script("large", &large)];
    let run = run(methods, Plan { counting: 2, ..plan(1) });
    if !traced(&run) {
        return;
    }
    let peak = |method: &str| cell(&run, method).counted("peak_rss_bytes").map(|(_, value)| value);
    let known = |method: &str, least: f64| {
        let all: Vec<f64> = peak(method).collect();
        let found = all.len() == 2 && all.iter().all(|bytes| *bytes > least);
        assert!(found, "{method} {all:?} {:?}", run.notes);
        all[0]
    };
    let [small, large] = [known("small", 100_000.0), known("large", 20e6)];
    assert!(small < 20e6 && large < 200e6, "{small} {large}");
    assert!(!run.notes.iter().any(|note| note.to_string().starts_with("peak_rss_bytes")));
}

#[test]
#[cfg(target_os = "linux")]
fn the_peak_of_a_worker_that_is_larger_than_what_it_starts_is_its_own() {
    // The shell reads what is printed by many small calls, each of which is traced.
    let large = format!("x=$(printf %08000000d 0)\n{}", by_a_child());
    let run = run(vec![script("large", &large)], Plan { counting: 2, ..plan(1) });
    if !traced(&run) {
        return;
    }
    let all: Vec<f64> =
        cell(&run, "large").counted("peak_rss_bytes").map(|(_, value)| value).collect();
    assert!(all.len() == 2 && all.iter().all(|bytes| *bytes > 8e6), "{all:?}");
}

/// After its first sample it rests, then computes and writes, then reports that, and rests again.
const BUSY_BETWEEN: &str = r#"echo "done $n wall=2000000 bytes=8 answer=2a"
    if [ $n = 1 ]; then
        read -r x <$0/begin
        i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done
        head -c 1000000 /dev/zero >$0/written
        echo busy no more >$0/end
    fi"#;

#[test]
#[cfg(target_os = "linux")]
fn what_a_worker_does_between_samples_is_in_none() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let fifo = |name: &str| {
        let path = dir.path().join(name);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        path
    };
    let (begin, end) = (fifo("begin"), fifo("end"));
    let argv = ["/bin/sh", "-c", &on_go(BUSY_BETWEEN), dir.path().to_str().unwrap()];
    let argv = argv.map(str::to_owned).to_vec();
    let mut runner = started(&method("", Execution::Worker { argv }));
    runner.go(1, 1).unwrap();
    let before = busy(&begin, &end);
    let taken = runner.go(2, 1).unwrap();
    runner.bye();
    // The process may not have come to rest in time; then the value is left out.
    let cpu_ns = value(&taken, "cpu_ns").unwrap_or_default();
    assert!(cpu_ns < before / 2.0, "{cpu_ns} of {before} {taken:?}");
    assert_eq!(value(&taken, "device_write_bytes"), Some(0.0), "{taken:?}");
}

/// Lets it continue and waits until it is done. Returns the minimum CPU time that it must have
/// used: one iteration of the shell's loop takes more than 100 ns on any processor.
fn busy(begin: &Path, end: &Path) -> f64 {
    let mut begin = std::fs::File::options().write(true).open(begin).unwrap();
    begin.write_all(b"go on\n").unwrap();
    drop(begin);
    let mut text = String::new();
    std::fs::File::open(end).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "busy no more\n");
    200_000.0 * 100.0
}

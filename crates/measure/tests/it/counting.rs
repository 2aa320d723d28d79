//! The counting pass: exact numbers of system calls of threads, children and commands, separate
//! from the times; and its behaviour when a child dies during it.

use std::collections::BTreeMap;

use measure::count::Sources;
use measure::experiment::{Command, Data, Execution, Experiment, MakeData, Method};
use measure::launch::{Launch, Launcher, Stop};
use measure::{MeasureJob, new_run};
use model::param::Point;
use model::run::{Cell, Pass, Plan, Run, Status};

use crate::script::{
    GOOD, cell, experiment, go, go_on, job, launcher, method, plan, python, run, run_with, script,
};

fn counted(methods: Vec<Method>, counting: u32) -> Run {
    run(methods, Plan { counting, ..plan(3) })
}

fn syscalls(cell: &Cell) -> Vec<f64> {
    cell.counted("syscalls").map(|(_, n)| n).collect()
}

fn by_name(cell: &Cell) -> &BTreeMap<String, f64> {
    cell.syscalls_by_name.as_ref().unwrap()
}

/// Skips on this machine: without ptrace there are no names, without tracepoint and ptrace no
/// numbers.
#[expect(clippy::print_stdout, reason = "a test says why it is skipped")]
pub(crate) fn traced(run: &Run) -> bool {
    let refused =
        run.notes.iter().find(|note| note.to_string().contains("ptrace is not permitted"));
    if let Some(note) = refused {
        println!("skipped: {note}");
    }
    refused.is_none()
}

#[test]
fn the_calls_of_the_protocol_are_not_those_of_the_job() {
    let run = counted(vec![script("empty", GOOD), script("two", &job("cd /; cd /"))], 5);
    if !traced(&run) {
        return;
    }
    let [empty, two] = ["empty", "two"].map(|name| cell(&run, name));
    assert_eq!(by_name(two).get("chdir"), Some(&2.0), "{two:?}");
    for name in ["read", "write"] {
        assert_eq!(by_name(empty).get(name), None, "{empty:?}");
        assert_eq!(by_name(two).get(name), None, "{two:?}");
    }
    for cell in [empty, two] {
        let sum: f64 = by_name(cell).values().sum();
        let counted = syscalls(cell);
        let are_equal = counted.len() >= 2 && counted.iter().all(|n| (n - sum).abs() < 0.5);
        assert!(are_equal, "tracepoint and ptrace: {cell:?}");
    }
}

#[test]
fn the_calls_of_children_are_counted() {
    let text = job("i=0; while [ $i -lt 3 ]; do cat /dev/null; i=$((i + 1)); done");
    let run = counted(vec![script("children", &text)], 3);
    if !traced(&run) {
        return;
    }
    let cell = cell(&run, "children");
    assert_eq!(by_name(cell).get("execve"), Some(&3.0), "{cell:?}");
    assert_eq!(by_name(cell).get("exit_group"), Some(&3.0), "{cell:?}");
    let sum: f64 = by_name(cell).values().sum();
    // How often the shell is notified that a child has ended varies at random.
    let near = |n: &f64| (n - sum).abs() <= 0.1 * sum;
    let all = syscalls(cell);
    assert!(all.len() >= 2 && all.iter().all(near), "{all:?} {sum}");
}

#[test]
fn the_calls_of_threads_are_counted() {
    let text = "def calls():
    for _ in range(1000): os.getppid()
def job():
    threads = [threading.Thread(target=calls) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()";
    let run = counted(vec![script("a", GOOD), python("python", text)], 3);
    let cell = cell(&run, "python");
    if cell.status != Status::Measured {
        println!("skipped: {:?}", cell.status);
        return;
    }
    if !traced(&run) {
        return;
    }
    assert_eq!(by_name(cell).get("getppid"), Some(&3000.0), "{cell:?}");
    let all = syscalls(cell);
    assert!(all.len() >= 2 && all.iter().all(|n| (3000.0..6000.0).contains(n)), "{all:?}");
}

#[test]
fn counts_and_times_do_not_mix() {
    let run = counted(vec![script("a", GOOD)], 4);
    let cell = cell(&run, "a");
    assert_eq!((cell.n(Pass::Timing), cell.n(Pass::Counting)), (3, 2));
    for metric in ["wall_ns", "cpu_ns", "peak_rss_bytes", "own_ns"] {
        assert_eq!(cell.counted(metric).count(), 3, "{metric}");
    }
    for metric in ["wall_ns", "cpu_ns", "own_ns"] {
        let column = &cell.values[metric];
        let timed = cell.samples.iter().zip(column.iter()).filter(|(_, value)| !value.is_nan());
        assert!(timed.into_iter().all(|(sample, _)| sample.pass == Pass::Timing), "{metric}");
    }
    assert_eq!(cell.counted("counting_wall_ns").count(), 2);
}

#[test]
fn a_worker_knows_that_it_is_counted_and_may_count_itself() {
    let text = GOOD.replace(
        "own_ns=7",
        "${BYTELAB_COUNTING+allocations=12 arc_retains=3 cycles_of_its_own=3}",
    );
    let run = counted(vec![script("a", &text)], 2);
    let cell = cell(&run, "a");
    assert_eq!(cell.status, Status::Measured, "{:?}", run.notes);
    let allocations: Vec<f64> = cell.counted("allocations").map(|(_, n)| n).collect();
    assert_eq!(allocations, [12.0, 12.0], "{:?}", run.notes);
    assert_eq!(cell.counted("arc_retains").map(|(_, n)| n).collect::<Vec<_>>(), [3.0, 3.0]);
    assert_eq!(cell.values.get("cycles_of_its_own"), None, "no metric of this pass");
}

#[test]
fn counts_that_agree_are_not_taken_again() {
    let varies = GOOD.replace("prepare)", "prepare) i=0;").replace(
        "go)",
        "go) i=$((i + 1)); j=0; while [ $j -lt $i ]; do j=$((j + 1)); true </dev/null; done;",
    );
    let run = counted(vec![script("same", GOOD), script("again", GOOD)], 4);
    if traced(&run) {
        let taken = ["same", "again"].map(|name| cell(&run, name).n(Pass::Counting));
        assert_eq!(taken, [2, 2]);
        let run = counted(vec![script("varies", &varies)], 4);
        assert_eq!(cell(&run, "varies").n(Pass::Counting), 4);
    }
}

#[test]
fn no_counting_pass_is_no_counts() {
    let run = counted(vec![script("a", GOOD)], 0);
    let cell = cell(&run, "a");
    assert_eq!((cell.n(Pass::Counting), syscalls(cell).len()), (0, 0));
    assert!(run.notes.iter().all(|note| !note.to_string().contains("PMU")), "{:?}", run.notes);
}

#[test]
fn a_child_that_died_while_it_was_timed_is_not_counted() {
    let dies = job("[ -z \"${BYTELAB_COUNTING+x}\" ] && [ $n = 5 ] && exit 3");
    let run = counted(vec![script("a", GOOD), script("dies", &dies)], 3);
    let dies = cell(&run, "dies");
    assert!(matches!(dies.status, Status::Failed(_)), "{:?}", dies.status);
    assert!(dies.n(Pass::Timing) > 0 && dies.n(Pass::Counting) == 0, "{dies:?}");
    assert!(cell(&run, "a").n(Pass::Counting) > 0, "{:?}", run.notes);
}

#[test]
fn a_child_that_dies_while_it_is_counted_keeps_its_times() {
    let dies = |at: &str| {
        let death =
            format!("[ -n \"${{BYTELAB_COUNTING+x}}\" ] && {at} && echo tired >&2 && exit 3");
        GOOD.replace("go)", &format!("go) {death};")).replace("prepare)", "prepare) i=0;")
    };
    let at_once = dies("true");
    // Counts that differ are taken again.
    let more = "j=0; while [ $j -lt $i ]; do j=$((j + 1)); true </dev/null; done";
    let later = dies(&format!("i=$((i + 1)) && {{ {more}; }} && [ $i = 5 ]"));
    let never =
        GOOD.replace("echo \"hello", "[ -n \"${BYTELAB_COUNTING+x}\" ] && exit 4; echo \"hello");
    let methods = [("good", GOOD), ("once", &at_once), ("later", &later), ("never", &never)];
    let run = counted(methods.map(|(name, text)| script(name, text)).to_vec(), 5);
    assert!(run.complete);
    for (name, _) in methods {
        let cell = cell(&run, name);
        assert_eq!((&cell.status, cell.counted("wall_ns").count()), (&Status::Measured, 3));
        let reason = "the counting pass failed: ended with exit status";
        let of_method = |note: &&model::run::Warning| note.method.as_deref() == Some(name);
        let has_note =
            run.notes.iter().filter(of_method).any(|note| note.to_string().contains(reason));
        assert_eq!(has_note, name != "good", "{name}: {:?}", run.notes);
    }
    assert!(cell(&run, "good").n(Pass::Counting) >= 2);
    assert_eq!(cell(&run, "once").n(Pass::Counting), 0);
    assert!((1..5).contains(&cell(&run, "later").n(Pass::Counting)));
}

#[test]
fn a_command_is_counted_from_its_first_call_to_its_last() {
    let argv = ["/bin/cat", "/dev/null"].map(str::to_owned).to_vec();
    let command = method("cat", Execution::Command(Command::plain(argv.clone())));
    let run = counted(vec![script("a", GOOD), command], 5);
    if !traced(&run) {
        return;
    }
    let cat = cell(&run, "cat");
    let sum: f64 = by_name(cat).values().sum();
    let counted = syscalls(cat);
    assert!(counted.len() >= 2 && counted.iter().all(|n| (n - sum).abs() < 0.5), "{cat:?}");
    assert_eq!(by_name(cat).get("exit_group"), Some(&1.0), "{cat:?}");
    let Some(expected) = strace(&argv) else {
        println!("skipped: strace is not installed, or may not trace");
        return;
    };
    // strace also shows the execve that started the program, which still belongs to its starter,
    // and counts a call when it ends, which the last one never does.
    let mut ours = by_name(cat).clone();
    *ours.entry("execve".to_owned()).or_default() += 1.0;
    ours.remove("exit_group");
    assert_eq!(ours, expected);
}

/// A count, the allocations and a trace, then the same without the trace: no sample of a process of
/// its own can warm up another one.
#[test]
fn a_command_is_started_five_times_to_be_counted_twice() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let argv = ["/bin/sh", "-c", "echo >>$0", log.to_str().unwrap()];
    let command = || method("command", Execution::Command(Command::plain(argv)));
    let starts = || std::fs::read_to_string(&log).unwrap().len();
    let without = counted(vec![command()], 0);
    let of_timing = starts();
    std::fs::remove_file(&log).unwrap();
    let run = counted(vec![command()], 5);
    if !traced(&run) || !Sources::look().counts_syscalls() {
        return;
    }
    assert_eq!(cell(&run, "command").n(Pass::Timing), cell(&without, "command").n(Pass::Timing));
    assert_eq!(cell(&run, "command").n(Pass::Counting), 2, "{:?}", run.notes);
    assert!(cell(&run, "command").syscalls_by_name.is_some());
    assert_eq!(starts() - of_timing, 5);
}

#[test]
fn the_bytes_that_calls_return_are_counted() {
    let dd = |name: &str, count: &str| {
        let argv = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1000", count, "status=none"];
        method(name, Execution::Command(Command::plain(argv)))
    };
    let worker = script("worker", &job("dd if=/dev/zero of=/dev/null bs=1000 count=3 status=none"));
    let methods = vec![script("none", GOOD), dd("few", "count=7"), dd("many", "count=507"), worker];
    let run = counted(methods, 3);
    if !traced(&run) {
        return;
    }
    let bytes = |name: &str| -> Vec<f64> {
        cell(&run, name).counted("transferred_bytes").map(|(_, bytes)| bytes).collect()
    };
    assert!(!bytes("none").is_empty() && bytes("none").iter().all(|n| n.to_bits() == 0));
    assert!(!bytes("worker").is_empty() && bytes("worker")[0] >= 6000.0, "{:?}", bytes("worker"));
    let (few, many) = (bytes("few"), bytes("many"));
    // It reads its libraries, too, and both of them alike. As the bytes of the two differ, each
    // sample is traced.
    assert_eq!((few.len(), many.len()), (3, 3), "{few:?} {many:?}");
    assert!(few[0] >= 14_000.0, "{few:?}");
    let differences: Vec<f64> = many.iter().zip(&few).map(|(many, few)| many - few).collect();
    assert_eq!(differences, vec![1_000_000.0; differences.len()]);
}

/// Its job ends only when no process traces it any more, as one of very many calls ends on a busy
/// machine.
#[test]
fn a_sample_that_would_take_too_long_ends_untraced() {
    const UNTIL_UNTRACED: &str = r#"until [ "$tracer" = 0 ]; do
        while read -r key tracer; do [ "$key" != TracerPid: ] || break; done </proc/$$/status
    done; tracer="#;
    let check = |method: Method| {
        let mut launcher = Launcher { sample_limit_ns: 12_000_000_000, ..launcher() };
        let started = launcher.start_counting("", &method, &Sources::look(), false);
        let mut runner = started.unwrap();
        runner.prepare(&Point::default()).unwrap();
        runner.before(1).unwrap();
        let traced = runner.trace(1, 1, 0).unwrap();
        let why = traced.calls.unwrap_err();
        let expected = ["tracing each of its calls takes too long", "ptrace"];
        assert!(expected.iter().any(|expected| why.starts_with(expected)), "{why}");
        assert_eq!(traced.done.n, 1);
    };
    let command = Command::plain(["/bin/sh", "-c", UNTIL_UNTRACED]);
    std::thread::scope(|scope| {
        scope.spawn(|| check(script("worker", &job(UNTIL_UNTRACED))));
        scope.spawn(|| check(method("command", Execution::Command(command))));
    });
}

#[test]
fn each_call_that_has_ended_has_a_time() {
    let cat = Command::plain(["/bin/cat", "/dev/null"]);
    let mut launcher = launcher();
    let method = method("cat", Execution::Command(cat));
    let started = launcher.start_counting("", &method, &Sources::default(), false);
    let mut runner = started.unwrap();
    runner.prepare(&Point::default()).unwrap();
    runner.before(1).unwrap();
    let calls = match runner.trace(1, 1, 0).unwrap().calls {
        Ok(calls) => calls,
        Err(why) => {
            assert!(why.starts_with("ptrace"), "{why}");
            return;
        }
    };
    let ended = calls.by_name.keys().filter(|name| *name != "exit_group");
    assert!(ended.eq(calls.ns_by_name.keys()), "{calls:?}");
    assert!(calls.by_name.contains_key("exit_group"), "{calls:?}");
}

/// The counts of `strace -c`, by name.
fn strace(argv: &[String]) -> Option<BTreeMap<String, f64>> {
    let summary = tempfile::NamedTempFile::new().unwrap();
    #[expect(clippy::disallowed_methods, reason = "strace is no method of an experiment")]
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-c", "-U", "calls,name", "-o"]).arg(summary.path()).args(argv);
    let status = strace.stdin(std::process::Stdio::null()).status().ok()?;
    let text = std::fs::read_to_string(summary.path()).unwrap();
    let numbers = text.lines().filter_map(|line| {
        let (n, name) = line.trim().split_once(' ')?;
        Some((name.trim().to_owned(), n.parse::<f64>().ok()?))
    });
    let found: BTreeMap<String, f64> = numbers.filter(|(name, _)| name != "total").collect();
    (status.success() && !found.is_empty()).then_some(found)
}

#[test]
fn what_is_missing_has_a_reason() {
    let run = counted(vec![script("a", GOOD)], 1);
    let sources = Sources::look();
    for (metric, why) in sources.missing() {
        let about =
            |note: &model::run::Warning| note.to_string().starts_with(&format!("{metric}: "));
        let has_note = run.notes.iter().any(about);
        let had = cell(&run, "a").counted(metric).count() == 1;
        assert!(has_note || had, "{metric} is missing ({why}): {:?}", run.notes);
    }
}

#[test]
fn a_run_that_was_stopped_while_counting_is_resumed_there() {
    let methods = || vec![script("a", GOOD), script("b", GOOD)];
    let stop = Stop::default();
    let counting = Plan { counting: 4, ..plan(3) };
    let mut run = run_with(methods(), counting, &stop, |run, _| {
        if cell(run, "a").n(Pass::Counting) == 1 {
            stop.raise(2);
        }
    });
    assert!(!run.complete);
    go_on(&experiment(), &mut run, methods());
    assert!(run.complete, "{:?}", run.notes);
    for name in ["a", "b"] {
        let cell = cell(&run, name);
        assert_eq!((cell.n(Pass::Timing), cell.n(Pass::Counting)), (3, 2), "{name}");
        assert!(
            cell.samples.iter().all(|sample| sample.pass == Pass::Counting || sample.session == 0)
        );
    }
}

#[test]
fn the_peak_of_a_command_is_that_of_its_largest_process() {
    let dd = "dd if=/dev/zero of=/dev/null bs=67108864 count=1 2>/dev/null";
    let plain = ["dd", "if=/dev/zero", "of=/dev/null", "bs=67108864", "count=1"];
    let script = Command::script(format!("{dd}; {dd}"));
    let methods = vec![
        method("small", Execution::Command(Command::plain(["true"]))),
        method("plain", Execution::Command(Command::plain(plain))),
        method("script", Execution::Command(script)),
    ];
    let run = run(methods, Plan { counting: 2, ..plan(1) });
    let refused = |note: &model::run::Warning| note.to_string().starts_with("peak_rss_bytes: ");
    if let Some(note) = run.notes.iter().find(|note| refused(note)) {
        assert!(note.to_string().contains("ptrace"), "{}", note.to_string());
        return;
    }
    let peaks = |name: &str| -> Vec<f64> {
        cell(&run, name).counted("peak_rss_bytes").map(|(_, bytes)| bytes).collect()
    };
    assert_eq!([peaks("small").len(), peaks("plain").len(), peaks("script").len()], [2; 3]);
    let mib =
        |name| peaks(name).into_iter().map(|bytes| bytes / f64::from(1 << 20)).fold(0.0, f64::max);
    assert!(mib("small") < 32.0, "{:?}", peaks("small"));
    for name in ["plain", "script"] {
        assert!((64.0..96.0).contains(&mib(name)), "{name}: {:?}", peaks(name));
    }
}

fn why_no_peak(run: &Run, method: &str) -> Vec<String> {
    let of = |note: &&model::run::Warning| note.method.as_deref() == Some(method);
    let notes = run.notes.iter().filter(of).map(|note| note.to_string().clone());
    notes.filter(|text| text.starts_with("peak_rss_bytes: ")).collect()
}

#[test]
fn a_command_that_no_time_was_left_to_count_has_a_reason_for_its_peak() {
    let methods = vec![
        script("worker", GOOD),
        method("command", Execution::Command(Command::plain(["true"]))),
    ];
    let run = run(methods, Plan { counting: 2, time_limit_ns: 1, ..plan(1) });
    for name in ["worker", "command"] {
        assert_eq!((cell(&run, name).n(Pass::Timing), cell(&run, name).n(Pass::Counting)), (1, 0));
    }
    let why = why_no_peak(&run, "command");
    let start = "peak_rss_bytes: the time limit left no time to count; ";
    assert!(why.len() == 1 && why[0].starts_with(start), "{why:?}");
    let calls = |note: &&model::run::Warning| {
        note.missing_metric().is_some_and(|(metric, _)| metric == "syscalls")
    };
    let calls: Vec<_> = run.notes.iter().filter(calls).collect();
    let is_no_time = |note: &&model::run::Warning| {
        matches!(note.uncounted, Some(model::run::Uncounted::NoTime { .. }))
    };
    assert!(calls.len() == 2 && calls.iter().all(is_no_time), "{calls:?}");
    // Its peak is that of the timing pass.
    assert_eq!(why_no_peak(&run, "worker"), [""; 0]);
}

/// The peak at one size does not remove the reason why there is none at another.
#[test]
fn a_peak_that_is_known_at_one_point_is_explained_at_the_others() {
    let script = "if [ {size} = 2 ] && [ -n \"${BYTELAB_COUNTING+x}\" ]; then exit 3; fi";
    let execution = Execution::Command(Command::script(script));
    let at = |size: u64| {
        let mut point = Point::default();
        point.set("size", size);
        point
    };
    let measured = |points: Vec<Point>| {
        let mut method = method("command", execution.clone());
        method.reads = vec!["size"];
        let data: MakeData =
            Box::new(|point, _, _| Ok(Data { arguments: point.clone(), ..Data::default() }));
        let experiment = Experiment { data, ..experiment() };
        let job = MeasureJob { experiment: &experiment, methods: vec![method], least_sessions: 0 };
        let plan = Plan { counting: 2, ..plan(1) };
        let mut run = new_run(&job, points, plan, None);
        go(&job, &mut run, &Stop::default(), |_, _| {});
        run
    };
    let run = measured(vec![at(1)]);
    if !why_no_peak(&run, "command").is_empty() {
        return;
    }
    for points in [vec![at(1), at(2)], vec![at(2), at(1)]] {
        let run = measured(points);
        let peaks: Vec<usize> =
            run.cells.iter().map(|cell| cell.counted("peak_rss_bytes").count()).collect();
        assert!(peaks == [2, 0] || peaks == [0, 2], "{peaks:?} {:?}", run.notes);
        assert_eq!(why_no_peak(&run, "command").len(), 1, "{:?}", run.notes);
    }
}

//! Rounds of well-behaved children: order, metrics, batching, sessions, stop and resume.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use measure::experiment::{Command, Data, Execution, Experiment, Hooks, Method};
use measure::launch::Stop;
use measure::{MeasureJob, new_run, prepare_data};
use model::param::{Param, ParamKind, Point};
use model::run::{CacheState, Measure, Plan, Sample, Status};

use crate::script::{GOOD, cell, experiment, go, method, on_go, plan, run, run_with, script};

fn three() -> Vec<Method> {
    vec![script("a", GOOD), script("b", GOOD), script("c", GOOD)]
}

#[test]
fn every_method_is_measured_once_per_round() {
    let run = run(three(), plan(20));
    assert!(run.complete);
    for round in 0..21 {
        let slots: BTreeSet<u32> = run
            .cells
            .iter()
            .flat_map(|cell| cell.samples.iter().filter(|s| s.round == round).map(|s| s.slot))
            .collect();
        assert_eq!(slots, BTreeSet::from([0, 1, 2]), "round {round}");
    }
    assert!(run.cells.iter().all(|cell| cell.counted("wall_ns").count() == 20));
    let first: BTreeSet<u32> = cell(&run, "a").samples.iter().map(|s| s.slot).collect();
    assert_eq!(first.len(), 3, "the order changes from round to round");
}

#[test]
fn a_sample_has_the_childs_and_the_kernels_metrics() {
    let run = run(three(), plan(2));
    let cell = cell(&run, "b");
    assert_eq!(cell.language.as_deref(), Some("sh"));
    let value = |metric: &str| cell.counted(metric).map(|(_, value)| value).next();
    assert_eq!(value("wall_ns"), Some(2_000_000.0));
    assert_eq!(value("own_ns"), Some(7.0));
    assert_eq!(value("throughput_bytes_per_s"), Some(4000.0));
    assert!(value("cpu_ns").unwrap() > 0.0);
    // None where the next order comes before the worker, which gets no CPU, waits for it.
    assert!(value("voluntary_switches").is_some());
    let peak_bytes = value("peak_rss_bytes").unwrap();
    assert!((100e3..10e6).contains(&peak_bytes), "{peak_bytes}");
    assert_eq!(cell.samples[0].answer.as_deref(), Some("2a"));
    assert!(run.environment.facts.contains_key("between_samples_ns"));
}

#[test]
fn short_work_is_batched_until_the_clock_can_see_it() {
    let batch = on_go(
        r#"ops=${rest#ops=}; ops=${ops:-1}
           echo "done $n wall=$((ops * 5)) ops=$ops bytes=$((ops * 8))""#,
    );
    let single = batch.replace("ops=$ops bytes=$((ops * 8))", "bytes=8").replace("ops * 5", "5");
    let run = run(vec![script("batch", &batch), script("single", &single)], plan(2));
    let batch = cell(&run, "batch");
    assert!(batch.counted("wall_ns").all(|(s, ns)| s.ops >= 1000 && ns == 5.0), "{batch:?}");
    assert!(batch.samples.iter().any(|s| s.warm_up && s.ops == 1), "the search is kept as warm-up");
    let single = cell(&run, "single");
    assert!(single.counted("wall_ns").all(|(s, ns)| s.ops == 1 && ns == 5.0), "{single:?}");
}

#[test]
fn a_cold_start_does_not_decide_how_much_is_batched() {
    let fast = on_go(
        r#"ops=${rest#ops=}; ops=${ops:-1}; wall=$((ops * 5))
           [ $n = 1 ] && wall=FIRST
           echo "done $n wall=$wall ops=$ops bytes=$((ops * 8))""#,
    );
    let cold = script("cold", &fast.replace("FIRST", "900000"));
    let run = run(vec![cold, script("even", &fast.replace("FIRST", "5"))], plan(2));
    let ops = |name: &str| cell(&run, name).samples.last().unwrap().ops;
    assert!(ops("cold") >= 1000);
    assert_eq!(ops("cold"), ops("even"), "the methods of a point do equally many operations");
}

#[test]
fn each_session_has_fresh_processes() {
    let say_pid = GOOD.replace("own_ns=7", "pid=$$");
    let plan = Plan { sessions: 3, ..plan(2) };
    let run = run(vec![script("a", &say_pid)], plan);
    let seen: BTreeSet<(u32, u64)> =
        cell(&run, "a").counted("pid").map(|(s, pid)| (s.session, pid as u64)).collect();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert_eq!(seen.iter().map(|(_, pid)| pid).collect::<BTreeSet<_>>().len(), 3);
}

/// A worker that reports this pair as a metric of its own.
fn saying(pair: &str) -> String {
    GOOD.replace("own_ns=7", pair)
}

#[test]
fn every_round_of_a_command_is_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let shell = |text: String| ["/bin/sh", "-c", &text].map(str::to_owned).to_vec();
    let log = dir.path().join("log").display().to_string();
    let hooks = Hooks {
        setup: Some(Command::plain(shell(format!("echo setup >> {log}")))),
        ..Hooks::default()
    };
    let execution = Execution::Command(Command::plain(shell(format!("echo sample >> {log}"))));
    let execution = Execution::Hooked { execution: Box::new(execution), hooks };
    let run = run(vec![method("echo", execution)], Plan { sessions: 2, ..plan(3) });
    assert_eq!((run.plan.sessions, run.plan.rounds), (6, 1));
    let counted: Vec<u32> = cell(&run, "echo").counted("wall_ns").map(|(s, _)| s.session).collect();
    assert_eq!(counted, [0, 1, 2, 3, 4, 5]);
    let warm_up = cell(&run, "echo").samples.iter().filter(|s| s.warm_up && s.session > 0).count();
    assert_eq!(warm_up, 0, "a process that is new each time is warmed up once");
    let setups = std::fs::read_to_string(log).unwrap();
    assert_eq!(setups.lines().filter(|line| *line == "setup").count(), 1);
}

#[test]
fn beside_a_command_a_worker_has_one_round_in_each_session() {
    let cat = ["/bin/cat", "/dev/null"].map(str::to_owned).to_vec();
    let methods = vec![
        script("a", &saying("pid=$$")),
        method("cat", Execution::Command(Command::plain(cat))),
    ];
    let run = run(methods, Plan { sessions: 2, ..plan(2) });
    let pids: BTreeSet<u64> = cell(&run, "a").counted("pid").map(|(_, pid)| pid as u64).collect();
    assert_eq!(pids.len(), 4);
    for name in ["a", "cat"] {
        let sessions: Vec<u32> =
            cell(&run, name).counted("wall_ns").map(|(s, _)| s.session).collect();
        assert_eq!(sessions, [0, 1, 2, 3], "{name}");
    }
    let warmed = |name: &str| -> BTreeSet<u32> {
        let samples = cell(&run, name).samples.iter();
        samples.filter(|s| s.warm_up).map(|s| s.session).collect()
    };
    assert_eq!((warmed("a").len(), warmed("cat").len()), (4, 1));
}

#[test]
fn a_digest_is_taken_once() {
    let text =
        saying("digest_len=${#BYTELAB_DIGEST}").replace("echo ready", "echo ready digest=77");
    let run = run(vec![script("a", &text)], Plan { sessions: 3, ..plan(1) });
    let lengths: Vec<f64> = cell(&run, "a").counted("digest_len").map(|(_, n)| n).collect();
    assert_eq!(lengths, [0.0, 5.0, 5.0], "a later session knows that its digest is known");
    assert_eq!(cell(&run, "a").digest.as_deref(), Some("77"));
}

#[test]
fn a_method_is_given_what_it_reads_the_file_and_what_the_experiment_does_not_declare() {
    let says =
        GOOD.replace("echo ready", "echo \"digest=$n,$rest\" | tr ' ' , | sed 's/^/ready /'");
    let param = |name| Param { name, kind: ParamKind::Count(0, 9), default: "1", help: "" };
    let experiment = Experiment {
        params: ["file", "read", "unread"].map(param).to_vec(),
        data: Box::new(|_, _, _| {
            let mut arguments = Point::default();
            for name in ["file", "other", "read", "unread"] {
                arguments.set(name, 1u64);
            }
            Ok(Data { arguments, payload_bytes: Some(8), ..Data::default() })
        }),
        ..experiment()
    };
    let methods = vec![Method { reads: vec!["read"], ..script("a", &says) }];
    let job = MeasureJob { experiment: &experiment, methods, least_sessions: 0 };
    let mut run = new_run(&job, vec![Point::default()], plan(1), None);
    go(&job, &mut run, &Stop::default(), |_, _| {});
    assert_eq!(cell(&run, "a").digest.as_deref(), Some("file=1,other=1,read=1"));
}

#[test]
fn what_decides_is_chosen_after_the_first_session_and_kept() {
    let (mut seen, stop) = (Vec::new(), Stop::default());
    let sessions = Plan { sessions: 3, ..plan(2) };
    let mut run = run_with(three(), sessions, &stop, |run, _| {
        let session = run.cells.iter().flat_map(|cell| &cell.samples).map(|s| s.session).max();
        seen.push((session.unwrap(), run.plan.measures.len()));
        if session == Some(1) {
            stop.raise(15);
        }
    });
    seen.dedup();
    assert_eq!(seen, [(0, 0), (1, 1)]);
    assert_eq!(run.plan.measures[0].metric, "wall_ns");
    "as it was".clone_into(&mut run.plan.measures[0].why);
    crate::script::go_on(&crate::script::experiment(), &mut run, three());
    assert!(run.complete);
    assert_eq!(run.plan.measures[0].why, "as it was");
}

#[test]
fn the_time_limit_ends_the_rounds() {
    let run = run(three(), Plan { time_limit_ns: 1, ..plan(50) });
    assert!(run.complete);
    assert_eq!(cell(&run, "a").counted("wall_ns").count(), 1, "one round at least");
}

#[test]
fn a_command_is_timed_from_outside() {
    let argv = ["/bin/cat", "/dev/null"].map(str::to_owned).to_vec();
    let start_ns = measure::clock::now_ns();
    let run = run(
        vec![script("a", GOOD), method("cat", Execution::Command(Command::plain(argv)))],
        plan(3),
    );
    let all_ns = (measure::clock::now_ns() - start_ns) as f64;
    let cat = cell(&run, "cat");
    let value = |metric: &str| cat.counted(metric).map(|(_, value)| value).next();
    for metric in ["startup_ns", "wall_ns", "noop_ns"] {
        // No process starts in less than a microsecond.
        let ns = value(metric).unwrap();
        assert!((1000.0..all_ns).contains(&ns), "{metric} {ns}");
    }
    assert!(value("wall_ns").unwrap() > value("startup_ns").unwrap());
    assert!(value("cpu_ns").unwrap() > 0.0);
}

#[test]
fn a_process_that_does_nothing_is_timed_in_each_eighth_round() {
    let argv = ["/bin/cat", "/dev/null"].map(str::to_owned).to_vec();
    let methods = ["a", "b"]
        .map(|name| method(name, Execution::Command(Command::plain(argv.clone()))))
        .to_vec();
    let run = run(methods, plan(10));
    for name in ["a", "b"] {
        let timed = cell(&run, name).counted("noop_ns");
        let sessions: Vec<u32> = timed.map(|(sample, _)| sample.session).collect();
        assert_eq!(sessions, [0, 8], "{name}");
    }
}

#[test]
fn a_stop_keeps_what_was_measured_and_leaves_no_child() {
    let with_grandchild = GOOD.replace("while", "sleep 600 & while");
    let say_pid = with_grandchild.replace("own_ns=7", "pid=$$ sleeper=$!");
    let stop = Stop::default();
    let run =
        run_with(vec![script("a", &say_pid), script("b", GOOD)], plan(50), &stop, |run, _| {
            if cell(run, "b").samples.len() == 5 {
                stop.raise(15);
            }
        });
    assert!(!run.complete);
    assert_eq!(cell(&run, "b").samples.len(), 5);
    for metric in ["pid", "sleeper"] {
        let (_, pid) = cell(&run, "a").counted(metric).next().unwrap();
        // A killed process takes a moment to disappear.
        let gone = (0..1_000_000).any(|_| {
            std::thread::yield_now();
            !is_alive(pid as u32)
        });
        assert!(gone, "{metric} {pid} is still there");
    }
}

/// A killed process whose parent has ended may be a zombie until init reaps it.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

#[test]
fn a_resumed_run_takes_the_interrupted_session_again_whole() {
    let experiment = crate::script::experiment();
    let stop = Stop::default();
    let mut run = run_with(three(), Plan { sessions: 3, ..plan(6) }, &stop, |run, _| {
        let second = cell(run, "a").samples.iter().filter(|s| s.session == 1).count();
        if second == 3 {
            stop.raise(2);
        }
    });
    assert!(!run.complete);
    crate::script::go_on(&experiment, &mut run, three());
    assert!(run.complete);
    let rounds = |session: u32| {
        let counted = |s: &&Sample| s.session == session && s.counts();
        cell(&run, "a").samples.iter().filter(counted).count()
    };
    assert_eq!([0, 1, 2, 4].map(rounds), [6, 0, 6, 6]);
    let aside = cell(&run, "a").samples.iter().filter(|s| s.session == 1);
    assert!(aside.clone().count() >= 3, "they are kept");
    let mut reasons = aside.map(|s| s.not_counted.as_deref());
    assert!(reasons.all(|reason| reason == Some("its session was interrupted")));
}

#[test]
fn a_point_whose_file_does_not_fit_into_memory_is_skipped() {
    let experiment = Experiment {
        data: Box::new(|point, _, _| {
            let directory = tempfile::tempdir()?;
            let path = directory.path().join("data");
            // The large file is a hole.
            File::create(&path)?.set_len(point.number("size")?)?;
            Ok(Data { files: vec![path], guard: Some(Box::new(directory)), ..Data::default() })
        }),
        ..experiment()
    };
    let method = Method { reads: vec!["size"], ..script("a", GOOD) };
    let point = |size: u64| {
        let mut point = Point::default();
        point.set("size", size);
        point
    };
    let of_another = vec![Measure::default()];
    let plan = Plan { cache: CacheState::Warm, measures: of_another, ..plan(2) };
    let job = MeasureJob { experiment: &experiment, methods: vec![method], least_sessions: 0 };
    let mut run = new_run(&job, vec![point(4096), point(1 << 43)], plan.clone(), None);
    assert_eq!(run.plan.measures, []);
    go(&job, &mut run, &Stop::default(), |_, _| {});
    assert_eq!(run.cells[0].counted("wall_ns").count(), 2);
    let Status::Skipped(reason) = &run.cells[1].status else { panic!("{:?}", run.cells[1]) };
    assert!(reason.contains("8796093022208 bytes, more than the"), "{reason}");

    let mut alone = vec![point(1 << 43)];
    let dir = std::env::temp_dir();
    let refused = prepare_data(&experiment, &mut alone, &dir, plan.cache, &Ok, &Stop::default());
    assert!(refused.err().expect("nothing to measure").to_string().contains("cannot be warm"));
}

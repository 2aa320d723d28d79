//! Every sample in a new process.

use std::collections::BTreeSet;

use measure::experiment::{Command, Execution};
use model::run::{Pass, Plan, Status};

use crate::script::{GOOD, cell, method, plan, run, script};

fn fresh(rounds: u32) -> Plan {
    Plan { fresh: true, ..plan(rounds) }
}

#[test]
fn each_sample_has_a_process_of_its_own() {
    let reports = GOOD.replace("own_ns=7", "process=$$");
    let run = run(vec![script("a", &reports)], fresh(5));
    let cell = cell(&run, "a");
    let processes: BTreeSet<u64> = cell.values["process"].iter().map(|n| *n as u64).collect();
    assert_eq!(cell.counted("wall_ns").count(), 5);
    assert_eq!(processes.len(), cell.samples.len(), "warm-up samples, too");
    assert!(cell.samples.iter().all(|sample| sample.ops == 1), "each is the first");
    assert_eq!(cell.language.as_deref(), Some("sh"));
}

#[test]
fn start_up_first_touch_and_total_are_apart() {
    let start_ns = measure::clock::now_ns();
    let run = run(vec![script("a", GOOD)], fresh(3));
    let took_ns = (measure::clock::now_ns() - start_ns) as f64;
    let cell = cell(&run, "a");
    let column = |metric| -> Vec<f64> { cell.counted(metric).map(|(_, value)| value).collect() };
    assert_eq!(column("first_touch_ns"), column("wall_ns"));
    let [startup, prepare, touch, total] =
        ["startup_ns", "prepare_ns", "first_touch_ns", "total_ns"].map(column);
    for i in 0..3 {
        assert!(startup[i] > 0.0 && prepare[i] > 0.0);
        assert!(startup[i] + prepare[i] < took_ns, "{startup:?} {prepare:?} {took_ns}");
        assert_eq!(startup[i] + prepare[i] + touch[i], total[i]);
    }
}

#[test]
fn what_a_command_has_no_part_of_has_a_reason() {
    let command = method("true", Execution::Command(Command::plain(vec!["/bin/true".to_owned()])));
    let run = run(vec![script("a", GOOD), command], fresh(3));
    for metric in ["prepare_ns", "first_touch_ns", "total_ns"] {
        let text = format!("{metric}: a plain command is not prepared");
        let about = |note: &model::run::Warning| note.to_string().starts_with(&text);
        assert!(run.notes.iter().any(about), "{metric}: {:?}", run.notes);
    }
    assert_eq!(cell(&run, "true").counted("startup_ns").count(), 3);
}

#[test]
fn a_fresh_process_leaves_the_digest_out() {
    let digests = GOOD
        .replace(
            "prepare) echo ready",
            "prepare) [ -n \"$BYTELAB_FRESH\" ] && echo ready || echo ready digest=77",
        )
        .replace("own_ns=7", "fresh_set=${BYTELAB_FRESH+1}");
    let run = run(vec![script("a", &digests)], Plan { counting: 0, ..fresh(2) });
    let cell = cell(&run, "a");
    assert_eq!(cell.digest.as_deref(), Some("77"), "of the process that only prepares");
    assert_eq!(cell.status, Status::Measured);
    assert_eq!(cell.values["fresh_set"].iter().len(), cell.samples.len());
    assert!(cell.values["fresh_set"].iter().all(|n| *n == 1.0));
}

#[test]
fn a_process_that_does_not_start_ends_its_method_only() {
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("count");
    let dies = format!("echo x >>{0}; [ $(wc -l <{0}) -gt 6 ] && exit 3; {GOOD}", count.display());
    let missing =
        method("gone", Execution::Worker { argv: vec!["/nonexistent/worker".to_owned()] });
    let run = run(vec![script("a", GOOD), script("dies", &dies), missing], fresh(6));
    assert_eq!(cell(&run, "a").counted("wall_ns").count(), 6);
    assert!(
        matches!(&cell(&run, "dies").status, Status::Failed(why) if why.contains("exit status 3"))
    );
    assert!(cell(&run, "dies").n(Pass::Timing) < 6);
    assert!(matches!(&cell(&run, "gone").status, Status::Skipped(_)));
}

#[test]
fn an_old_plan_is_one_of_processes_that_live_long() {
    let mut old = serde_json::to_value(fresh(1)).unwrap();
    old.as_object_mut().unwrap().remove("fresh");
    let plan: Plan = serde_json::from_value(old).unwrap();
    assert!(!plan.fresh);
}

//! The warnings about a run's samples: each is one line with a doubt and a remedy. One kind of
//! doubt about many methods is one warning.

use std::collections::{BTreeMap, HashSet};

use super::findings::{Findings, percent, warn};
use super::look::sessions_needed;
use super::unusable::LeftRunning;
use super::wait::{WAIT_SHARE, has_time_without_wait, wait_share};
use super::{Comparison, Family, noise, undecided};
use crate::metric::{COUNTING_WALL, EXIT_CODE, WALL, WALL_LESS_WAIT};
use crate::run::{
    CacheState, Design, INTERRUPTED, Imported, Pass, Plan, Role, Run, STOPPED, SUSPENDED, Sample,
    Status, Warning, WarningKind,
};
use crate::stats::{self, LOOKS};

/// The name of the experiment that is made of typed commands.
const BENCH: &str = "bench";

/// From this number of families on, chance alone is likely to give a false verdict.
const FAMILIES_MANY: usize = 10;
/// The quota of the control group is a cause of waits from this share of its periods on in which it
/// was used up.
const THROTTLED_SHARE: f64 = 0.05;
/// A note is added if a hypervisor takes more than this share of the CPU time.
const STEAL_SHARE: f64 = 0.01;
/// A note is added if the wall time in the counting pass differs by more than this share, and by
/// more than sessions differ.
const COUNTING_SHARE: f64 = 0.02;

pub(super) fn warnings(
    run: &Run,
    wrong: &[Option<String>],
    families: &[Family],
    comparisons: &[Comparison],
) -> Vec<Warning> {
    let mut notes = Vec::new();
    imported(run, &mut notes);
    let wrong = wrong.iter().enumerate().filter_map(|(i, why)| Some((i, why.clone()?))).collect();
    let advice = "it does another job: do not use its times";
    warn(run, &WarningKind::WrongAnswer, advice, wrong, &mut notes);
    not_measured(run, &mut notes);
    replaced_references(run, families, &mut notes);
    not_counted(run, &mut notes);
    failed_runs(run, &mut notes);
    left_running(run, &mut notes);
    no_interval(run, comparisons, &mut notes);
    notes.extend(undecided::warning(run, comparisons));
    waiting(run, families, &mut notes);
    steal(run, &mut notes);
    counting_disturbs(run, &mut notes);
    noise::warnings(run, families, &mut notes);
    chance(families, &mut notes);
    notes.sort_by(|a, b| a.kind.cmp(&b.kind));
    notes
}

fn imported(run: &Run, notes: &mut Vec<Warning>) {
    let Some(Imported { tool, file }) = &run.plan.imported else { return };
    let machine =
        if run.environment.fingerprint.is_empty() { "the machine is not known; " } else { "" };
    let text = format!(
        "bytelab did not measure this, {tool} did; imported from {file}. {machine}methods were not \
         measured in rounds, so that there is no verdict between them: import five such files a side, \
         and compare the labels"
    );
    notes.push(Warning::new(WarningKind::Imported, text));
}

/// Methods that were skipped or failed for the same reason share a note.
fn not_measured(run: &Run, notes: &mut Vec<Warning>) {
    let mut reasons: BTreeMap<(WarningKind, &str), Findings> = BTreeMap::new();
    for (i, cell) in run.cells.iter().enumerate() {
        let kind = match &cell.status {
            Status::Measured => continue,
            Status::Skipped(reason) => WarningKind::Skipped(reason.clone()),
            Status::Failed(reason) => WarningKind::Failed(reason.clone()),
        };
        let advice =
            if cell.has_figures() { "its samples until then count" } else { "it has no verdict" };
        reasons.entry((kind, advice)).or_default().push((i, String::new()));
    }
    for ((kind, advice), found) in reasons {
        warn(run, &kind, advice, found, notes);
    }
}

fn replaced_references(run: &Run, families: &[Family], notes: &mut Vec<Warning>) {
    let mut seen = Vec::new();
    for family in families {
        let contender = |i: &&usize| run.cells[**i].role == Role::Contender;
        let (Some(first), Some(now)) = (family.cells.iter().find(contender), family.reference)
        else {
            continue;
        };
        if *first == now || seen.contains(&(*first, now)) {
            continue;
        }
        seen.push((*first, now));
        let [first, now] = [*first, now].map(|cell| run.cells[cell].method.as_str());
        let point = (families.len() > 1).then(|| family.point.clone());
        let text = format!("the reference cannot be compared with; {now} takes its place");
        let warning = Warning::new(WarningKind::Reference, text).of_method(first);
        notes.push(Warning { point, ..warning });
    }
}

/// Samples that do not count and that no other one of their round replaces. An interrupted session
/// is measured again when the run is resumed.
fn not_counted(run: &Run, notes: &mut Vec<Warning>) {
    let is_interrupted = |sample: &Sample| sample.not_counted.as_deref() == Some(INTERRUPTED);
    let mut only_pauses = true;
    let found = run.cells.iter().enumerate().filter_map(|(i, cell)| {
        let timed = |sample: &&Sample| {
            sample.pass == Pass::Timing && !sample.warm_up && !is_interrupted(sample)
        };
        let taken = || cell.samples.iter().filter(timed);
        if taken().all(|sample| sample.not_counted.is_none()) {
            return None;
        }
        let round = |sample: &Sample| (sample.session, sample.round);
        let counted: HashSet<(u32, u32)> = taken().filter(|s| s.counts()).map(round).collect();
        let lost = taken().filter(|sample| !counted.contains(&round(sample)));
        let reasons: Vec<&str> = lost.filter_map(|s| s.not_counted.as_deref()).collect();
        let first = reasons.first()?;
        only_pauses &= reasons.iter().all(|reason| [STOPPED, SUSPENDED].contains(reason));
        Some((i, format!("{} of {}, {first}", reasons.len(), taken().count())))
    });
    let found: Findings = found.collect();
    let advice = match run.plan.cache {
        _ if only_pauses => "they are kept, but in no number shown",
        CacheState::Warm => {
            "they are kept, but in no number shown; free memory, or measure with --cache as-is"
        }
        CacheState::Cold => "they are kept, but in no number shown; measure with --cache as-is",
        CacheState::AsIs => "they are kept, but in no number shown",
    };
    warn(run, &WarningKind::NotCounted, advice, found, notes);
}

/// Runs that failed and count. What was imported has notes of its own.
fn failed_runs(run: &Run, notes: &mut Vec<Warning>) {
    if run.plan.imported.is_some() {
        return;
    }
    let found = run.cells.iter().enumerate().filter_map(|(i, cell)| {
        let codes: Vec<i64> = cell.counted(EXIT_CODE).map(|(_, code)| code as i64).collect();
        let failed: Vec<i64> = codes.iter().copied().filter(|code| *code != 0).collect();
        let first = failed.first()?;
        let others = if failed.iter().any(|code| code != first) { " and others" } else { "" };
        Some((i, format!("{} of {}, exit code {first}{others}", failed.len(), codes.len())))
    });
    let advice = "they count, as the definition of the command says";
    warn(run, &WarningKind::FailedRuns, advice, found.collect(), notes);
}

/// Commands that leave processes running.
fn left_running(run: &Run, notes: &mut Vec<Warning>) {
    let found = |kept| {
        let cells = run.cells.iter().enumerate();
        let left = cells.filter_map(|(i, cell)| Some((i, LeftRunning::of(cell)?)));
        left.filter(move |(_, left)| left.kept == kept).map(|(i, left)| (i, left.to_string()))
    };
    let advice =
        "--wait-for-all measures until they have ended, --keep-running compares without them";
    warn(run, &WarningKind::LeftRunning, advice, found(false).collect(), notes);
    let advice = "the verdict is about what stands in the foreground";
    warn(run, &WarningKind::LeftRunning, advice, found(true).collect(), notes);
}

fn no_interval(run: &Run, comparisons: &[Comparison], notes: &mut Vec<Warning>) {
    if !run.in_rounds() {
        return;
    }
    let found = comparisons
        .iter()
        .filter(|c| c.decides && c.ratio.is_some() && c.low.is_none())
        .filter_map(|c| Some((c.cell, c.reason.clone()?)));
    warn(run, &WarningKind::NoVerdict, &more_sessions(run), found.collect(), notes);
}

/// How to get the sessions that a verdict takes: by the number that limited them, or by more time.
fn more_sessions(run: &Run) -> String {
    if !run.complete {
        return "the run was stopped: resume it".to_owned();
    }
    let needed = sessions_needed(run);
    let Plan { sessions, rounds, design, .. } = run.plan;
    if sessions as usize >= needed {
        return "give more --time".to_owned();
    }
    // One more than needed makes the intervals a third shorter.
    let enough = needed.max(LOOKS[0]);
    let is_of_bench = run.experiment == BENCH;
    match design {
        Design::Fixed if is_of_bench => format!("give -r {enough}"),
        Design::Fixed if rounds == 1 => format!("give --rounds {enough}"),
        Design::Fixed => format!("give --sessions {enough}"),
        Design::Sequential if is_of_bench => format!("give --max-runs {enough}"),
        Design::Sequential => format!("give --max-sessions {enough}"),
    }
}

/// The wait for a CPU: subtracted where that is possible for most methods of a table, else part of
/// the wall time.
fn waiting(run: &Run, families: &[Family], notes: &mut Vec<Warning>) {
    let (mut taken_out, mut left_in) = (Findings::new(), Findings::new());
    for (i, cell) in run.cells.iter().enumerate() {
        let Some(share) = wait_share(cell).filter(|share| *share > WAIT_SHARE) else { continue };
        let mut without = families.iter().filter(|f| f.metric == WALL_LESS_WAIT);
        let out = has_time_without_wait(cell) && without.clone().any(|f| f.cells.contains(&i));
        if !out && without.any(|f| f.compared.contains(&i) && !f.by_wall.contains(&i)) {
            // It has no ratio, for which there is a reason.
            continue;
        }
        let list = if out { &mut taken_out } else { &mut left_in };
        list.push((i, waited(share)));
    }
    let advice = "verdicts take this wait out (wall_less_wait_ns)";
    warn(run, &WarningKind::WaitTakenOut, advice, taken_out, notes);
    let quota =
        run.environment.facts.get("cgroup_throttled_share").and_then(serde_json::Value::as_f64);
    let (kind, advice) = if quota.is_some_and(|share| share > THROTTLED_SHARE) {
        let advice = "the quota of its control group is used up, and what it holds waits for the next \
                      period; give it a larger quota";
        (WarningKind::Throttled, advice)
    } else {
        let advice = "the wait is in the wall time, which decides what no wait can explain; measure on a \
                      quieter machine";
        (WarningKind::Waited, advice)
    };
    warn(run, &kind, advice, left_in, notes);
}

/// A thread cannot wait longer than the job takes: a larger value is that of several threads or,
/// where the wait is read from outside, includes the time around the job.
fn waited(share: f64) -> String {
    if share <= 1.0 {
        return format!("{} of its wall time", percent(share));
    }
    format!("{share:.1} times its wall time, in several threads or also before and after the job")
}

fn steal(run: &Run, notes: &mut Vec<Warning>) {
    let share = run.environment.facts.get("steal_share").and_then(serde_json::Value::as_f64);
    if let Some(share) = share.filter(|share| *share > STEAL_SHARE) {
        let text = format!(
            "the hypervisor took {} of the CPU time (steal): wall times hold it; measure at \
             another time, or on a machine that is not shared",
            percent(share)
        );
        notes.push(Warning::new(WarningKind::Steal, text));
    }
}

/// Counting took time, or the method worked differently in the counting pass: the difference is
/// larger than that between sessions.
fn counting_disturbs(run: &Run, notes: &mut Vec<Warning>) {
    let counted = run.cells.iter().filter(|cell| cell.counted(COUNTING_WALL).next().is_some());
    let alpha = noise::ALPHA / counted.count().max(1) as f64;
    let found = run.cells.iter().enumerate().filter_map(|(i, cell)| {
        let sessions = noise::by_session(&noise::logs_of(cell, WALL));
        let sessions: Vec<&[f64]> = sessions.iter().map(Vec::as_slice).collect();
        let counting = noise::by_session(&noise::logs_of(cell, COUNTING_WALL)).concat();
        let (difference, p) = stats::another_session(&sessions, &counting)?;
        let change = difference.exp_m1();
        let differs = p < alpha && change.is_finite() && change.abs() > COUNTING_SHARE;
        differs.then(|| (i, format!("{:+.0} % wall time", 100.0 * change)))
    });
    let advice = "counts are taken in it, times are not";
    warn(run, &WarningKind::CountingSpeed, advice, found.collect(), notes);
}

fn chance(families: &[Family], notes: &mut Vec<Warning>) {
    let n = families.iter().filter(|family| family.compared.len() > 1).count();
    if n >= FAMILIES_MANY {
        let text = format!(
            "{n} points were compared: chance alone gives a false verdict at about {:.0} of them; \
             measure a surprising one again",
            (n as f64 * 0.05).ceil()
        );
        notes.push(Warning::new(WarningKind::Chance, text));
    }
}

//! The warnings about a run's samples: each is one line with a doubt and a remedy. One kind of
//! doubt about many methods is one warning.

use std::collections::{BTreeMap, HashSet};

use model::metric::{COUNTING_WALL, EXIT_CODE, WALL, WALL_LESS_WAIT};
use model::run::{
    CacheState, Design, INTERRUPTED, Imported, Pass, Plan, Role, Run, STOPPED, SUSPENDED, Sample,
    Status, Warning, WarningKind,
};

use super::analysis::{Comparison, Family, LongerRun, Verdict};
use super::compare::sessions_needed;
use super::facts::{CellFacts, RunFacts, WAIT_SHARE};
use super::noise::{self, Findings, percent, warn};
use crate::stats::{self, LOOKS};

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

pub(crate) fn warnings(
    facts: &RunFacts<'_>,
    families: &[Family],
    comparisons: &[Comparison],
) -> Vec<Warning> {
    let mut notes = Vec::new();
    imported(facts.run, &mut notes);
    let wrong = facts.cells.iter().filter_map(|cell| Some((cell.index, cell.wrong.clone()?)));
    let advice = "it does another job: do not use its times";
    warn(facts.run, &WarningKind::WrongAnswer, advice, wrong.collect(), &mut notes);
    not_measured(facts.run, &mut notes);
    replaced_references(facts.run, families, &mut notes);
    not_counted(facts.run, &mut notes);
    failed_runs(facts, &mut notes);
    left_running(facts, &mut notes);
    no_interval(facts.run, comparisons, &mut notes);
    notes.extend(undecided(facts, comparisons));
    waiting(facts, families, &mut notes);
    steal(facts.run, &mut notes);
    counting_disturbs(facts, &mut notes);
    noise::warnings(facts, families, &mut notes);
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
        _ if only_pauses => "they are stored, but not used in any figure",
        CacheState::Warm => {
            "they are stored, but not used in any figure; free memory, or measure with --cache \
             as-is"
        }
        CacheState::Cold => {
            "they are stored, but not used in any figure; measure with --cache as-is"
        }
        CacheState::AsIs => "they are stored, but not used in any figure",
    };
    warn(run, &WarningKind::NotCounted, advice, found, notes);
}

/// Runs that failed and count. What was imported has notes of its own.
fn failed_runs(facts: &RunFacts<'_>, notes: &mut Vec<Warning>) {
    if facts.run.plan.imported.is_some() {
        return;
    }
    let found = facts.cells.iter().filter_map(|cell| {
        let codes: Vec<i64> = cell.values(EXIT_CODE).map(|code| code as i64).collect();
        let failed: Vec<i64> = codes.iter().copied().filter(|code| *code != 0).collect();
        let first = failed.first()?;
        let others = if failed.iter().any(|code| code != first) { " and others" } else { "" };
        let detail = format!("{} of {}, exit code {first}{others}", failed.len(), codes.len());
        Some((cell.index, detail))
    });
    let advice = "they count, because the definition of the command says so";
    warn(facts.run, &WarningKind::FailedRuns, advice, found.collect(), notes);
}

/// Commands that leave processes running.
fn left_running(facts: &RunFacts<'_>, notes: &mut Vec<Warning>) {
    let found = |kept| {
        let left = facts.cells.iter().filter_map(|cell| Some((cell.index, cell.left_running?)));
        left.filter(move |(_, left)| left.kept == kept).map(|(i, left)| (i, left.to_string()))
    };
    let advice =
        "--wait-for-all measures until they have ended, --keep-running compares without them";
    warn(facts.run, &WarningKind::LeftRunning, advice, found(false).collect(), notes);
    let advice = "the verdict covers only what runs in the foreground";
    warn(facts.run, &WarningKind::LeftRunning, advice, found(true).collect(), notes);
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
    let needed = sessions_needed(&run.plan);
    let Plan { sessions, rounds, design, .. } = run.plan;
    if sessions as usize >= needed {
        return "give more --time".to_owned();
    }
    let is_of_bench = run.is_bench();
    match design {
        Design::Fixed if is_of_bench => format!("give -r {needed}"),
        Design::Fixed if rounds == 1 => format!("give --rounds {needed}"),
        Design::Fixed => format!("give --sessions {needed}"),
        Design::Sequential if is_of_bench => format!("give --max-runs {needed}"),
        Design::Sequential => format!("give --max-sessions {needed}"),
    }
}

/// The wait for a CPU: subtracted where that is possible for most methods of a table, else part of
/// the wall time.
fn waiting(facts: &RunFacts<'_>, families: &[Family], notes: &mut Vec<Warning>) {
    let (mut taken_out, mut left_in) = (Findings::new(), Findings::new());
    for cell in &facts.cells {
        let i = cell.index;
        let Some(share) = cell.waits.share.filter(|share| *share > WAIT_SHARE) else { continue };
        let mut without = families.iter().filter(|f| f.metric == WALL_LESS_WAIT);
        let out = cell.waits.has_time_without && without.clone().any(|f| f.cells.contains(&i));
        if !out && without.any(|f| f.compared.contains(&i) && !f.by_wall.contains(&i)) {
            // It has no ratio, for which there is a reason.
            continue;
        }
        let list = if out { &mut taken_out } else { &mut left_in };
        list.push((i, waited(share)));
    }
    let run = facts.run;
    let advice = "verdicts leave this wait out (wall_less_wait_ns)";
    warn(run, &WarningKind::WaitTakenOut, advice, taken_out, notes);
    let quota =
        run.environment.facts.get("cgroup_throttled_share").and_then(serde_json::Value::as_f64);
    let (kind, advice) = if quota.is_some_and(|share| share > THROTTLED_SHARE) {
        let advice = "the quota of its control group is used up, and its processes wait for the \
                      next period; give it a larger quota";
        (WarningKind::Throttled, advice)
    } else {
        let advice = "the wait is in the wall time, so only a difference that it cannot explain \
                      has a verdict; measure on a quieter machine";
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
            "the hypervisor took {} of the CPU time (steal): wall times include it; measure at \
             another time, or on a machine that is not shared",
            percent(share)
        );
        notes.push(Warning::new(WarningKind::Steal, text));
    }
}

/// Counting took time, or the method worked differently in the counting pass: the difference is
/// larger than that between sessions.
fn counting_disturbs(facts: &RunFacts<'_>, notes: &mut Vec<Warning>) {
    let counted = facts.cells.iter().filter(|cell| cell.has(COUNTING_WALL));
    let alpha = noise::ALPHA / counted.count().max(1) as f64;
    let found = facts.cells.iter().filter_map(|cell| {
        let logs = |metric| noise::logs_of(cell, metric).collect::<Vec<_>>();
        let counting = noise::by_session(&logs(COUNTING_WALL)).concat();
        if counting.is_empty() {
            return None;
        }
        let sessions = noise::by_session(&logs(WALL));
        let sessions: Vec<&[f64]> = sessions.iter().map(Vec::as_slice).collect();
        let (difference, p) = stats::another_session(&sessions, &counting)?;
        let change = difference.exp_m1();
        let differs = p < alpha && change.is_finite() && change.abs() > COUNTING_SHARE;
        differs.then(|| (cell.index, format!("{:+.0} % wall time", 100.0 * change)))
    });
    let advice = "its counts are used, its times are not";
    warn(facts.run, &WarningKind::CountingSpeed, advice, found.collect(), notes);
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

// What a run could have shown of the methods that it leaves undecided, and what it takes to show
// less.

/// The number of methods that are named.
const NAMED_MAX: usize = 6;

/// A run of more sessions than these is not proposed.
const SESSIONS_MAX: u64 = 1000;

/// One warning about all comparisons that have an interval and decide nothing.
fn undecided(facts: &RunFacts<'_>, comparisons: &[Comparison]) -> Option<Warning> {
    let open = comparisons.iter().filter(|c| c.decides && c.verdict == Verdict::Undecided);
    let mut open: Vec<(f64, &Comparison)> = open
        .filter(|c| c.low.is_some() && c.reason.is_none())
        .filter_map(|c| Some((c.found_percent.filter(|percent| percent.is_finite())?, c)))
        .collect();
    open.sort_by(|a, b| a.0.total_cmp(&b.0));
    if open.is_empty() {
        return None;
    }
    let session_ns = session_ns(facts);
    let name = |comparison: &Comparison| {
        let alike = open.iter().filter(|(_, other)| other.method == comparison.method).count();
        let at = if alike > 1 { format!(" ({})", comparison.point) } else { String::new() };
        format!("{}{at}", comparison.method)
    };
    let of = |(found, comparison): &(f64, &Comparison)| {
        let digits = usize::from(*found < 9.5);
        let sessions = comparison.sessions_for_1_percent.unwrap_or(u64::MAX);
        let takes = takes(&facts.run.plan, sessions, session_ns);
        format!("{} {found:.digits$} % ({takes})", name(comparison))
    };
    let mut said: Vec<String> = open.iter().take(NAMED_MAX).map(of).collect();
    if open.len() > NAMED_MAX {
        said.push(format!("{} more", open.len() - NAMED_MAX));
    }
    let text = format!(
        "undecided; the difference that would have been found 4 times out of 5, and what 1 % takes: {}",
        said.join(", ")
    );
    Some(Warning::new(WarningKind::Undecided, text))
}

/// Finds the runs that would decide what is undecided.
pub(crate) fn find_longer_runs(facts: &RunFacts<'_>, comparisons: &mut [Comparison]) {
    let session_ns = session_ns(facts);
    for comparison in comparisons.iter_mut().filter(|c| c.verdict == Verdict::Undecided) {
        let needed = comparison.sessions_for_1_percent;
        let needed = needed.filter(|needed| *needed > comparison.sessions as u64);
        comparison.longer_run = needed.map(|needed| longer_run(facts.run, needed, session_ns));
    }
}

fn longer_run(run: &Run, sessions: u64, session_ns: Option<f64>) -> LongerRun {
    if sessions > SESSIONS_MAX {
        return LongerRun::NotHere;
    }
    let Plan { sessions: most, rounds, design, .. } = run.plan;
    let look = LOOKS.iter().map(|look| *look as u64).find(|look| *look >= sessions);
    LongerRun::Flag(match (look.filter(|_| !design.is_fixed()), session_ns, run.is_bench()) {
        (Some(look), _, true) if look > u64::from(most) => format!("--max-runs {look}"),
        (Some(look), _, false) if look > u64::from(most) => format!("--max-sessions {look}"),
        (Some(look), Some(ns), _) => format!("--time {}", duration(ns * look as f64 / 1e9)),
        (_, _, true) => format!("-r {sessions}"),
        (_, _, false) if rounds == 1 => format!("--rounds {sessions}"),
        (_, _, false) => format!("--sessions {sessions}"),
    })
}

/// What finding 1 % takes.
fn takes(plan: &Plan, sessions: u64, session_ns: Option<f64>) -> String {
    if sessions > SESSIONS_MAX {
        return "not on this machine".to_owned();
    }
    let last = LOOKS[LOOKS.len() - 1] as u64;
    let look = LOOKS.iter().map(|look| *look as u64).find(|look| *look >= sessions);
    let sessions = if plan.design.is_fixed() { Some(sessions) } else { look };
    let Some(sessions) = sessions else { return format!("over {last} sessions") };
    let time = session_ns.map(|ns| duration(ns * sessions as f64 / 1e9));
    match (time, plan.design.is_fixed()) {
        (None, _) => format!("{sessions} sessions"),
        (Some(time), true) => format!("{sessions} sessions, about {time}"),
        (Some(time), false) => format!("about --time {time}"),
    }
}

/// A time as `--time` takes it, with two digits at most.
fn duration(seconds: f64) -> String {
    let of = |value: f64, unit: &str| format!("{:.0}{unit}", value.ceil());
    match seconds {
        s if s <= 100.0 => of(s.max(1.0), "s"),
        s if s <= 6000.0 => of(s / 60.0, "m"),
        s if s <= 360_000.0 => of(s / 3600.0, "h"),
        s => of(s / 86_400.0, "d"),
    }
}

/// The mean time of a session of the methods that are there to the end, as far as it is in samples
/// and between them; none where there are none.
fn session_ns(facts: &RunFacts<'_>) -> Option<f64> {
    let between = facts.run.environment.facts.get("between_samples_ns");
    let between_ns = between.and_then(serde_json::Value::as_f64).unwrap_or_default();
    let of_cell = |cell: &CellFacts<'_>| {
        let walls = cell.stored.column(WALL);
        let timed = cell.stored.samples.iter().zip(walls.iter());
        let timed = timed.filter(|(s, ns)| s.pass == Pass::Timing && ns.is_finite());
        let ns: f64 = timed.map(|(s, ns)| ns * s.ops as f64 + between_ns).sum();
        let sessions = cell.sessions(WALL);
        (sessions > 0).then(|| ns / sessions as f64)
    };
    let stays = facts.cells.iter().filter(|cell| cell.stays());
    stays.filter_map(of_cell).reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Pair;
    use crate::tests::{cell, point, run};

    #[test]
    fn a_duration_is_rounded_up_in_the_unit_that_has_two_digits() {
        let table = [(0.0, "1s"), (99.2, "100s"), (101.0, "2m"), (6000.0, "100m"), (6001.0, "2h")];
        for (seconds, expected) in table.into_iter().chain([(360_000.0, "100h"), (360_001.0, "5d")])
        {
            assert_eq!(duration(seconds), expected, "{seconds}");
        }
    }

    /// Undecided comparisons of methods at the size of a point, with what they would have found.
    fn open(all: &[(&str, u64, f64)]) -> (Run, Vec<Comparison>) {
        let cells = all.iter().map(|(method, size, _)| {
            let mut cell = cell(method, []);
            cell.point = point(&[("size", *size)]);
            cell
        });
        let run = run(cells.collect());
        let facts = RunFacts::new(&run);
        let comparison = |(i, (_, _, found)): (usize, &(&str, u64, f64))| {
            let pair = Pair::new(&facts, &run.cells[i].point, [i, 0], 0.05);
            Comparison {
                low: Some(0.9),
                high: Some(1.1),
                reason: None,
                found_percent: Some(*found),
                sessions_for_1_percent: Some(10),
                ..pair.without_ratio(Verdict::Undecided, String::new())
            }
        };
        let comparisons = all.iter().enumerate().map(comparison).collect();
        (run, comparisons)
    }

    fn said(run: &Run, comparisons: &[Comparison]) -> Option<String> {
        let text = undecided(&RunFacts::new(run), comparisons)?.to_string();
        Some(text.split_once("1 % takes: ").unwrap().1.to_owned())
    }

    #[test]
    fn a_point_is_named_where_its_method_is_undecided_at_several() {
        let (run, found) = open(&[("a", 1, 9.5), ("b", 1, 2.0), ("a", 2, 9.4), ("c", 1, 12.0)]);
        let expected = "b 2.0 % (10 sessions), a (size=2) 9.4 % (10 sessions), \
                        a (size=1) 10 % (10 sessions), c 12 % (10 sessions)";
        assert_eq!(said(&run, &found).as_deref(), Some(expected));
        assert_eq!(said(&run, &found[1..2]).as_deref(), Some("b 2.0 % (10 sessions)"));
    }

    #[test]
    fn from_the_seventh_on_they_are_counted() {
        let all = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|method| (method, 1, 2.0));
        let more = |n: usize| {
            let (run, found) = open(&all[..n]);
            said(&run, &found).unwrap().split_once("f 2.0 % (10 sessions)").unwrap().1.to_owned()
        };
        assert_eq!([6, 7, 8].map(more), ["", ", 1 more", ", 2 more"]);
    }

    #[test]
    fn what_has_no_interval_or_a_reason_is_not_said_to_be_open() {
        let (run, mut found) = open(&[("a", 1, 2.0), ("b", 1, 2.0), ("c", 1, f64::INFINITY)]);
        found[0].low = None;
        found[1].reason = Some("a method waited".to_owned());
        assert_eq!(said(&run, &found), None);
    }

    #[test]
    fn a_longer_run_is_named_by_the_flag_of_its_command() {
        let of = |experiment: &str, design, rounds, most, sessions| {
            let mut run = run(Vec::new());
            run.experiment = experiment.to_owned();
            run.plan = Plan { design, rounds, sessions: most, ..run.plan.clone() };
            match longer_run(&run, sessions, Some(1e9)) {
                LongerRun::Flag(flag) => flag,
                LongerRun::NotHere => "not here".to_owned(),
            }
        };
        let (fixed, sequential) = (Design::Fixed, Design::Sequential);
        assert_eq!(of("bench", sequential, 1, 240, 100), "--time 2m");
        assert_eq!(of("bench", sequential, 1, 10, 100), "--max-runs 120");
        assert_eq!(of("reading", sequential, 5, 10, 100), "--max-sessions 120");
        assert_eq!(of("bench", sequential, 1, 240, 500), "-r 500");
        assert_eq!(of("bench", fixed, 1, 60, 500), "-r 500");
        assert_eq!(of("reading", fixed, 1, 60, 500), "--rounds 500");
        assert_eq!(of("reading", fixed, 5, 60, 1000), "--sessions 1000");
        assert_eq!(of("reading", fixed, 5, 60, 1001), "not here");
    }

    #[test]
    fn a_session_takes_its_operations_and_the_time_between_samples() {
        // Of 20 samples in two sessions one is not known: 19 of four operations of 100 ns and 50
        // ns between them.
        let mut cell = cell("a", [100.0; 20]);
        cell.samples.iter_mut().for_each(|sample| sample.ops = 4);
        cell.values.get_mut(WALL).unwrap().to_mut()[0] = f64::INFINITY;
        let mut run = run(vec![cell]);
        run.environment.facts.insert("between_samples_ns".to_owned(), 50.into());
        assert_eq!(session_ns(&RunFacts::new(&run)), Some(19.0 * 450.0 / 2.0));
    }
}

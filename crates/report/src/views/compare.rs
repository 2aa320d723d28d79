//! Two sides that are compared: what their environments differ by, the words of a check, and the
//! warnings.

use analysis::stats::RUNS_A_SIDE;
use analysis::{CheckLine, Effect, Outcome, RunComparison, Verdict};
use model::facts::{Difference, differences};
use model::param::Point;
use model::run::{Imported, Role, Run};

use super::table::Style;
use super::units::{self, ratio};
use super::{VaryingParams, words};
use crate::published::{self, Figure, PREFIX, Published};

/// Facts about the measuring process, which are irrelevant to a comparison.
pub(super) const OF_EACH_RUN: &str = "measured_";

/// The prefixes of momentary facts, which differ between any two runs.
pub(super) const OF_THE_MOMENT: [&str; 15] = [
    "between_samples_ns",
    "cgroup_throttled_share",
    "clock_cost_ns",
    "clock_step_ns",
    "cpu_frequency_now",
    "data_free_",
    "load_",
    "memory_available",
    "memory_cached",
    "memory_dirty",
    "memory_file_huge",
    "memory_free",
    "pressure_",
    "processes_",
    "steal_share",
];

/// A side as the user requested it, with its runs, of which there is at least one.
pub struct Side {
    /// `42`, `label btrfs`, `machine EPYC`.
    pub name: String,
    pub runs: Vec<Run>,
}

/// Differences between the first runs of the sides; variation among the runs of one side is listed
/// for that side.
pub(crate) fn different(a: &Side, b: &Side) -> Vec<Difference> {
    let all = differences(&a.runs[0].environment, &b.runs[0].environment);
    all.into_iter().filter(|difference| !difference.fact.starts_with(OF_EACH_RUN)).collect()
}

/// The ratios between which the true one is, or nothing if they are not known.
pub(crate) fn bounds(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => {
            format!("{}–{}", units::ratio(low, 3), units::ratio(high, 3))
        }
        _ => String::new(),
    }
}

/// The verdict in words; there is none where the runs are too few for an interval.
pub(crate) fn verdict_word(effect: &Effect) -> &'static str {
    match effect.verdict {
        Verdict::Undecided if effect.low.is_none() => "no verdict",
        verdict => verdict.word(),
    }
}

pub(crate) fn is_of_the_moment(difference: &Difference) -> bool {
    OF_THE_MOMENT.iter().any(|start| difference.fact.starts_with(start))
}

/// More methods than these are counted instead of named.
const METHODS_NAMED_MAX: usize = 8;

/// The result of the comparison of B with A, in one sentence.
pub(crate) fn answer(a: &Side, b: &Side, sides: &RunComparison) -> String {
    let contenders = sides.lines.iter().filter(|line| line.decides && line.role == Role::Contender);
    let points: Vec<&Point> = sides.lines.iter().map(|line| &line.point).collect();
    let varying = VaryingParams::of_points(&points);
    let (mut known, mut ratios) = (Vec::new(), Vec::new());
    let mut open = 0;
    for line in contenders {
        let effect = line.relative.as_ref().unwrap_or(&line.absolute);
        let name = format!("{}{}", line.method, varying.in_parentheses(&line.point));
        ratios.extend(line.absolute.ratio.map(|ratio| (ratio, name.clone())));
        match (effect.verdict, effect.ratio, effect.low, effect.high) {
            (Verdict::Undecided | Verdict::Missing | Verdict::WrongAnswer, ..) => open += 1,
            (verdict, Some(ratio), Some(low), Some(high)) => {
                let [ratio, low, high] = [ratio, low, high].map(|x| units::ratio(x, 2));
                known.push(format!("{name} {} ({ratio}, {low}–{high})", verdict.word()));
            }
            _ => open += 1,
        }
    }
    ratios.sort_by(|x, y| x.0.total_cmp(&y.0));
    let sides = format!("{} against {}", b.name, a.name);
    match (&known[..], &ratios[..]) {
        ([], [(least, of_least), .., (most, of_most)]) => format!(
            "{sides}: no verdict. It takes {} ({of_least}) to {} ({of_most}) times as much.",
            units::ratio(*least, 2),
            units::ratio(*most, 2)
        ),
        ([], [(ratio, name)]) => {
            format!("{sides}: no verdict. {name} takes {} times as much.", units::ratio(*ratio, 2))
        }
        ([], []) => format!("{sides}: nothing was measured on both."),
        (known, _) => {
            let more = known.len().saturating_sub(METHODS_NAMED_MAX);
            let mut parts = known[..known.len() - more].to_vec();
            parts.extend((more > 0).then(|| format!("and {more} more")));
            parts.extend((open > 0).then(|| format!("{open} undecided")));
            format!("{sides}: {}.", parts.join(", "))
        }
    }
}

/// The warnings, and the commands that would resolve them.
pub(crate) fn notes(a: &Side, b: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    if a.runs.len().min(b.runs.len()) < RUNS_A_SIDE {
        let more = |side: &Side| RUNS_A_SIDE.saturating_sub(side.runs.len());
        notes.push(format!(
            "no verdict: a difference between two runs at different times may come from the state \
             of the machine at those times, so a verdict takes {RUNS_A_SIDE} runs a side; run {} \
             more of A and {} more of B, minutes or days apart, each side with its --label, and \
             compare the labels",
            more(a),
            more(b)
        ));
    }
    for (letter, side) in [("A", a), ("B", b)] {
        let busy = side.runs.iter().filter_map(|run| Some((run, words::noise(run)?)));
        notes.extend(busy.map(|(run, noise)| format!("run {} of {letter}: {noise}", run.id)));
        for run in side.runs.iter().filter(|run| !run.complete) {
            notes.push(format!("run {} of {letter} is not complete: its samples are used", run.id));
        }
        let fingerprint = |run: &Run| run.environment.fingerprint.clone();
        if side.runs.iter().any(|run| fingerprint(run) != fingerprint(&side.runs[0])) {
            notes.push(format!("the runs of {letter} are of several machines or systems"));
        }
    }
    let machine = |side: &Side| side.runs[0].environment.fingerprint.clone();
    notes.extend(imported(a, b));
    notes.extend(ended_when_decided(a, b));
    let order = |side: &Side| {
        let started = || side.runs.iter().map(|run| run.started.as_str());
        Some((started().min()?.to_owned(), started().max()?.to_owned()))
    };
    if let (Some((first_a, last_a)), Some((first_b, last_b))) = (order(a), order(b))
        && machine(a) == machine(b)
        && a.runs.len().min(b.runs.len()) >= RUNS_A_SIDE
        && (last_a < first_b || last_b < first_a)
    {
        notes.push(
            "all of one side was measured before all of the other, so changes of the machine are \
             part of the difference; if both can be measured at one time, alternate them, or make \
             them methods of one run"
                .to_owned(),
        );
    }
    notes
}

/// Which values bytelab did not measure itself, and whether both sides are from one machine.
fn imported(a: &Side, b: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    for (letter, side) in [("A", a), ("B", b)] {
        let imported = side.runs.iter().filter_map(|run| Some((run, run.plan.imported.as_ref()?)));
        let (mut runs, mut tools) = (Vec::new(), Vec::new());
        for (run, Imported { tool, .. }) in imported {
            runs.push(run.id.as_str());
            if !tools.contains(&tool.as_str()) {
                tools.push(tool.as_str());
            }
        }
        if !runs.is_empty() {
            let what = if runs.len() == 1 { "run" } else { "runs" };
            let (runs, tools) = (runs.join(", "), tools.join(", "));
            notes.push(format!("bytelab did not measure {what} {runs} of {letter}: {tools} did"));
        }
    }
    let runs = || a.runs.iter().chain(&b.runs);
    if notes.is_empty() {
        return notes;
    }
    let fingerprint = |run: &Run| run.environment.fingerprint.clone();
    let first = fingerprint(&a.runs[0]);
    if runs().any(|run| fingerprint(run).is_empty()) {
        notes.push(
            "the machine of an imported run is not known: it may be another one, and then the \
             difference between the machines is part of the ratios"
                .to_owned(),
        );
    } else if runs().any(|run| fingerprint(run) != first) {
        notes.push(
            "according to the files, the machines are not the same: the difference between them \
             is part of the ratios"
                .to_owned(),
        );
    }
    notes
}

/// Which runs ended because of their results, which makes small differences larger than they are.
fn ended_when_decided(a: &Side, b: &Side) -> Option<String> {
    let flag = if a.runs[0].is_bench() { "--runs" } else { "--rounds" };
    let runs = a.runs.iter().chain(&b.runs).filter(|run| !run.plan.design.is_fixed());
    let ids: Vec<&str> = runs.map(|run| run.id.as_str()).collect();
    let runs = if ids.len() == 1 { "run" } else { "runs" };
    (!ids.is_empty()).then(|| {
        format!(
            "{runs} {} ended when all was decided, where a small difference that is found early is \
             shown larger than it is: measure the runs of both sides with {flag}",
            ids.join(", ")
        )
    })
}

/// The two sides of a check.
pub struct Sides<'a> {
    pub against: CheckBaseline<'a>,
    /// The runs that were measured by this check.
    pub now: Vec<&'a str>,
    /// The other load of the machine in each run of both sides, where it was high.
    pub busy: Vec<String>,
}

pub enum CheckBaseline<'a> {
    /// The name as the user gave it, and the id of the run.
    Baseline { name: &'a str, id: &'a str },
    /// The old side, which was measured in the same rounds.
    Old(&'a str),
}

pub(crate) fn outcome_word(outcome: Outcome) -> (&'static str, Style) {
    match outcome {
        Outcome::Ok => ("ok", Style::Green),
        Outcome::Faster => ("faster", Style::Green),
        Outcome::Slower => ("slower", Style::Red),
        Outcome::Undecided => ("undecided", Style::Plain),
        Outcome::Missing => ("failed", Style::Red),
        Outcome::Reference => ("reference", Style::Dim),
    }
}

pub(crate) fn against(sides: &Sides<'_>) -> String {
    let runs = if sides.now.len() == 1 { "run" } else { "runs" };
    let now = sides.now.join(" and ");
    match sides.against {
        CheckBaseline::Baseline { name, id } if name == id => {
            format!(" ({runs} {now} against run {id})")
        }
        CheckBaseline::Baseline { name, id } => format!(" ({runs} {now} against {name}, run {id})"),
        CheckBaseline::Old(old) => format!(" ({runs} {now}, in the same rounds as {old})"),
    }
}

/// `0.995–1.030 at 95 %`; a count has none.
pub(crate) fn interval(line: &CheckLine) -> Option<String> {
    let (low, high) = line.low.zip(line.high)?;
    let level = line.level?;
    // 99.75 % must not be shown as 100 %.
    let level = 100.0 * level;
    let digits = usize::from(level > 95.05) + usize::from(level > 99.05);
    Some(format!("{}–{} at {level:.digits$} %", ratio(low, 3), ratio(high, 3)))
}

// A side of a comparison with published results: figures of different machines, for orientation
// only.

/// A side: its name, its machine, and its figures.
pub struct SideFigures {
    pub name: String,
    pub machine: String,
    pub figures: Vec<Figure>,
    /// For a published result: its source, and its known defects.
    pub published: Option<(&'static str, &'static str)>,
}

impl SideFigures {
    pub fn from_published(published: Published) -> SideFigures {
        SideFigures {
            name: format!("{PREFIX}{}", published.name),
            machine: published.machine,
            figures: published.figures,
            published: Some((published.source, published.caveat)),
        }
    }

    pub fn p50(&self, method: &str, metric: &str) -> Option<f64> {
        published::p50(&self.figures, method, metric)
    }
}

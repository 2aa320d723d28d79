//! The answer to the experiment's question, in one sentence: what is fastest, by how much, and with
//! what certainty; or that there is no answer, and why.

use std::fmt;

use analysis::{Comparison, Doubt, Family, LongerRun, Overall, Verdict};
use model::metric::{CPU, PEAK_RSS, unit};

use super::VaryingParams;
use super::rows::{Row, Rows, WALL, WALL_LESS_WAIT, is_kept_back, is_without_interval};
use super::units::{amount, ns, percent, ratio as times};

/// The answer for one family.
pub(crate) fn of_family(rows: &Rows<'_>) -> String {
    let sentences = [unusable(rows), compared(rows), ahead(rows), without_verdict(rows)].concat();
    let sentences = sentences.trim();
    let wrong: Vec<&str> =
        rows.contenders.iter().filter(|row| row.wrong()).map(Row::name).collect();
    if wrong.is_empty() {
        return sentences.to_owned();
    }
    format!("{sentences} Out, for a wrong answer: {}.", wrong.join(", "))
}

/// The method that is shown to be the fastest, by its index into the cells of the run.
pub(crate) fn fastest(rows: &Rows<'_>) -> Option<usize> {
    Ranking::new(rows).fastest().map(|row| row.index)
}

/// The answer for several families together: which method is fastest at which of the points, or at
/// how many of them.
pub(crate) fn of_all(all: &[Rows<'_>], varying: &VaryingParams<'_>) -> String {
    if all.is_empty() {
        return "Nothing was measured.".to_owned();
    }
    let mut fastest: Vec<(&str, Vec<String>)> = Vec::new();
    let mut open = Vec::new();
    for rows in all {
        let at = varying.shown(&rows.family.point);
        match Ranking::new(rows).fastest() {
            Some(row) => match fastest.iter_mut().find(|(name, _)| *name == row.name()) {
                Some((_, points)) => points.push(at),
                None => fastest.push((row.name(), vec![at])),
            },
            None => open.push(at),
        }
    }
    if fastest.is_empty() {
        return format!("No method is shown to be the fastest at any of {} points.", all.len());
    }
    if let ([(name, points)], true) = (&fastest[..], open.is_empty())
        && points.len() > 1
    {
        return format!("Fastest at all {} points: {name}.", points.len());
    }
    fastest.sort_by_key(|(_, points)| std::cmp::Reverse(points.len()));
    let points_text = |points: &[String]| match points.len() {
        n if n > POINTS_NAMED_MAX => format!("{n} of {} points", all.len()),
        _ => points.join("; "),
    };
    let mut parts: Vec<String> =
        fastest.iter().map(|(name, points)| format!("{name} ({})", points_text(points))).collect();
    if !open.is_empty() {
        parts.push(format!("none shown ({})", points_text(&open)));
    }
    format!("Fastest by point: {}.", parts.join(", "))
}

/// More methods than these are left out of the sentence.
const METHODS_NAMED_MAX: usize = 8;

/// The geometric mean of each method over all points; empty where there is none.
pub(crate) fn over_points(all: &[Overall]) -> String {
    let Some(first) = all.first() else { return String::new() };
    let method_text = |one: &Overall| match (one.low, one.high) {
        (Some(low), Some(high)) => {
            let decimals = if high - low < 0.05 { 3 } else { 2 };
            let [ratio, low, high] = [one.ratio, low, high].map(|x| times(x, decimals));
            format!("{} takes {ratio} ({low}–{high})", one.method)
        }
        _ => format!("{} takes {} (no interval)", one.method, times(one.ratio, 2)),
    };
    let shown: Vec<String> = all.iter().take(METHODS_NAMED_MAX).map(method_text).collect();
    let more = match all.len().saturating_sub(METHODS_NAMED_MAX) {
        0 => String::new(),
        n => format!(", and {n} more (--json has all)"),
    };
    let time =
        if first.metric == WALL_LESS_WAIT { "time without the wait for a CPU" } else { "time" };
    format!(
        "Over all {} points, of the {time} of {}: {}{more}.",
        first.points,
        first.reference,
        shown.join(", ")
    )
}

/// More points than these are counted instead of named.
const POINTS_NAMED_MAX: usize = 3;

/// How the compared methods of a family relate to the reference.
struct Ranking<'r, 'a> {
    rows: &'r Rows<'a>,
    reference: Option<&'r Row<'a>>,
    /// The compared methods except the reference, by their ratio.
    others: Vec<(&'r Row<'a>, &'a Comparison, f64)>,
}

impl<'r, 'a> Ranking<'r, 'a> {
    fn new(rows: &'r Rows<'a>) -> Self {
        let mut others: Vec<_> = (rows.contenders.iter())
            .filter(|row| !row.wrong() && !rows.is_reference(row))
            .filter_map(|row| {
                let comparison = row.comparison?;
                let ratio = comparison.ratio.filter(|ratio| ratio.is_finite())?;
                let decided =
                    !matches!(comparison.verdict, Verdict::Missing | Verdict::WrongAnswer);
                decided.then_some((row, comparison, ratio))
            })
            .collect();
        others.sort_by(|a, b| a.2.total_cmp(&b.2));
        Ranking { rows, reference: rows.reference(), others }
    }

    /// The winner, if it is not the reference: the method with the lowest ratio of those that are
    /// faster and may be the best.
    fn faster(&self) -> Option<&(&'r Row<'a>, &'a Comparison, f64)> {
        let winner = self.rows.family.best.first();
        self.shown_faster().find(|(row, ..)| winner.is_none_or(|winner| *winner == row.index))
    }

    fn shown_faster(&self) -> impl Iterator<Item = &(&'r Row<'a>, &'a Comparison, f64)> {
        self.others.iter().filter(|(_, c, _)| c.verdict == Verdict::Faster)
    }

    fn all(&self, verdict: Verdict) -> bool {
        !self.others.is_empty() && self.others.iter().all(|(_, c, _)| c.verdict == verdict)
    }

    /// The methods whose intervals may include 1.
    fn open(&self) -> impl Iterator<Item = &(&'r Row<'a>, &'a Comparison, f64)> {
        self.others.iter().filter(|(_, c, _)| c.verdict == Verdict::Undecided && !is_kept_back(c))
    }

    fn fastest(&self) -> Option<&'r Row<'a>> {
        let reference_wins = self.all(Verdict::Slower);
        self.faster().map(|(row, ..)| *row).or(self.reference.filter(|_| reference_wins))
    }

    /// `; not shown slower: mmap; undecided beside it: go-read`, for the methods that are not shown
    /// to be slower than the winner.
    fn beside_the_winner(&self) -> String {
        let Family { best, undecided, .. } = self.rows.family;
        let names = |cells: &[usize]| {
            let names = cells.iter().filter_map(|index| Some(self.rows.get(*index)?.name()));
            names.collect::<Vec<_>>().join(", ")
        };
        let list = |what: &str, names: String| match names.as_str() {
            "" => names,
            names => format!("; {what}: {names}"),
        };
        list("not shown slower", names(best.get(1..).unwrap_or_default()))
            + &list("undecided beside it", names(undecided))
    }
}

/// `daemon.sh left 1 process running after 6 of 6 runs; what it does is in no figure. `, for those
/// that cannot be compared, and for those whose processes were kept.
fn unusable(rows: &Rows<'_>) -> String {
    let kept = |row: &Row<'_>| row.summary?.left_running.filter(|left| left.kept);
    let why = |row: &Row<'_>| match row.unusable() {
        Some(why) => Some(why.to_string()),
        None => kept(row).map(|left| left.to_string()),
    };
    let told = rows.contenders.iter().filter_map(|row| Some((row.name(), why(row)?)));
    told.fold(String::new(), |text, (name, why)| text + name + " " + &why + ". ")
}

fn compared(rows: &Rows<'_>) -> String {
    let ranking = Ranking::new(rows);
    let Some(reference) = ranking.reference else {
        return alone(rows);
    };
    if let Some((row, comparison, ratio)) = ranking.faster() {
        return faster(&ranking, reference, row, comparison, *ratio);
    }
    let name = reference.name();
    let Some((next, comparison, ratio)) = ranking.others.first() else {
        return alone(rows);
    };
    if ranking.all(Verdict::Slower) {
        let more = difference(comparison, *ratio, "");
        return format!(
            "Fastest here: {name}, the reference; the next, {}, takes {more}.",
            next.name()
        );
    }
    if ranking.all(Verdict::Same) {
        let all = match ranking.others.len() {
            1 => next.name().to_owned() + " takes",
            n => format!("All {n} others take"),
        };
        return format!("{all} the same time as {name}, within {} %.", rows.margin_percent);
    }
    if ranking.all(Verdict::Undecided) {
        let open: Vec<&str> = ranking.open().map(|(row, ..)| row.name()).collect();
        if !open.is_empty() && ranking.open().all(|(_, one, _)| is_without_interval(one)) {
            let all = open.len() == ranking.others.len();
            let of = if all { String::new() } else { format!(" on {}", open.join(", ")) };
            return format!("No verdict{of}{}.", why_undecided(&ranking, "one"));
        }
        let of = match (open.len(), ranking.others.len()) {
            (0, 1) => return String::new(),
            (0, _) => return format!("No method is shown to be faster or slower than {name}."),
            (open, all) if open == all => String::new(),
            _ => format!(" of {}", open.join(", ")),
        };
        let found = why_undecided(&ranking, "one");
        return format!("No difference{of} to {name} can be shown{found}.");
    }
    let found = why_undecided(&ranking, "a difference");
    let others = ranking.beside_the_winner();
    if let Some((row, ..)) = ranking.shown_faster().next() {
        return format!(
            "No method is shown to be the fastest: {} is faster than {name}, the reference, and slower than \
             another one{others}{found}.",
            row.name()
        );
    }
    format!("No method is shown faster than {name}, the reference{others}{found}.")
}

fn faster(
    ranking: &Ranking<'_, '_>,
    reference: &Row<'_>,
    row: &Row<'_>,
    comparison: &Comparison,
    ratio: f64,
) -> String {
    let than = format!(" than {}", reference.name());
    let peak = row.p50("peak_rss_bytes").map(|peak| amount("bytes", peak.value));
    let parts = [
        format!("Fastest here: {} — {}", row.name(), difference(comparison, ratio, &than)),
        peak.map(|peak| format!(", in {peak} of memory")).unwrap_or_default(),
        if comparison.below_relevance {
            format!("; a difference below {} %", ranking.rows.margin_percent)
        } else {
            String::new()
        },
        ranking.beside_the_winner(),
    ];
    parts.concat() + "."
}

/// `31 % less time than read (95 % interval 28–34 %)`. After Kalibera and Jones: the ratio of the
/// times, expressed as a relative difference.
fn difference(comparison: &Comparison, ratio: f64, than: &str) -> String {
    let sign = if ratio <= 1.0 { -1.0 } else { 1.0 };
    let change = |ratio: f64| sign * 100.0 * (ratio - 1.0);
    let word = if sign < 0.0 { "less" } else { "more" };
    let wait = match comparison {
        _ if comparison.beside_load => ", beside this load",
        _ if comparison.metric == WALL_LESS_WAIT => ", without the wait for a CPU",
        _ => "",
    };
    let (Some(low), Some(high)) = (comparison.low, comparison.high) else {
        if ratio >= MANIFOLD {
            let times = times(ratio, 1);
            return format!("{times} times the time (no interval{wait})");
        }
        let change = percent(change(ratio), 0.5);
        return format!("{change} % {word} time{than} (no interval{wait})");
    };
    if ratio >= MANIFOLD {
        let [ratio, low, high] = [ratio, low, high].map(|x| times(x, 1));
        return format!("{ratio} times the time (95 % interval {low}–{high}{wait})");
    }
    let (from, to) = (change(low).min(change(high)), change(low).max(change(high)));
    let width = to - from;
    let [change, from, to] = [change(ratio), from, to].map(|x| percent(x, width));
    let to_word = if from.starts_with('-') || to.starts_with('-') { " to " } else { "–" };
    format!("{change} % {word} time{than} (95 % interval {from}{to_word}{to} %{wait})")
}

/// From this ratio on, percentages are hard to read.
const MANIFOLD: f64 = 10.0;

/// The differences that the undecided comparisons could have detected, or why they decide nothing.
fn why_undecided(ranking: &Ranking<'_, '_>, what: &str) -> String {
    let stated =
        || ranking.open().find_map(|(_, comparison, _)| Reason::from_comparison(comparison));
    let open = ranking.open().map(|(row, comparison, _)| (row.name(), *comparison));
    match (Reason::not_found(open), stated()) {
        (Some(not_found), _) => format!("; {what} of {not_found}"),
        (None, Some(reason)) => format!(": {reason}"),
        (None, None) => String::new(),
    }
}

/// Methods of which one thing is said: whether a difference was found; and why it is not trusted,
/// or why there is none.
type WithoutVerdict<'a> = ((bool, Option<Reason<'a>>), Vec<&'a Row<'a>>);

/// ` In doubt is sleep, 38.0 times the time (95 % interval 28.1–51.2) beside this load: …`, for the
/// differences that were found and are not trusted; ` No verdict on mmap: …` for what was measured
/// and could not be compared. The methods that share a reason are named together.
fn without_verdict(rows: &Rows<'_>) -> String {
    let mut all: Vec<WithoutVerdict<'_>> = Vec::new();
    let others = rows.contenders.iter().filter(|row| !row.wrong() && !rows.is_reference(row));
    for row in others.filter(|row| row.unusable().is_none()) {
        let Some(comparison) = row.comparison else { continue };
        let missing = comparison.verdict == Verdict::Missing
            && comparison.reason.is_some()
            && row.p50(WALL).is_some();
        let is_in_doubt = is_kept_back(comparison);
        if !missing && !is_in_doubt {
            continue;
        }
        let why = (is_in_doubt, Reason::from_comparison(comparison));
        match all.iter_mut().find(|(known, _)| *known == why) {
            Some((_, of)) => of.push(row),
            None => all.push((why, vec![row])),
        }
    }
    let sentence = |((is_in_doubt, reason), of): &WithoutVerdict<'_>| {
        let names: Vec<&str> = of.iter().map(|row| row.name()).collect();
        let load = match reason {
            Some(Reason::Doubt(Doubt::Wait | Doubt::UnknownWait)) => " beside this load",
            _ => "",
        };
        let size = match of.as_slice() {
            [row] => row
                .comparison
                .and_then(|one| Some(format!(", {}{load}", difference(one, one.ratio?, "")))),
            _ => None,
        };
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let what = match (*is_in_doubt, of.len()) {
            (true, 1) => "In doubt is",
            (true, _) => "In doubt are",
            (false, _) => "No verdict on",
        };
        format!(" {what} {}{}{reason}.", names.join(", "), size.unwrap_or_default())
    };
    all.iter().map(sentence).collect()
}

/// What is this much less is worth a word.
const AHEAD: f64 = 0.9;

/// ` Less memory: read, 2.1 MiB. Less CPU time: mmap, 5 ms.`: what others need less of than the
/// fastest does, each with the method that needs the least.
fn ahead(rows: &Rows<'_>) -> String {
    let Some(fastest) = Ranking::new(rows).fastest() else { return String::new() };
    let least = |metric: &'static str, what: &str| {
        let own = fastest.p50(metric)?.value;
        let others = rows.contenders.iter().filter(|row| !row.wrong() && row.unusable().is_none());
        let others = others.filter_map(|row| Some((row.p50(metric)?.value, row.name())));
        let (value, name) = others.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let shown = amount(unit(metric), value);
        (value < AHEAD * own).then(|| format!(" Less {what}: {name}, {shown}."))
    };
    let said = [least(PEAK_RSS, "memory"), least(CPU, "CPU time")];
    said.into_iter().flatten().collect()
}

/// If there is nothing to compare: the measured values.
fn alone(rows: &Rows<'_>) -> String {
    let measured = (rows.contenders.iter()).filter(|row| !row.wrong() && row.p50(WALL).is_some());
    let right: Vec<&Row<'_>> = measured.clone().filter(|row| row.unusable().is_none()).collect();
    let others = if measured.count() > right.len() { " so that it can be compared" } else { "" };
    let time = |row: &Row<'_>| {
        let Some(p50) = row.p50(WALL) else { return row.name().to_owned() };
        let interval = match (p50.low, p50.high) {
            (Some(low), Some(high)) => {
                format!(" (95 % interval {} to {})", ns(low), ns(high))
            }
            _ => String::new(),
        };
        format!("{} takes {}{interval}", row.name(), ns(p50.value))
    };
    let once = |row: &Row<'_>| {
        format!("{} took {}", row.name(), ns(row.p50(WALL).map_or(f64::NAN, |p50| p50.value)))
    };
    match right.as_slice() {
        [] if rows.contenders.iter().any(|row| row.unusable().is_some()) => String::new(),
        [] if rows.contenders.iter().any(Row::wrong) => format!("{}.", Reason::NoRightAnswer),
        [] => format!("{}.", Reason::NothingMeasured),
        all if all.iter().all(|row| row.is_estimate()) => {
            let named: Vec<String> =
                all.iter().take(METHODS_NAMED_MAX).map(|row| once(row)).collect();
            format!("{}: {}.", Reason::Estimates, named.join(", "))
        }
        [only] if rows.contenders.len() == 1 => format!("{}.", time(only)),
        [only] => format!("{}{others}: {}.", Reason::OnlyOneMethod, time(only)),
        [first, ..] => format!("{}: {}.", Reason::NotCompared, time(first)),
    }
}

/// Why a family has no verdict, or none on some of its methods. Its text continues the sentence
/// that names them.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reason<'a> {
    /// The interval includes 1: the smallest difference that would have been found, with the
    /// method, of the comparisons with the least and the most noise; and a run that would find one
    /// of 1 % in the latter.
    NotFound {
        least: (f64, &'a str),
        most: (f64, &'a str),
        longer_run: Option<&'a LongerRun>,
    },
    /// The interval would decide.
    Doubt(Doubt),
    /// The analysis says why.
    Said(&'a str),
    /// Each method has only a run that warmed it up.
    Estimates,
    OnlyOneMethod,
    NotCompared,
    NoRightAnswer,
    NothingMeasured,
}

impl<'a> Reason<'a> {
    /// The reason of these undecided comparisons, each with its method; `None` if there are none.
    pub(super) fn not_found(
        undecided: impl Iterator<Item = (&'a str, &'a Comparison)>,
    ) -> Option<Reason<'a>> {
        let mut found: Vec<(f64, &str, Option<&LongerRun>)> = undecided
            .filter(|(_, comparison)| comparison.reason.is_none())
            .filter_map(|(name, c)| Some((c.found_percent?, name, c.longer_run.as_ref())))
            .filter(|(percent, ..)| percent.is_finite())
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (least, most) = (found.first()?, found.last()?);
        let [least, most] = [least, most].map(|(percent, name, _)| (*percent, *name));
        Some(Reason::NotFound { least, most, longer_run: found.last()?.2 })
    }

    pub(super) fn from_comparison(comparison: &'a Comparison) -> Option<Reason<'a>> {
        let said = || comparison.reason.as_deref().map(Reason::Said);
        comparison.doubt.map(Reason::Doubt).or_else(said)
    }
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |percent: f64| format!("≥ {percent:.*} %", usize::from(percent < 9.5));
        match self {
            Reason::NotFound { least, most, longer_run } => {
                if most.0 > 2.0 * least.0 {
                    let with_method =
                        |(found, name): &(f64, &str)| format!("{} ({name})", percent(*found));
                    write!(f, "{} to {}", with_method(least), with_method(most))?;
                } else {
                    f.write_str(&percent(most.0))?;
                }
                f.write_str(" would have been found 4 times out of 5")?;
                match longer_run {
                    Some(LongerRun::Flag(flag)) => {
                        write!(f, "; for 1 %: {flag}, or a quieter machine")
                    }
                    Some(LongerRun::NotHere) => f.write_str("; for 1 %: a quieter machine"),
                    None => Ok(()),
                }
            }
            Reason::Doubt(Doubt::Wait) => f.write_str(
                "the waits for a CPU may be the difference; less load would show it",
            ),
            Reason::Doubt(Doubt::UnknownWait) => {
                f.write_str("there was a wait for a CPU, and how long is not known")
            }
            Reason::Doubt(Doubt::Missing) => f.write_str(
                "the time without the wait is missing more often than that of the reference, so \
                 that the missing rounds may depend on how long it took",
            ),
            Reason::Said(reason) => f.write_str(reason),
            Reason::Estimates => f.write_str(
                "There is no verdict: each method was run once, to warm it up, which gives an estimate",
            ),
            Reason::OnlyOneMethod => f.write_str("Only one method was measured"),
            Reason::NotCompared => f.write_str("No method could be compared; the lowest"),
            Reason::NoRightAnswer => f.write_str("No method gave an answer that can be trusted"),
            Reason::NothingMeasured => f.write_str("No method was measured"),
        }
    }
}

//! The result of a check of a suite: what changed, and a line for the rest; and what gates of a
//! revision against itself show.

use analysis::{DetectableSlowdown, Outcome, Proof, SuiteMean, Why};
use model::profile::Profile;

use super::why;
use crate::document::Document;
use crate::export::markdown::STEP_SUMMARY;
use crate::text::PageLayout;
use crate::views::compare::outcome_word;
use crate::views::suite::{SuiteLine, SuiteReport, change, evidence, not_above};
use crate::views::table::{Style, Table, TableColumn};
use crate::views::units::amount;

/// More undecided benchmarks are counted.
const UNDECIDED_MAX: usize = 10;
/// More names of benchmarks that only one side has are counted.
const NAMES_MAX: usize = 8;

/// The result as text.
pub fn text(report: &SuiteReport, layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    let mut line = |outcome: Outcome, text: &str| {
        let (word, style) = outcome_word(outcome);
        page.line(&[(style, &format!("{word:<10}")), (Style::Plain, text)]);
    };
    for outcome in [Outcome::Slower, Outcome::Faster, Outcome::Missing] {
        report.with(outcome).into_iter().for_each(|found| line(outcome, &sentence(found)));
    }
    let undecided = report.with(Outcome::Undecided);
    for found in undecided.iter().take(UNDECIDED_MAX) {
        line(Outcome::Undecided, &sentence(found));
    }
    if let Some(more) = rest_of(&undecided) {
        line(Outcome::Undecided, &more);
    }
    if let Some(text) = all_ok(report) {
        line(Outcome::Ok, &text);
    }
    for text in others(report) {
        page.paragraph(Style::Plain, "", &text);
    }
    let (word, style) = outcome_word(report.outcome);
    page.line(&[(Style::Plain, "check: "), (style, word), (Style::Plain, &against(report))]);
    page.text(layout)
}

/// The functions in which both sides of the profiled benchmark differ.
pub fn causes(profile: &Profile, pairs: &[Why], layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    why::compose_all(&mut page, profile, pairs);
    page.text(layout)
}

/// A section to append to `GITHUB_STEP_SUMMARY`: a row for what changed, and a sentence for the
/// rest.
pub fn markdown(report: &SuiteReport) -> String {
    let mut page = Document::new(Document::UNLIMITED);
    page.heading("bytelab check", outcome_word(report.outcome).0);
    page.paragraph(Style::Plain, "", against(report).trim());
    let left = ["outcome", "benchmark"].map(TableColumn::left);
    let right = ["old", "new", "change"].map(TableColumn::right);
    let columns = left.into_iter().chain(right).chain([TableColumn::left("")]);
    let mut table = Table::new(columns.collect());
    for outcome in [Outcome::Slower, Outcome::Faster, Outcome::Missing, Outcome::Undecided] {
        let most = if outcome == Outcome::Undecided { UNDECIDED_MAX } else { usize::MAX };
        for line in report.with(outcome).into_iter().take(most) {
            let ns = |ns: Option<f64>| ns.map_or(String::new(), |ns| amount("ns", ns));
            let remark = line.reason.clone().unwrap_or_else(|| evidence(line));
            let cells = [
                outcome_word(outcome).0.to_owned(),
                line.label(),
                ns(line.old_ns),
                ns(line.new_ns),
                line.estimate.map_or(String::new(), |estimate| change(estimate.ratio)),
                remark,
            ];
            table.row(Style::Plain, cells);
        }
    }
    if !table.rows.is_empty() {
        page.table(table);
    }
    let rest = rest_of(&report.with(Outcome::Undecided)).map(|rest| format!("undecided: {rest}"));
    let ok = all_ok(report).map(|text| format!("ok: {text}"));
    for text in rest.into_iter().chain(ok).chain(others(report)) {
        page.paragraph(Style::Plain, "", &text);
    }
    STEP_SUMMARY.render(&page) + "\n"
}

/// ` against main 1234567 (2 % allowed; run 12)`.
fn against(report: &SuiteReport) -> String {
    let run = report.run.as_ref().map_or(String::new(), |id| format!("; run {id}"));
    let allowed = report.allowed_percent;
    format!(" — {} against {} ({allowed} % allowed{run})", report.new, report.old)
}

/// `parse: 1.2 ms → 1.3 ms, +8.1 % (+5.0 % to +11 %, 8 sessions)`.
fn sentence(line: &SuiteLine) -> String {
    let mut text = line.label();
    if let (Some(old), Some(new), Some(estimate)) = (line.old_ns, line.new_ns, line.estimate) {
        let (old, new) = (amount("ns", old), amount("ns", new));
        text = format!("{text}: {old} → {new}, {}", change(estimate.ratio));
    }
    match (&line.reason, line.outcome) {
        (Some(reason), _) => format!("{text}: {reason}"),
        (None, Outcome::Undecided) => {
            let high = line.estimate.and_then(|estimate| estimate.high);
            format!("{text}: {} ({})", not_above(high), evidence(line))
        }
        (None, _) => format!("{text} ({})", evidence(line)),
    }
}

/// The undecided benchmarks that are not named.
fn rest_of(undecided: &[&SuiteLine]) -> Option<String> {
    let rest = undecided.get(UNDECIDED_MAX..).filter(|rest| !rest.is_empty())?;
    let highs = rest.iter().map(|line| line.estimate.and_then(|estimate| estimate.high));
    // One that is not known is above all.
    let high = highs.map(|high| high.unwrap_or(f64::INFINITY)).fold(0.0, f64::max);
    Some(format!("{} more: {}", rest.len(), not_above(Some(high))))
}

fn all_ok(report: &SuiteReport) -> Option<String> {
    let ok = report.with(Outcome::Ok).len();
    let allowed = change(1.0 + report.allowed_percent / 100.0);
    (ok > 0).then(|| format!("{}: not above {allowed}", benchmarks(ok)))
}

fn benchmarks(n: usize) -> String {
    format!("{n} benchmark{}", if n == 1 { "" } else { "s" })
}

/// A sentence for each thing beside the benchmarks that were measured.
fn others(report: &SuiteReport) -> Vec<String> {
    let mean = report.geometric_mean.map(|mean| geometric_mean(report, &mean));
    let programs = &report.same_programs;
    let same = (!programs.is_empty())
        .then(|| format!("the same program on both sides, not run: {}", named(programs)));
    let sides = [("new", &report.added), ("gone", &report.gone)];
    let sides = sides.into_iter().filter(|(_, names)| !names.is_empty());
    let sides = sides.map(|(word, names)| format!("{word}, and not compared: {}", named(names)));
    mean.into_iter().chain(same).chain(sides).collect()
}

fn geometric_mean(report: &SuiteReport, mean: &SuiteMean) -> String {
    let second = report.confirmed_mean;
    let word = match (mean.is_slower, second.is_some_and(|second| second.is_slower)) {
        (true, true) => ": the suite as a whole is slower",
        (true, false) => ": slower, and not confirmed by a second set of sessions",
        (false, _) => "",
    };
    let (low, high) = (change(mean.low), change(mean.high));
    format!("geometric mean {} ({low} to {high}){word}", change(mean.ratio))
}

fn named(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// What gates of a revision against itself show; `names` are those of the benchmarks.
pub fn proof(proof: &Proof, names: &[String], allowed_percent: f64, layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let style = if proof.red == 0 { Style::Green } else { Style::Red };
    let red = format!("{} of {} red", proof.red, proof.gates);
    let at_most = format!(" (at most {}, at 95 %)", percent(proof.red_at_most));
    page.line(&[
        (Style::Plain, "unchanged, with "),
        (Style::Plain, &format!("{allowed_percent} % allowed: ")),
        (style, &red),
        (Style::Plain, &at_most),
    ]);
    if proof.comparisons > 0 {
        let interval = proof.below_5_percent_interval;
        let interval = interval.map_or(String::new(), |(low, high)| {
            format!("; by gate {} to {}", percent(low), percent(high))
        });
        page.paragraph(
            Style::Plain,
            "",
            &format!(
                "single comparisons with p below 5 %: {} of {} (5 % is what chance makes{interval})",
                percent(proof.below_5_percent),
                proof.comparisons
            ),
        );
        page.paragraph(
            Style::Plain,
            "",
            &format!(
                "neighbouring sessions are correlated by {:.2}; gates differ by {:.2} % beyond their \
                 sessions (p {:.3})",
                proof.correlation, proof.between_gates_percent, proof.between_gates_p
            ),
        );
    } else {
        let why = "no benchmark had its first six sessions in the time of a gate (--time), so that none \
                   could be red: this shows nothing";
        page.paragraph(Style::Plain, "", why);
    }
    for (word, found) in [("middle", &proof.middle), ("worst", &proof.worst)] {
        if let Some(found) = found {
            page.paragraph(Style::Plain, "", &slowdown(word, found, names));
        }
    }
    page.text(layout)
}

fn slowdown(word: &str, found: &DetectableSlowdown, names: &[String]) -> String {
    let name = names.get(found.benchmark).map_or("", String::as_str);
    let interval = found
        .interval
        .map_or(String::new(), |(low, high)| format!(" ({low:.1} % to {high:.1} %, at 90 %)"));
    match found.percent {
        Some(percent) => format!(
            "the {word} benchmark, {name}: a slowdown of {percent:.1} %{interval} is found in 80 % of gates"
        ),
        None => format!("the {word} benchmark, {name}: no slowdown up to 1,000 % is found in time"),
    }
}

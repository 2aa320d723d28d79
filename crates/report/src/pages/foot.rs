//! The text below the tables: what the commands print themselves, each method at another word of a
//! param, the thresholds, what was not measured and why, wrong answers, the notes, and the meaning
//! of the marks.

use std::collections::BTreeMap;

use analysis::{
    Analysis, Change, CustomMetricComparison, ParamComparison, ThresholdOutcome, ThresholdVerdict,
    Verdict,
};
use model::metric::{heading, is_counting_metric, short_heading, unit};
use model::run::{RATIO, Run, Sample, Status, Uncounted, Warning, WarningKind};
use unicode_width::UnicodeWidthStr;

use super::results::{self, TOO_SMALL, TableFit};
use super::run::TextOptions;
use crate::document::Document;
use crate::views::VaryingParams;
use crate::views::rows::{
    self, CPU, PEAK_RSS, Row, Rows, THROUGHPUT, WALL, measured_for, missing, word,
};
use crate::views::table::{RowRole, Style};
use crate::views::units::{self, NONE};
use crate::views::words::{GLOSSARY, noise};

pub(crate) struct Footnotes<'a> {
    pub run: &'a Run,
    pub analysis: &'a Analysis,
    pub all: &'a [Rows<'a>],
    pub varying: &'a VaryingParams<'a>,
    /// Of the points that have a table of their own.
    pub(crate) fitted: &'a [TableFit],
    pub(crate) shown: TextOptions<'a>,
}

impl Footnotes<'_> {
    pub(crate) fn compose(&self, page: &mut Document) {
        self.wrong_answers(page);
        self.not_measured(page);
        self.notes(page);
        self.ratios(page);
        if self.shown.explain {
            self.explanation(page);
        }
    }

    /// The notes that explain a figure, and that which could change the answer.
    fn notes(&self, page: &mut Document) {
        if self.shown.all_notes {
            self.explain(page);
            all_notes(page, &self.analysis.notes, self.varying);
            return;
        }
        let mut hidden = Document::new(Document::UNLIMITED);
        self.explain(&mut hidden);
        self.some_notes(page, hidden.blocks.len());
    }

    /// Writes those about the run as a whole, or else the most important one, and how many notes
    /// there are, with `hidden` others: as many as `--notes` marks as such.
    fn some_notes(&self, page: &mut Document, hidden: usize) {
        let Footnotes { run, varying, .. } = *self;
        let notes = &self.analysis.notes;
        let all = notes.iter().filter(|note| !stands_above(note)).count();
        let mut short: Vec<ShortNote> = Vec::new();
        for new in notes.iter().filter_map(|note| ShortNote::new(run, note, varying)) {
            match short.iter_mut().find(|old| old.is_like(&new)) {
                Some(old) => old.add(new),
                None => short.push(new),
            }
        }
        short.sort_by_key(|short| short.rank);
        short.truncate(short.iter().take_while(|short| short.rank == 0).count().max(1));
        let all = all + hidden;
        let has_more = all > short.iter().map(|short| short.notes).sum::<usize>();
        let how = run.show_command("--notes");
        let Some(last) = short.pop() else {
            let plural = if all == 1 { "" } else { "s" };
            if has_more {
                page.note(Style::Dim, "", &format!("{all} note{plural}: {how}"));
            }
            return;
        };
        let room = page.width().saturating_sub(MARK.width());
        for short in short {
            page.note(Style::Dim, MARK, &short.text(room));
        }
        let how = if has_more { format!(" (all {all}: {how})") } else { String::new() };
        let text = last.text(room.saturating_sub(how.width()));
        page.note(Style::Dim, MARK, &format!("{text}{how}"));
    }

    /// Why a ratio is not the quotient of the times beside it, where a reader sees that.
    fn ratios(&self, page: &mut Document) {
        let quotient = self.all.iter().find_map(results::other_quotient);
        let Some(quotient) = quotient.filter(|_| !self.fitted.is_empty()) else { return };
        let what = if self.all.iter().any(Rows::less_wait) {
            "of the time minus the wait for a CPU"
        } else {
            "medians of those of each round"
        };
        page.note(Style::Dim, "", &format!("Ratios are {what}, so they are not {quotient}."));
    }

    /// Why figures are missing, and what some of them stand for.
    fn explain(&self, page: &mut Document) {
        self.not_available(page);
        self.start_up(page);
        self.largest(page);
        self.not_compared(page);
        self.measured_for(page);
    }

    fn wrong_answers(&self, page: &mut Document) {
        for index in self.analysis.wrong_answers() {
            let Some(cell) = self.run.cells.get(index) else { continue };
            let family = self.all.iter().find(|rows| rows.get(index).is_some());
            let reference = family.and_then(Rows::reference);
            let own = rows::summary(self.analysis, index).and_then(|own| own.answer.as_deref());
            let right =
                reference.and_then(|row| Some((row.name(), row.summary?.answer.as_deref()?)));
            let text = match (own, right) {
                (Some(own), Some((name, right))) if own != right => {
                    format!("its answer is {own}, that of {name} is {right}")
                }
                (Some(_), _) => "it handed over other bytes than most methods".to_owned(),
                (None, _) => "its samples do not agree with each other or with the rest".to_owned(),
            };
            let text =
                format!("{}{}: {text}", cell.method, self.varying.in_parentheses(&cell.point));
            page.note(Style::Red, "wrong answer: ", &text);
        }
    }

    /// A line per method and reason, with the points to which it applies, unless it applies to all.
    fn not_measured(&self, page: &mut Document) {
        let mut found: Vec<(&Status, &str, Vec<String>)> = Vec::new();
        for cell in &self.run.cells {
            if cell.status == Status::Measured {
                continue;
            }
            let at = self.varying.in_parentheses(&cell.point);
            let same = |(status, method, _): &&mut (&Status, &str, Vec<String>)| {
                (*status, *method) == (&cell.status, cell.method.as_str())
            };
            match found.iter_mut().find(same) {
                Some((.., points)) => points.push(at),
                None => found.push((&cell.status, &cell.method, vec![at])),
            }
        }
        for (status, method, points) in found {
            let at = match points.as_slice() {
                [at] => at.clone(),
                several => format!(" (at {} points)", several.len()),
            };
            let style = if matches!(status, Status::Failed(_)) { Style::Red } else { Style::Dim };
            let reason = status.reason().filter(|reason| !reason.trim().is_empty());
            let reason = reason.unwrap_or("no reason given");
            let word = format!("{}: ", status.word());
            page.note(style, &word, &format!("{method}{at} — {reason}"));
        }
    }

    /// Why figures of the tables are missing: a line per reason, with its methods.
    fn not_available(&self, page: &mut Document) {
        let mut lacking: Vec<(&str, String, Vec<&str>)> = Vec::new();
        let first = || self.all.first().into_iter();
        let counts =
            first().flat_map(|rows| rows.counts.iter().map(|name| (*name, short_heading(name))));
        let always = ALWAYS.into_iter().filter(|name| !self.without_payload(name));
        let more = first().flat_map(|rows| rows.options.more.iter().map(|more| more.metric()));
        let columns = always.chain(more).map(|name| (name, rows::word(name)));
        for (name, heading) in columns.chain(counts) {
            let mut methods: BTreeMap<String, Vec<&str>> = BTreeMap::new();
            for row in self.rows().filter(|row| row.p50(name).is_none()) {
                let methods = methods.entry(self.why(row, name)).or_default();
                if !methods.contains(&row.name()) {
                    methods.push(row.name());
                }
            }
            lacking.extend(methods.into_iter().map(|(why, methods)| (heading, why, methods)));
        }
        while let Some((_, why, methods)) = lacking.first().cloned() {
            let same = |(_, w, m): &(&str, String, Vec<&str>)| *w == why && *m == methods;
            let headings: Vec<&str> = lacking.iter().filter(|l| same(l)).map(|l| l.0).collect();
            lacking.retain(|l| !same(l));
            let all = self.rows().all(|row| methods.contains(&row.name()));
            let of = if all { String::new() } else { format!(" of {}", methods.join(", ")) };
            let text = format!("{NONE} {}{of}: {why}", headings.join(", "));
            page.note(Style::Dim, MARK, &text);
        }
    }

    /// For several processes, the peak memory is not that of all of them together.
    fn largest(&self, page: &mut Document) {
        let of_commands = |row: &&Row<'_>| row.p50("noop_ns").is_some();
        if self.rows().filter(of_commands).any(|row| row.p50(PEAK_RSS).is_some()) {
            let text = "memory: that of the largest process of a plain command, not of all of them \
                        together";
            page.note(Style::Dim, MARK, text);
        }
    }

    /// The share of a plain command's wall time that is the start and the end of a process.
    fn start_up(&self, page: &mut Document) {
        let timed: Vec<f64> =
            self.rows().filter_map(|row| row.p50("noop_ns")).map(|p50| p50.value).collect();
        let Some(least) = timed.iter().copied().reduce(f64::min) else { return };
        let most = timed.iter().copied().fold(least, f64::max);
        let range = if least < most {
            format!("{} to {}", units::ns(least), units::ns(most))
        } else {
            units::ns(least)
        };
        let text = format!(
            "start-up: {range} for a process that does nothing (noop, p50), which is in the time of each plain command"
        );
        page.note(Style::Dim, MARK, &text);
    }

    fn rows(&self) -> impl Iterator<Item = &Row<'_>> {
        self.all.iter().flat_map(Rows::iter)
    }

    /// A job without payload has no throughput, which is then not missing.
    fn without_payload(&self, name: &str) -> bool {
        name == THROUGHPUT && !self.rows().any(|row| row.p50(name).is_some())
    }

    fn why(&self, row: &Row<'_>, name: &str) -> String {
        let samples = &row.cell.samples;
        if samples.is_empty() {
            return "no sample was taken".to_owned();
        }
        if !samples.iter().any(Sample::counts) {
            let reason = samples.iter().find_map(|sample| sample.not_counted.as_deref());
            return format!("no sample counts ({})", reason.unwrap_or("they are warm-up"));
        }
        let note = missing(self.analysis)
            .filter(|(_, method, _)| method.is_none_or(|method| method == row.name()))
            .find(|(metric, ..)| *metric == name);
        match (note, self.uncounted(row, name)) {
            (Some((.., why)), _) => why.to_owned(),
            (None, Some(why)) => why.to_string(),
            (None, None) => "not available here".to_owned(),
        }
    }

    /// Why the counting pass has not taken a metric that is its own.
    fn uncounted(&self, row: &Row<'_>, name: &str) -> Option<Uncounted> {
        let is_counted =
            is_counting_metric(name) || name == PEAK_RSS && row.cell.is_plain_command();
        Uncounted::from_run(self.run, row.cell).filter(|_| is_counted)
    }

    fn not_compared(&self, page: &mut Document) {
        for rows in self.all {
            for row in rows.contenders.iter().filter(|row| !row.wrong()) {
                let Some(comparison) = row.comparison.filter(|c| c.ratio.is_none()) else {
                    continue;
                };
                let at = self.varying.in_parentheses(&rows.family.point);
                let reason = comparison.reason.as_deref().unwrap_or("not available here");
                let text = format!("{NONE} ratio of {}{at}: {reason}", row.name());
                page.note(Style::Dim, MARK, &text);
            }
        }
    }

    fn measured_for(&self, page: &mut Document) {
        if let Some(text) = measured_for(self.run, self.analysis, self.varying) {
            page.note(Style::Dim, MARK, &format!("measured: {text}"));
        }
    }

    /// How the page is read.
    fn explanation(&self, page: &mut Document) {
        if self.rows().next().is_none() {
            return;
        }
        page.gap();
        let time = "time: the median (p50) of all rounds, with an interval that holds it at 95 %.";
        let mut said = vec![time.to_owned()];
        if self.fitted.iter().any(|fit| fit.half_widths) {
            said.push("±: the longer half of that interval, or its bounds.".to_owned());
        }
        if self.rows().any(|row| row.comparison.is_some()) {
            said.push(self.about_ratios());
        }
        if !self.fitted.is_empty() && self.all.iter().any(results::has_stars) {
            said.push("*: not shown slower than the fastest.".to_owned());
        }
        said.extend(self.about_verdicts());
        for (column, text) in [(word(CPU), "the time of all threads"), (word(PEAK_RSS), PEAK)] {
            if self.shows(column) {
                said.push(format!("{column}: {text}."));
            }
        }
        for name in self.all.first().into_iter().flat_map(|rows| &rows.counts) {
            if self.shows(short_heading(name)) {
                said.push(format!("{}: {}.", short_heading(name), heading(name)));
            }
        }
        if self.rows().any(Row::lacks_interval) {
            said.push(format!("{TOO_SMALL} no interval: there are too few rounds."));
        }
        let is_own = self.run.plan.definition.is_some() || self.run.plan.imported.is_some();
        if !is_own && !self.run.is_bench() {
            said.push(format!("Methods: bytelab list {} --readme.", self.run.experiment));
        }
        said.push(format!("All words: {GLOSSARY}"));
        page.note(Style::Plain, "How to read it: ", &said.join(" "));
        let mut columns: Vec<&str> =
            self.fitted.iter().flat_map(|fit| fit.omitted.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        if !columns.is_empty() {
            let how = self.run.show_command("--percentiles");
            let text = format!("{}; {how} shows every metric.", columns.join(", "));
            page.note(Style::Plain, "Not at this width: ", &text);
        }
    }

    /// Whether a table has room for a column.
    fn shows(&self, column: &str) -> bool {
        self.fitted.iter().any(|fit| !fit.omitted.contains(&column))
    }

    /// The words of the tables that are no verdicts.
    fn about_verdicts(&self) -> impl Iterator<Item = String> {
        let has = |role: RowRole| {
            self.all.iter().any(|rows| rows.iter().any(|row| rows.role(row) == role))
        };
        let words = [
            (RowRole::Compared(Verdict::Undecided), "more rounds may show a difference"),
            (RowRole::NoInterval, "there is no interval to decide by"),
            (RowRole::InDoubt, "a wait for a CPU may be the difference"),
        ];
        let shown = words.into_iter().filter(move |(role, _)| has(*role));
        shown.map(|(role, text)| format!("{}: {text}.", role.word()))
    }

    fn about_ratios(&self) -> String {
        let less_wait = self.all.iter().filter(|rows| rows.less_wait()).count();
        let metric = match self.all.len() - less_wait {
            _ if less_wait == 0 => "",
            0 => " without the wait for a CPU",
            _ => " without the wait for a CPU, where that is known",
        };
        format!(
            "× by round: the time{metric} divided by that of the reference in the same round, and \
             the median of these ratios; their intervals hold at 95 % for all of a table together."
        )
    }
}

/// What `memory` is.
const PEAK: &str = "the most at one time (RSS)";

/// The metrics that a table always has columns of.
const ALWAYS: [&str; 4] = [WALL, THROUGHPUT, CPU, PEAK_RSS];

// The notes below the tables: a short one, of those that could change the answer; or all of them as
// they are.

/// More methods than these are counted instead of named.
const NAMED_MAX: usize = 2;
/// The mark of each note, and so of all that is counted as one.
const MARK: &str = "note: ";

fn all_notes(page: &mut Document, notes: &[Warning], varying: &VaryingParams<'_>) {
    for note in notes.iter().filter(|note| !stands_above(note)) {
        let about = match about(note, varying) {
            about if about.is_empty() => about,
            about => format!("{about}: "),
        };
        page.note(Style::Dim, MARK, &format!("{about}{note}"));
    }
}

/// The method and the point that it concerns.
fn about(note: &Warning, varying: &VaryingParams<'_>) -> String {
    let at = note.point.as_ref().map(|point| varying.shown(point)).unwrap_or_default();
    match (note.method.as_deref(), at.as_str()) {
        (Some(method), "") => method.to_owned(),
        (Some(method), at) => format!("{method} ({at})"),
        (None, at) => at.to_owned(),
    }
}

/// Whether the page already has a line for it, for each cell separately.
fn stands_above(note: &Warning) -> bool {
    match note.kind {
        WarningKind::WrongAnswer | WarningKind::Failed(_) | WarningKind::Skipped(_) => true,
        _ => note.missing_metric().is_some(),
    }
}

/// Notes of one kind in few words: what was found, in which methods, and what to do.
struct ShortNote {
    /// The smaller, the more it may change the answer.
    rank: u8,
    before: String,
    methods: Vec<String>,
    after: String,
    /// The number of notes that it stands for.
    notes: usize,
}

impl ShortNote {
    /// `None` for a note that cannot change a verdict.
    fn new(run: &Run, note: &Warning, varying: &VaryingParams<'_>) -> Option<ShortNote> {
        let detail = |end: &str| note.detail.split(end).next().unwrap_or_default().to_owned();
        let advice = format!(": {}", note.advice);
        let what_to_do = note.advice.split_once("; ").map(|(_, advice)| format!(": {advice}"));
        let not_counted = format!(" do not count{}", what_to_do.unwrap_or_default());
        let warm_up = if run.is_bench() { ": add --warmup" } else { ": add --warm-up" };
        let percentiles = format!(": {}", run.show_command("--percentiles"));
        let (rank, before, after) = match &note.kind {
            WarningKind::Noted if note.method.is_none() => (0, whole(note, varying), ""),
            WarningKind::Imported => {
                let text =
                    "bytelab did not measure this: no verdict; import five such files a side";
                (1, text.to_owned(), "")
            }
            WarningKind::FailedRuns => (1, whole(note, varying), ""),
            WarningKind::NoVerdict => (2, "no verdict on ".to_owned(), advice.as_str()),
            WarningKind::Reference => (3, whole(note, varying), "; or name a --reference"),
            WarningKind::NotCounted => (4, "samples of ".to_owned(), not_counted.as_str()),
            WarningKind::Throttled => {
                (5, String::new(), " waited for a CPU: give its control group a larger quota")
            }
            // The line above the table says so.
            WarningKind::Waited if noise(run).is_some() => return None,
            WarningKind::Waited => {
                (5, String::new(), " waited for a CPU: measure on a quieter machine")
            }
            WarningKind::Steal => (6, detail(" (steal)"), ": measure at another time"),
            WarningKind::WarmUp => (7, "slow first samples of ".to_owned(), warm_up),
            WarningKind::Chance => (8, detail(":"), ": measure a surprising verdict again"),
            WarningKind::Predecessor => (9, whole(note, varying), ""),
            WarningKind::Modes => (9, "two modes of ".to_owned(), percentiles.as_str()),
            WarningKind::Noted => (10, whole(note, varying), ""),
            _ => return None,
        };
        let is_sentence = !before.is_empty() && !before.ends_with(' ');
        let methods = match &note.cells {
            _ if is_sentence => Vec::new(),
            Some(cells) => cells.methods.clone(),
            None => vec![about(note, varying)],
        };
        Some(ShortNote { rank, before, methods, after: after.to_owned(), notes: 1 })
    }

    fn is_like(&self, other: &ShortNote) -> bool {
        (self.rank, &self.before) == (other.rank, &other.before)
    }

    fn add(&mut self, other: ShortNote) {
        self.methods.extend(other.methods);
        self.notes += other.notes;
    }

    /// On one line of this width, unless it is a sentence that was recorded while measuring.
    fn text(&self, width: usize) -> String {
        let ShortNote { before, methods, after, .. } = self;
        let named = format!("{before}{}{after}", methods.join(", "));
        if methods.len() <= NAMED_MAX && named.width() <= width || methods.is_empty() {
            return named;
        }
        let plural = if methods.len() == 1 { "" } else { "s" };
        format!("{before}{} method{plural}{after}", methods.len())
    }
}

fn whole(note: &Warning, varying: &VaryingParams<'_>) -> String {
    match about(note, varying) {
        about if about.is_empty() => note.to_string(),
        about => format!("{about}: {note}"),
    }
}

// Below the tables: what the commands print themselves, against the reference; and each method
// compared with itself at another word or path of a param.

/// A ladder of sizes has hundreds of lines: more than these are only counted, and of those that
/// compare a method with itself the ones without a difference are the first to be.
const EFFECTS_MAX: usize = 24;

/// A comparison in one line, below the heading of those that are alike.
struct EffectLine {
    heading: String,
    method: String,
    ratio: String,
    style: Style,
    word: &'static str,
}

/// `all` is the number of the lines and of those that are not among them.
fn effects(page: &mut Document, all: usize, lines: impl Iterator<Item = EffectLine>) {
    let (mut above, mut left) = (String::new(), all);
    for EffectLine { heading, method, ratio, style, word } in lines.take(EFFECTS_MAX) {
        left -= 1;
        if above != heading {
            page.gap();
            page.paragraph(Style::Bold, "", &heading);
            above = heading;
        }
        let method = format!("  {method}: ");
        page.line(&[(Style::Plain, &method), (Style::Plain, &ratio), (style, word)]);
    }
    if left > 0 {
        page.paragraph(Style::Dim, "", &format!("  … and {left} more, --json has all"));
    }
}

pub(super) fn custom_metrics(
    page: &mut Document,
    analysis: &Analysis,
    metrics: &[String],
    varying: &VaryingParams<'_>,
) {
    let shown = analysis.custom_metrics.iter().filter(|own| metrics.contains(&own.metric));
    let line = |own: &CustomMetricComparison| {
        let is_narrow = own.low.zip(own.high).is_some_and(|(low, high)| high - low < 0.05);
        EffectLine {
            heading: format!("{}, against {}:", own.metric, own.reference),
            method: format!("{}{}", own.method, varying.in_parentheses(&own.point)),
            ratio: with_interval(own.ratio, [own.low, own.high], if is_narrow { 3 } else { 2 }),
            style: if own.change == Change::Undecided { Style::Dim } else { Style::Plain },
            word: own.change.word(),
        }
    };
    effects(page, shown.clone().count(), shown.map(line));
}

pub(super) fn param_effects(page: &mut Document, analysis: &Analysis, varying: &VaryingParams<'_>) {
    let all = analysis.param_effects.len();
    let is_shown = |effect: &&ParamComparison| {
        all <= EFFECTS_MAX || matches!(effect.comparison.verdict, Verdict::Faster | Verdict::Slower)
    };
    let line = |effect: &ParamComparison| {
        let ParamComparison { param, reference_value, comparison, .. } = effect;
        let (verdict, style) = match comparison.verdict {
            Verdict::Faster => (Verdict::Faster, Style::Green),
            Verdict::Slower => (Verdict::Slower, Style::Red),
            Verdict::Same => (Verdict::Same, Style::Plain),
            _ => (Verdict::Undecided, Style::Dim),
        };
        // A file system in memory takes a hundredth of the time of a device.
        let decimals = if comparison.ratio.is_some_and(|ratio| ratio < 0.1) { 4 } else { 2 };
        let bounds = [comparison.low, comparison.high];
        EffectLine {
            heading: format!("The same method, by {param}, against {reference_value}:"),
            method: format!("{}{}", comparison.method, varying.in_parentheses(&comparison.point)),
            ratio: with_interval(comparison.ratio, bounds, decimals),
            style,
            word: verdict.word(),
        }
    };
    effects(page, all, analysis.param_effects.iter().filter(is_shown).map(line));
}

/// `0.97 (0.95 to 0.99) ` with this number of decimals; a ratio without an interval has two.
fn with_interval(ratio: Option<f64>, [low, high]: [Option<f64>; 2], decimals: usize) -> String {
    match (ratio, low, high) {
        (Some(ratio), Some(low), Some(high)) => {
            let [ratio, low, high] = [ratio, low, high].map(|value| units::ratio(value, decimals));
            format!("{ratio} ({low} to {high}) ")
        }
        (Some(ratio), ..) => format!("{} ", units::ratio(ratio, 2)),
        _ => String::new(),
    }
}

/// The thresholds of the run, a line for each method and point.
pub(crate) fn thresholds(page: &mut Document, analysis: &Analysis, varying: &VaryingParams<'_>) {
    if analysis.thresholds.is_empty() {
        return;
    }
    page.gap();
    for outcome in &analysis.thresholds {
        let (style, word) = match outcome.verdict {
            ThresholdVerdict::Kept => (Style::Plain, "threshold kept: "),
            ThresholdVerdict::Exceeded => (Style::Red, "threshold exceeded: "),
            ThresholdVerdict::Undecided => (Style::Red, "threshold undecided: "),
        };
        let text = format!(
            "{}{}, {}",
            outcome.method,
            varying.in_parentheses(&outcome.point),
            threshold_figures(outcome)
        );
        page.paragraph(style, word, &text);
    }
}

fn threshold_figures(outcome: &ThresholdOutcome) -> String {
    let amount = |value: f64| match outcome.metric.as_str() {
        RATIO => units::ratio(value, 2),
        metric => units::amount(unit(metric), value),
    };
    let mut text = outcome.metric.clone();
    if let Some(value) = outcome.value {
        text = format!("{text} {}", amount(value));
    }
    if let (Some(low), Some(high)) = (outcome.low, outcome.high)
        && low < high
    {
        text = format!("{text} ({}–{})", amount(low), amount(high));
    }
    text = format!("{text}, allowed {}", amount(outcome.max));
    match &outcome.reason {
        Some(reason) => format!("{text}: {reason}"),
        None => text,
    }
}

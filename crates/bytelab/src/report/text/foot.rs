//! The text below the tables: what was not measured and why, wrong answers, the notes, and the
//! meaning of the marks.

use std::collections::BTreeMap;

use lab::analyze::Analysis;
use lab::metric::{heading, short_heading};
use lab::run::{Run, Sample, Status};
use lab::stats::{LOOKS, SESSIONS_NEEDED};

use super::notes;
use super::page::{Layout, Page};
use super::results::{Omitted, TOO_SMALL};
use crate::report::model::Varying;
use crate::report::model::rows::{
    self, CPU, PEAK_RSS, Row, Rows, THROUGHPUT, WALL, measured_for, missing,
};
use crate::report::model::table::Style;
use crate::report::model::units::{self, NONE};

pub(crate) struct Footnotes<'a> {
    pub(crate) run: &'a Run,
    pub(crate) analysis: &'a Analysis,
    pub(crate) all: &'a [Rows<'a>],
    pub(crate) varying: &'a Varying<'a>,
    pub(crate) left: &'a [Omitted],
    /// Whether a point has a table of its own, with ratios; not only sweeps.
    pub(crate) has_points: bool,
    /// Whether all notes are written, and not only those that could change the answer.
    pub(crate) all_notes: bool,
}

impl Footnotes<'_> {
    pub(crate) fn write(&self, page: &mut Page) {
        self.wrong_answers(page);
        self.not_measured(page);
        self.notes(page);
        self.legend(page);
    }

    /// What explains a figure, and what could change the answer.
    fn notes(&self, page: &mut Page) {
        if self.all_notes {
            self.explain(page);
            notes::all(page, &self.analysis.notes, self.varying);
            return;
        }
        let mut hidden = Page::new(&Layout { width: usize::MAX / 2, colour: false });
        self.explain(&mut hidden);
        let more = notes::some(page, &self.analysis.notes, self.varying)
            + hidden.into_text().lines().count();
        if more > 0 {
            let plural = if more == 1 { "" } else { "s" };
            page.paragraph(Style::Dim, "", &format!("{more} more note{plural}: --notes"));
        }
    }

    /// Why figures are missing, and what some of them stand for.
    fn explain(&self, page: &mut Page) {
        self.not_available(page);
        self.start_up(page);
        self.largest(page);
        self.not_compared(page);
        self.measured_for(page);
    }

    fn wrong_answers(&self, page: &mut Page) {
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
            let text = format!("{}{}: {text}", cell.method, self.varying.of(&cell.point));
            page.paragraph(Style::Red, "wrong answer: ", &text);
        }
    }

    /// A line per method and reason, with the points to which it applies, unless it applies to all.
    fn not_measured(&self, page: &mut Page) {
        let mut found: Vec<(&Status, &str, Vec<String>)> = Vec::new();
        for cell in &self.run.cells {
            if cell.status == Status::Measured {
                continue;
            }
            let at = self.varying.of(&cell.point);
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
            page.paragraph(style, &word, &format!("{method}{at} — {reason}"));
        }
    }

    /// Why figures of the tables are missing: a line per reason, with its methods.
    fn not_available(&self, page: &mut Page) {
        let mut lacking: Vec<(&str, String, Vec<&str>)> = Vec::new();
        let first = || self.all.first().into_iter();
        let counts =
            first().flat_map(|rows| rows.counts.iter().map(|name| (*name, short_heading(name))));
        let always = ALWAYS.into_iter().filter(|name| !self.without_payload(name));
        let more = first().flat_map(|rows| rows.options.more.iter().map(|more| more.metric()));
        let columns = always.chain(more).map(|name| (name, heading(name)));
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
            let text = format!("{}{of}: {why}", headings.join(", "));
            page.paragraph(Style::Dim, &format!("{NONE} "), &text);
        }
    }

    /// For several processes, the peak memory is not that of all of them together.
    fn largest(&self, page: &mut Page) {
        let of_commands = |row: &&Row<'_>| row.p50("noop_ns").is_some();
        if self.rows().filter(of_commands).any(|row| row.p50(PEAK_RSS).is_some()) {
            let text =
                "that of the largest process of a plain command, not of all of them together";
            page.paragraph(Style::Dim, "peak RSS: ", text);
        }
    }

    /// The share of a plain command's wall time that is the start and the end of a process.
    fn start_up(&self, page: &mut Page) {
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
            "{range} for a process that does nothing (noop, p50), which is in the wall of each plain command"
        );
        page.paragraph(Style::Dim, "start-up: ", &text);
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
        missing(self.analysis)
            .filter(|(_, method, _)| method.is_none_or(|method| method == row.name()))
            .find(|(metric, ..)| *metric == name)
            .map_or("not available here", |(.., why)| why)
            .to_owned()
    }

    fn not_compared(&self, page: &mut Page) {
        for rows in self.all {
            for row in rows.contenders.iter().filter(|row| !row.wrong()) {
                let Some(comparison) = row.comparison.filter(|c| c.ratio.is_none()) else {
                    continue;
                };
                let at = self.varying.of(&rows.family.point);
                let reason = comparison.reason.as_deref().unwrap_or("not available here");
                let text = format!("ratio of {}{at}: {reason}", row.name());
                page.paragraph(Style::Dim, &format!("{NONE} "), &text);
            }
        }
    }

    fn measured_for(&self, page: &mut Page) {
        if let Some(text) = measured_for(self.run, self.analysis, self.varying) {
            page.paragraph(Style::Dim, "measured: ", &text);
        }
    }

    fn legend(&self, page: &mut Page) {
        if self.rows().next().is_none() {
            return;
        }
        page.blank();
        if !self.has_points {
            self.left_out(page);
            return;
        }
        let mut said = Vec::new();
        if self.rows().any(|row| row.pareto) {
            said.push("* not beaten in time, CPU and peak RSS at once.".to_owned());
        }
        said.push("Figures are p50.".to_owned());
        for name in self.all.first().into_iter().flat_map(|rows| &rows.counts) {
            let short = short_heading(name);
            if !self.left.iter().any(|left| left.columns.contains(&short)) {
                said.push(format!("{short}: {}.", heading(name)));
            }
        }
        if self.left.iter().any(|left| left.half_widths) {
            said.push("± the longer half of the 95 % interval.".to_owned());
        }
        if self.rows().any(|row| row.comparison.is_some()) {
            let less_wait = self.all.iter().filter(|rows| rows.less_wait()).count();
            let metric = match self.all.len() - less_wait {
                _ if less_wait == 0 => "",
                0 => " (wall less run-queue wait)",
                _ => " (wall less run-queue wait in the tables that show it, else wall)",
            };
            said.push(format!(
                "ratio: time{metric} divided by that of the reference, in the same round; its \
                 intervals hold at 95 % for all of a table together."
            ));
        }
        if self.rows().any(Row::lacks_interval) {
            let is_fixed = self.run.plan.design.is_fixed();
            let needed = if is_fixed { SESSIONS_NEEDED } else { LOOKS[0] };
            said.push(format!(
                "{TOO_SMALL} no interval: n is too small, or there are fewer than {needed} sessions."
            ));
        }
        page.paragraph(Style::Plain, "", &said.join(" "));
        self.left_out(page);
    }

    fn left_out(&self, page: &mut Page) {
        let mut columns: Vec<&str> =
            self.left.iter().flat_map(|left| left.columns.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        if !columns.is_empty() {
            let text = format!("{}; --percentiles shows every metric.", columns.join(", "));
            page.paragraph(Style::Plain, "Left out to fit the width: ", &text);
        }
        let mut names: Vec<&(String, String)> =
            self.left.iter().flat_map(|left| &left.names).collect();
        names.sort();
        names.dedup();
        for (short, full) in names {
            page.paragraph(Style::Plain, "Shortened: ", &format!("{short} is {full}"));
        }
    }
}

/// The metrics that a table always has columns of.
const ALWAYS: [&str; 4] = [WALL, THROUGHPUT, CPU, PEAK_RSS];

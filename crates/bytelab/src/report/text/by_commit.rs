//! One method at each commit: a line for each, with the runs in which it was measured.

use lab::analyze::{CommitSeries, CommitValue};
use lab::metric;

use super::grid::{self, Head};
use super::over_time::heading;
use super::page::{Layout, Page};
use crate::report::model::table::{Column, Style, Table, TooWide};
use crate::report::model::units::{NONE, Unit, ratio};

pub(crate) fn text(
    method: &str,
    metric: &str,
    all: &[CommitSeries],
    without_commit: usize,
    layout: &Layout,
) -> String {
    let mut page = Page::new(layout);
    for series in all {
        page.blank();
        heading(&mut page, method, metric, &series.place);
        grid::write(&mut page, &table(&series.commits, metric::unit(metric)), Head::Ruled);
    }
    page.blank();
    page.paragraph(
        Style::Dim,
        "ratio: ",
        "the p50 divided by that of the line above. It is not a verdict: the runs were at \
         different times, and what the machine did then is in it. `bytelab bench --rev A,B` measures two commits in the same rounds.",
    );
    if without_commit > 0 {
        let runs = if without_commit == 1 { "run is" } else { "runs are" };
        let text = format!("{without_commit} {runs} left out: no commit is known");
        page.paragraph(Style::Dim, "note: ", &text);
    }
    let unknown = all.iter().flat_map(|series| &series.commits);
    let unknown: usize = unknown.map(|one| one.runs_of_unknown_tree).sum();
    if unknown > 0 {
        let text = format!(
            "of {unknown} of the runs git did not say in time whether their tree had changes; they \
             count as of the commit"
        );
        page.paragraph(Style::Dim, "note: ", &text);
    }
    page.into_text()
}

fn table(commits: &[CommitValue], unit: &'static str) -> Table {
    let values = || commits.iter().flat_map(|one| &one.runs).map(|run| run.p50);
    let unit = Unit::of(unit, values());
    let range = |one: &CommitValue| {
        let all = || one.runs.iter().map(|run| run.p50);
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::MIN, f64::max));
        match one.runs.len() {
            0 | 1 => String::new(),
            _ => format!("{}–{}", unit.number(low), unit.number(high)),
        }
    };
    let subject = |one: &CommitValue| one.commit.subject.clone().unwrap_or_default();
    let heading = match unit.name {
        "" => "p50".to_owned(),
        name => format!("p50, {name}"),
    };
    let last = Column { too_wide: TooWide::Wrap, ..Column::left("subject") };
    Table::of_columns(vec![
        (Column { gap: 0, ..Column::left("commit") })
            .filled(commits.iter(), |one| one.commit.described()),
        Column::right(&heading).filled(commits.iter(), |one| unit.number(one.p50)),
        Column::right("range").filled(commits.iter(), range),
        Column::right("runs").filled(commits.iter(), |one| one.runs.len().to_string()),
        Column::right("ratio").filled(commits.iter(), |one| {
            one.ratio.map_or(NONE.to_owned(), |value| ratio(value, 3))
        }),
        last.filled(commits.iter(), subject),
    ])
}

#[cfg(test)]
mod tests {
    use lab::analyze::{HistoryPoint, SeriesKey};
    use lab::param::Point;
    use lab::run::{CacheState, ProjectCommit};

    use super::*;

    fn value(
        digit: &str,
        subject: &str,
        p50: f64,
        ratio: Option<f64>,
        runs: &[f64],
    ) -> CommitValue {
        let of_run = |p50: &f64| HistoryPoint {
            id: "1".to_owned(),
            started: "2026-01-01T10:00:00Z".to_owned(),
            label: None,
            n: 100,
            p50: *p50,
        };
        let subject = Some(subject.to_owned()).filter(|subject| !subject.is_empty());
        CommitValue {
            commit: ProjectCommit { commit: digit.repeat(40), subject, ..ProjectCommit::default() },
            p50,
            ratio,
            runs_of_unknown_tree: 0,
            runs: runs.iter().map(of_run).collect(),
        }
    }

    #[test]
    fn each_commit_has_a_line() {
        let mut changed = value("b", "", 12e6, Some(0.96), &[12e6]);
        changed.commit.dirty = Some(true);
        let hostile = "Set \u{1b}[31m the colour of the words that are longer than a line has room";
        let series = CommitSeries {
            place: SeriesKey {
                experiment: "bench".to_owned(),
                point: Point::default(),
                machine: "0123456789".to_owned(),
                cache: CacheState::AsIs,
                fresh: false,
            },
            commits: vec![
                value("a", "Add a tool", 10e6, None, &[9e6, 11e6]),
                value("b", hostile, 12.5e6, Some(1.25), &[12.5e6]),
                changed,
            ],
        };
        let layout = Layout { width: 80, colour: false };
        insta::assert_snapshot!(text("./tool", "wall_ns", &[series], 2, &layout), @r"
        ./tool, p50 of wall_ns · bench · cache as is · machine 01234567
        commit         p50, ms      range  runs  ratio  subject
        ────────────────────────────────────────────────────────────────────────────────
        aaaaaaa           10.0  9.00–11.0     2      —  Add a tool
        bbbbbbb           12.5                1  1.250  Set \u{1b}[31m the colour of the
                                                        words that are longer than a
                                                        line has room
        bbbbbbb-dirty     12.0                1  0.960

        ratio: the p50 divided by that of the line above. It is not a verdict: the runs
          were at different times, and what the machine did then is in it. `bytelab
          bench --rev A,B` measures two commits in the same rounds.
        note: 2 runs are left out: no commit is known
        ");
    }
}

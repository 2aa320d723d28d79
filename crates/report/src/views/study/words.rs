//! The words and the table of a study's page, of whatever kind the page is.

use analysis::{Claimed, Ratio};
use model::metric;
use model::run::Run;

use super::by_figures::{ClaimByFigures, FigureTest, FiguresVerdict, MachineByFigures};
use super::{
    CHUNK_COUNTS, ClaimOutcome, ClaimVerdict, FigureOrigin, JudgedClaim, MethodCounts, StudyReport,
    TestResult,
};
use crate::published::{
    AcrossMachines, GridLine, Relation, Study, StudyColumn, StudyGrid, StudyRow, Test, Testable,
};
use crate::views::rows::heading;
use crate::views::table::{Style, Table, TableColumn, TooWide};
use crate::views::units::{NONE, Unit, amount, count, printed, printed_beside, ratio};
use crate::views::words::{joined, minute, taken};

pub(crate) const NO_VERDICT: &str = "No verdict between the published figures and those of here: these are other machines, other \
                          programs and other times.";

pub(crate) const ALL_TOGETHER: &str =
    "Each verdict is by the whole interval of its ratios; all intervals together hold at 95 %.";

pub(crate) const IN_THEIR_PLACE: &str = "A verdict by what stands in the place of the author's methods is one on the method that stands \
                              there, and says nothing about the author's.";

pub(crate) const RATIO: &str = "ratio: of the first time in the row (without a time, of the first figure), to the first row of the \
                     same quantity that was measured, on the same machine; in the author's order.";

/// `tests 6 of 6 claims on this machine, 2 of them by the author's methods`.
pub(crate) fn promised(study: &Study, testable: Testable) -> String {
    let Testable { by_own_methods, in_all } = testable;
    let all = study.claims.len();
    let own = match by_own_methods {
        0 => "none of them".to_owned(),
        n if n == in_all => "all of them".to_owned(),
        n => format!("{n} of them"),
    };
    match in_all {
        0 => format!("tests none of {all} claims on this machine"),
        n => format!("tests {n} of {all} claims on this machine, {own} by the author's methods"),
    }
}

/// A run in one line.
pub(crate) fn about(run: &Run) -> String {
    let fact = |name: &str| run.environment.facts.get(name)?.as_str().map(str::to_owned);
    let id = if run.id.is_empty() { None } else { Some(format!("run {}", run.id)) };
    let machine = fact("cpu_model").or_else(|| Some(run.environment.fingerprint.clone()));
    let started = Some(minute(&run.started));
    let experiment = Some(run.experiment.clone());
    let facts = [id, experiment, started, machine, fact("os_name"), taken(run)];
    joined(facts.into_iter().flatten())
}

pub(crate) fn word(verdict: Claimed) -> (&'static str, Style) {
    match verdict {
        Claimed::Confirmed => ("confirmed", Style::Green),
        Claimed::Refuted => ("refuted", Style::Red),
        Claimed::Undecided => ("undecided", Style::Plain),
    }
}

/// The verdict on a claim, by the samples of here.
pub(crate) fn verdict_word(verdict: ClaimVerdict) -> (&'static str, Style) {
    match verdict {
        ClaimVerdict::Confirmed => ("confirmed", Style::Green),
        ClaimVerdict::ConfirmedInPart => {
            ("confirmed as far as it can be tested here", Style::Green)
        }
        ClaimVerdict::Refuted => ("refuted", Style::Red),
        ClaimVerdict::Undecided => ("undecided", Style::Plain),
    }
}

/// The same by the author's own figures.
pub(crate) fn figures_word(verdict: FiguresVerdict) -> (String, Style) {
    match verdict {
        FiguresVerdict::Holds => ("holds".to_owned(), Style::Green),
        FiguresVerdict::HoldsOn(n, all) => {
            (format!("holds on {n} of {all} machines"), Style::Plain)
        }
        FiguresVerdict::Fails => ("fails".to_owned(), Style::Red),
        FiguresVerdict::NoFigure => ("no figures".to_owned(), Style::Plain),
    }
}

/// `M2 MacBook Air: fails, 1 of 3 tests hold: …`: of each machine that the claim holds on, the test
/// that is the nearest to failing; of the others, those that fail.
pub(crate) fn machine_lines(claim: &ClaimByFigures<'_>) -> Vec<String> {
    let line = |machine: &MachineByFigures<'_>| {
        let all = machine.found.len();
        let holding = machine.found.iter().filter(|test| test.holds).count();
        let count = match all {
            1 => String::new(),
            all if holding == all => format!("all {all} tests hold, the nearest to failing is "),
            all => format!("{holding} of {all} tests hold; what fails is "),
        };
        let shown: Vec<String> = if machine.holds() {
            let nearest = machine.found.iter().min_by(|a, b| margin(a).total_cmp(&margin(b)));
            nearest.map(figure_test).into_iter().collect()
        } else {
            machine.found.iter().filter(|test| !test.holds).map(figure_test).collect()
        };
        format!("{}: {count}{}", machine.machine, shown.join("; "))
    };
    claim.machines.iter().map(line).collect()
}

/// The distance of a value from the nearer end of its range, as a factor.
fn margin(test: &FigureTest<'_>) -> f64 {
    let [min, max] = test.test.range();
    let factor = |a: f64, b: f64| (a / b).ln().abs();
    let ends = [min, max].map(|bound| factor(test.value, bound));
    ends.into_iter().filter(|distance| distance.is_finite()).fold(f64::INFINITY, f64::min)
}

fn figure_test(tested: &FigureTest<'_>) -> String {
    let FigureTest { test, names: [of, to], value, .. } = tested;
    let metric = in_words(&test.metric);
    let what = match test.across {
        Some(AcrossMachines::Order) => format!("rank correlation of {metric}"),
        Some(AcrossMachines::Greatest) => format!("greatest ratio of {metric}, {of} ÷ {to}"),
        None => quantity(test, of, to),
    };
    format!("{what}: {}, claimed is {}", small_ratio(*value), claimed(test))
}

/// `read-for ÷ read, wall`.
fn quantity(test: &Test, of: &str, to: &str) -> String {
    let metric = in_words(&test.metric);
    if test.less.is_some() {
        let difference = format!("({of} less {to})");
        let amount = test.to_param.as_ref().map(|param| format!(" ÷ {param}"));
        return format!("{difference}{}, {metric}", amount.unwrap_or_default());
    }
    match &test.to_metric {
        _ if test.relation == Relation::Outliers => format!("outliers of {of}, {metric}"),
        _ if to.is_empty() => format!("{of}, {metric}"),
        Some(other) => format!("{metric} ÷ {} of {of}", in_words(other)),
        None => format!("{of} ÷ {to}, {metric}"),
    }
}

/// `read-for ÷ read, wall: 2.29 (95 % interval 1.88–2.78), claimed is at least 6.5: refuted`.
pub(crate) fn tested(tested: &TestResult<'_>) -> String {
    let TestResult { test, names: [of, to], verdict, found } = tested;
    let (what, claimed) = (quantity(test, of, to), claimed(test));
    let reason = found.reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
    let found = match test.relation {
        Relation::Outliers => found.ratio.map_or_else(|| NONE.to_owned(), count),
        _ => value(found),
    };
    let verdict = word(*verdict).0;
    let decides = if test.beside { ", shown beside, decides nothing" } else { "" };
    format!("{what}: {found}, claimed is {claimed}: {verdict}{reason}{decides}")
}

fn in_words(name: &str) -> String {
    let words = if name == "size_bytes" { heading(name) } else { metric::heading(name) };
    words.replace('_', " ")
}

fn value(found: &Ratio) -> String {
    let Some(value) = found.ratio else { return "no ratio".to_owned() };
    let [low, high] = [found.low, found.high].map(|bound| bound.map(small_ratio));
    let value = small_ratio(value);
    match (low, high) {
        (Some(low), Some(high)) if low == high && found.low == found.high => {
            format!("{value} (exact)")
        }
        (Some(low), Some(high)) => format!("{value} (interval {low}–{high})"),
        _ => format!("{value} (no interval)"),
    }
}

/// A ratio with two significant digits, however small it is.
pub(super) fn small_ratio(value: f64) -> String {
    let size = value.abs();
    let zeros = if size > 0.0 { (-size.log10()).floor().clamp(0.0, 9.0) } else { 0.0 };
    ratio(value, 2 + zeros as usize)
}

fn claimed(test: &Test) -> String {
    let factor = test.factor;
    let [low, high] = test.range().map(|bound| ratio(bound, 2));
    match test.relation {
        Relation::AtLeast => format!("at least {factor}"),
        Relation::AtMost => format!("at most {factor}"),
        Relation::About => {
            // The factor of a range such as 7 to 9 has many digits.
            format!("about {} ({low}–{high})", (factor * 10.0).round() / 10.0)
        }
        Relation::Same => format!("the same ({low}–{high})"),
        Relation::Outliers => format!("at least {factor} beyond the whiskers"),
    }
}

/// All claims with their verdicts: by the author's own figures, by the samples of here, and by what
/// stands in the place of the author's methods.
pub(crate) fn verdicts(judgements: &[JudgedClaim<'_>], figures: &[ClaimByFigures<'_>]) -> Table {
    let wraps =
        |heading: &str| TableColumn { too_wide: TooWide::Wrap, ..TableColumn::left(heading) };
    let first = TableColumn { gap: 0, ..TableColumn::left("claim") };
    let others = ["by the author's own figures", "here", "by what stands in its place"];
    let others = others.map(wraps);
    let mut table = Table::new(std::iter::once(first).chain(others).collect());
    let outcome = |outcome: Option<&ClaimOutcome<'_>>| match outcome {
        Some(ClaimOutcome::Judged { verdict, .. }) => verdict_word(*verdict).0,
        Some(ClaimOutcome::NotHere(_)) => "not testable here",
        None => NONE,
    };
    for judged in judgements {
        let own_figures = figures.iter().find(|one| one.claim.id == judged.claim.id);
        let own_figures = own_figures.map_or(FiguresVerdict::NoFigure, ClaimByFigures::verdict);
        let cells = [
            judged.claim.id.clone(),
            figures_word(own_figures).0,
            outcome(Some(&judged.own)).to_owned(),
            outcome(judged.in_their_place.as_ref()).to_owned(),
        ];
        table.row(Style::Plain, cells);
    }
    table
}

// The table of a study: each row of the author, with the figures of the author's machines and
// those of here below it.

/// A figure with its unit, as the author of this column prints it.
pub(crate) fn author_amount(
    column: Option<&StudyColumn>,
    stored: &'static str,
    value: f64,
) -> String {
    let column = column.filter(|column| !column.unit.is_empty());
    let unit = column.and_then(|column| Unit::named(stored, &column.unit));
    match (unit, column) {
        (Some(unit), Some(column)) => {
            format!("{} {}", printed(unit, value, column.decimals), unit.name)
        }
        _ if stored == "count" => count(value),
        _ => amount(stored, value),
    }
}

/// System calls that are a smaller share of all calls of a method are counted together.
const FEW: f64 = 0.01;

/// The counts of methods as a table.
pub(crate) fn chunk_counts(found: &[MethodCounts<'_>]) -> Table {
    let is_used = |at: &usize| found.iter().any(|one| one.figures[*at].is_some());
    let used: Vec<usize> = (0..CHUNK_COUNTS.len()).filter(is_used).collect();
    let first = TableColumn { gap: 0, too_wide: TooWide::Wrap, ..TableColumn::left("") };
    let heads = ["calls", "allocations", "allocated B", "copied B"].map(TableColumn::right);
    let heads = heads.into_iter().enumerate().filter(|(at, _)| used.contains(at));
    let heads = heads.map(|(_, head)| head);
    let last = TableColumn { too_wide: TooWide::Wrap, ..TableColumn::left("calls by name") };
    let mut table = Table::new(std::iter::once(first).chain(heads).chain([last]).collect());
    let has_chunks = found.iter().any(|one| one.is_chunk);
    for one in found {
        let whole = if one.is_chunk || !has_chunks { "" } else { " (whole)" };
        let figures = used.iter().map(|at| one.figures[*at].map_or(NONE.to_owned(), chunk_count));
        let name = format!("{}{whole}", one.method);
        let calls = calls_by_name(&one.calls);
        table.row(Style::Plain, std::iter::once(name).chain(figures).chain([calls]));
    }
    table
}

/// `read 2051, write 2048, and 33 others, 147 together`: those that explain the number of calls.
/// What starts and ends a program is among the others.
fn calls_by_name(calls: &[(String, f64)]) -> String {
    let all: f64 = calls.iter().map(|(_, n)| n).sum();
    let (shown, others): (Vec<_>, Vec<_>) = calls.iter().partition(|(_, n)| *n >= FEW * all);
    let together: f64 = others.iter().map(|(_, n)| n).sum();
    let shown = shown.iter().map(|(name, n)| format!("{name} {}", chunk_count(*n)));
    let shown = shown.collect::<Vec<String>>().join(", ");
    match (others.as_slice(), chunk_count(together)) {
        _ if calls.is_empty() => NONE.to_owned(),
        ([], _) => shown,
        // A chunk has hardly any part of them.
        (_, together) if together == "0" => shown,
        ([(name, _)], n) => format!("{shown}, {name} {n}"),
        (others, n) => format!("{shown}, and {} others, {n} together", others.len()),
    }
}

/// A count, of which a chunk may have a part.
fn chunk_count(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0;
    if rounded.fract() == 0.0 { format!("{rounded:.0}") } else { format!("{rounded:.2}") }
}

/// How the values of a column are written.
#[derive(Clone, Copy)]
enum ColumnUnit {
    /// In the author's unit, with the author's number of digits after the point.
    Printed(Unit, usize),
    Common(Unit),
    /// As they were counted.
    Counted,
    /// Each in a unit of its own.
    Own(&'static str),
}

impl ColumnUnit {
    fn new(column: &StudyColumn, values: impl Iterator<Item = f64> + Clone) -> ColumnUnit {
        let stored = metric::unit(&column.metric);
        let printed = Unit::named(stored, &column.unit).filter(|_| !column.unit.is_empty());
        match (printed, stored) {
            (Some(unit), _) => ColumnUnit::Printed(unit, column.decimals),
            (None, "count") => ColumnUnit::Counted,
            (None, stored) => {
                Unit::common(stored, values).map_or(ColumnUnit::Own(stored), ColumnUnit::Common)
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            ColumnUnit::Printed(unit, _) | ColumnUnit::Common(unit) => unit.name,
            ColumnUnit::Counted | ColumnUnit::Own(_) => "",
        }
    }

    fn shown(self, value: f64, is_authors: bool) -> String {
        match self {
            ColumnUnit::Printed(unit, decimals) if is_authors => printed(unit, value, decimals),
            ColumnUnit::Printed(unit, decimals) => printed_beside(unit, value, decimals),
            ColumnUnit::Common(unit) => unit.number(value),
            ColumnUnit::Counted => count(value),
            ColumnUnit::Own(stored) => amount(stored, value),
        }
    }
}

impl StudyReport<'_> {
    /// The table, and whether it has any ratio. All columns are for wide pages.
    pub fn table(&self, is_wide: bool) -> (Table, bool) {
        if let Some(grid) = &self.study.grid {
            return (self.grid(grid), false);
        }
        let (blocks, alone) = (self.blocks(), self.alone());
        let all = || {
            let lines = blocks.iter().flat_map(|block| &block.lines).map(|line| &line.figures);
            lines.chain(alone.iter().map(|(_, figures)| figures))
        };
        let columns = &self.study.columns;
        // A column without a figure is left out.
        let has_room = |at: &usize| is_wide || !columns[*at].wide;
        let is_used = |at: &usize| all().any(|figures| figures[*at].is_some());
        let used = (0..columns.len()).filter(has_room).filter(is_used);
        let used: Vec<usize> = used.collect();
        let values = |at: usize| all().filter_map(move |figures| figures[at]);
        let units: Vec<ColumnUnit> =
            columns.iter().enumerate().map(|(at, c)| ColumnUnit::new(c, values(at))).collect();
        let first =
            TableColumn { gap: 0, too_wide: TooWide::Wrap, ..TableColumn::left("").unit("") };
        let column = |at: &usize| TableColumn::right(title(&columns[*at])).unit(units[*at].name());
        let last = TableColumn::right("ratio").unit("");
        let heads = used.iter().map(column);
        let mut table = Table::new(std::iter::once(first).chain(heads).chain([last]).collect());
        let cells = |name: String, figures: &[Option<f64>], is_authors: bool, own: Option<f64>| {
            let figure = |at: &usize| {
                let shown = figures[*at].map(|value| units[*at].shown(value, is_authors));
                shown.unwrap_or_else(|| NONE.to_owned())
            };
            let own = own.map_or_else(String::new, small_ratio);
            std::iter::once(name).chain(used.iter().map(figure)).chain([own]).collect::<Vec<_>>()
        };
        for block in blocks.iter().filter(|block| !block.lines.is_empty()) {
            table.row(Style::Plain, [block.label.as_str()]).is_title = true;
            for line in &block.lines {
                let mut name = line.whose.name();
                let is_authors = matches!(line.whose, FigureOrigin::Author(_));
                if let FigureOrigin::Author(machine) = line.whose {
                    let runs = self.author_runs(block.key, machine);
                    for (at, figures) in runs.iter().enumerate() {
                        let name = format!("  {machine}, run {}", at + 1);
                        table.row(Style::Plain, cells(name, figures, true, None));
                    }
                    if !runs.is_empty() {
                        name += ", median";
                    }
                }
                let name = format!("  {name}");
                table.row(Style::Plain, cells(name, &line.figures, is_authors, line.ratio));
            }
        }
        if !alone.is_empty() {
            let row = table.row(Style::Plain, ["in no row of the study"]);
            (row.is_title, row.is_ruled) = (true, true);
            for (name, figures) in &alone {
                table.row(Style::Dim, cells(format!("  here: {name}"), figures, false, None));
            }
        }
        let has_ratios =
            blocks.iter().flat_map(|block| &block.lines).any(|line| line.ratio.is_some());
        (table, has_ratios)
    }

    /// The author's table, with ours beside it: a column for each thing that is compared.
    fn grid(&self, grid: &StudyGrid) -> Table {
        let author = self.published.first().map(|one| FigureOrigin::Author(&one.machine));
        let first = TableColumn { gap: 0, too_wide: TooWide::Wrap, ..TableColumn::left("") };
        let mut columns = vec![first.unit("")];
        for (whose, is_there) in [("there", author.is_some()), ("here", !self.runs.is_empty())] {
            let of_side = |name: &String| TableColumn::right(whose).unit(name);
            columns.extend(grid.columns.iter().filter(|_| is_there).map(of_side));
        }
        let mut table = Table::new(columns);
        for line in &grid.lines {
            let unit = Unit::named(metric::unit(&line.metric), &line.unit);
            let rows = || line.rows.iter().map(|key| self.study.row(key));
            let theirs = author.into_iter().flat_map(|author| {
                rows().map(move |row| self.figure(row?, author, &line.metric).map(|v| (v, true)))
            });
            let ours = rows().filter(|_| !self.runs.is_empty()).map(|row| {
                let figure = self.own_figure(row?, line);
                figure.map(|value| (value, false))
            });
            let cell = |found: Option<(f64, bool)>| match (found, unit) {
                (None, _) => NONE.to_owned(),
                (Some((value, true)), Some(unit)) => author_s(unit, value, line.decimals),
                (Some((value, false)), Some(unit)) => printed_beside(unit, value, line.decimals),
                (Some((value, _)), None) => count(value),
            };
            let figures: Vec<String> = theirs.chain(ours).map(cell).collect();
            if figures.iter().any(|figure| figure != NONE) {
                table.row(Style::Plain, std::iter::once(line.title.clone()).chain(figures));
            }
        }
        table
    }

    /// By the author's methods, or else by those in their place.
    fn own_figure(&self, row: &StudyRow, line: &GridLine) -> Option<f64> {
        let own = row.method.as_deref().map(FigureOrigin::Same);
        let other = row.stand_in.as_deref().map(FigureOrigin::InItsPlace);
        own.into_iter().chain(other).find_map(|whose| self.figure(row, whose, &line.metric))
    }
}

/// A figure that is less than 1 has the digits that it needs.
fn author_s(unit: Unit, value: f64, decimals: usize) -> String {
    if value < unit.size() {
        printed_beside(unit, value, decimals).trim_end_matches('0').to_owned()
    } else {
        printed(unit, value, decimals)
    }
}

impl FigureOrigin<'_> {
    pub fn name(self) -> String {
        // The rows of `numbers` are all of one method.
        let plain = |method| if method == "row" { "bytelab numbers" } else { method };
        match self {
            FigureOrigin::Author(machine) => machine.to_owned(),
            FigureOrigin::Same(method) => format!("here: {}", plain(method)),
            FigureOrigin::InItsPlace(method) => format!("in its place: {}", plain(method)),
        }
    }
}

fn title(column: &StudyColumn) -> &str {
    match column.metric.as_str() {
        _ if !column.title.is_empty() => &column.title,
        metric::THROUGHPUT => "",
        name => heading(name),
    }
}

//! The words and the table of a study's page, of whatever kind the page is.

use analysis::{Claimed, Ratio};
use model::metric;
use model::run::Run;

use super::{FigureOrigin, StudyReport, TestResult};
use crate::published::{Relation, Test};
use crate::views::rows::heading;
use crate::views::table::{Style, Table, TableColumn, TooWide};
use crate::views::units::{NONE, Unit, amount, ratio};
use crate::views::words::{joined, minute, taken};

pub(crate) const NO_VERDICT: &str = "No verdict between the published figures and those of here: these are other machines, other \
                          programs and other times.";

pub(crate) const ALL_TOGETHER: &str =
    "Each verdict is by the whole interval of its ratios; all intervals together hold at 95 %.";

pub(crate) const RATIO: &str = "ratio: of the first time in the row (without a time, of the first figure), to the first row of the \
                     same quantity, on the same machine; in the author's order.";

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

/// `read-for ÷ read, wall: 2.29 (95 % interval 1.88–2.78), claimed is at least 6.5: refuted`.
pub(crate) fn tested(tested: &TestResult<'_>) -> String {
    let TestResult { test, names: [of, to], verdict, found } = tested;
    let claimed = claimed(test);
    let metric = in_words(&test.metric);
    let what = match &test.to_metric {
        _ if to.is_empty() => format!("{of}, {metric}"),
        Some(other) => format!("{metric} ÷ {} of {of}", in_words(other)),
        None => format!("{of} ÷ {to}, {metric}"),
    };
    let reason = found.reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
    format!("{what}: {}, claimed is {claimed}: {}{reason}", value(found), word(*verdict).0)
}

fn in_words(name: &str) -> &str {
    if name == "size_bytes" { heading(name) } else { metric::heading(name) }
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
    let zeros = if value > 0.0 { (-value.log10()).floor().clamp(0.0, 9.0) } else { 0.0 };
    ratio(value, 2 + zeros as usize)
}

fn claimed(test: &Test) -> String {
    let factor = test.factor;
    let [low, high] = test.range().map(|bound| ratio(bound, 2));
    match test.relation {
        Relation::AtLeast => format!("at least {factor}"),
        Relation::AtMost => format!("at most {factor}"),
        Relation::About => format!("about {factor} ({low}–{high})"),
        Relation::Same => format!("the same ({low}–{high})"),
    }
}

// The table of a study: each row of the author, with the figures of the author's machines and
// those of here below it.

impl StudyReport<'_> {
    /// The table, and whether it has any ratio. All columns are for wide pages.
    pub fn table(&self, is_wide: bool) -> (Table, bool) {
        let (blocks, alone) = (self.blocks(), self.alone());
        let all = || {
            let lines = blocks.iter().flat_map(|block| &block.lines).map(|line| &line.figures);
            lines.chain(alone.iter().map(|(_, figures)| figures))
        };
        let columns = &self.study.columns;
        // A column without a figure is left out.
        let has_room = |at: &usize| is_wide || !self.study.wide.contains(&columns[*at]);
        let is_used = |at: &usize| all().any(|figures| figures[*at].is_some());
        let used = (0..columns.len()).filter(has_room).filter(is_used);
        let used: Vec<usize> = used.collect();
        let values = |at: usize| all().filter_map(move |figures| figures[at]);
        let units: Vec<Option<Unit>> = (0..columns.len())
            .map(|at| Unit::common(metric::unit(&columns[at]), values(at)))
            .collect();
        let first =
            TableColumn { gap: 0, too_wide: TooWide::Wrap, ..TableColumn::left("").unit("") };
        let column = |at: &usize| {
            TableColumn::right(title(&columns[*at])).unit(units[*at].map_or("", |unit| unit.name))
        };
        let last = TableColumn::right("ratio").unit("");
        let heads = used.iter().map(column);
        let mut table = Table::new(std::iter::once(first).chain(heads).chain([last]).collect());
        let cells = |name: String, figures: &[Option<f64>], own: Option<f64>| {
            let figure = |at: &usize| match (figures[*at], units[*at]) {
                (None, _) => NONE.to_owned(),
                (Some(value), Some(unit)) => unit.number(value),
                (Some(value), None) => amount(metric::unit(&columns[*at]), value),
            };
            let own = own.map_or_else(String::new, small_ratio);
            std::iter::once(name).chain(used.iter().map(figure)).chain([own]).collect::<Vec<_>>()
        };
        for block in blocks.iter().filter(|block| !block.lines.is_empty()) {
            table.row(Style::Plain, [block.label]).is_title = true;
            for line in &block.lines {
                let name = format!("  {}", line.whose.name());
                table.row(Style::Plain, cells(name, &line.figures, line.ratio));
            }
        }
        if !alone.is_empty() {
            let row = table.row(Style::Plain, ["in no row of the study"]);
            (row.is_title, row.is_ruled) = (true, true);
            for (name, figures) in &alone {
                table.row(Style::Dim, cells(format!("  here: {name}"), figures, None));
            }
        }
        let has_ratios =
            blocks.iter().flat_map(|block| &block.lines).any(|line| line.ratio.is_some());
        (table, has_ratios)
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

pub(super) fn title(name: &str) -> &str {
    match name {
        metric::THROUGHPUT => "",
        name => heading(name),
    }
}

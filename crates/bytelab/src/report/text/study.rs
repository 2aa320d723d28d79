//! A published study beside runs of ours: what differs, one table in the author's order, and a
//! verdict on each claim, by our samples alone.

use lab::analyze::{Claimed, Ratio};
use lab::metric;
use lab::run::Run;

use super::grid::{self, Head};
use super::page::{Layout, Page};
use crate::reference::{PREFIX, Relation, Test};
use crate::report::model::rows::heading;
use crate::report::model::study::{Judgement, Outcome, StudyReport, Tested, Whose};
use crate::report::model::table::{Column, Style, Table, TooWide};
use crate::report::model::units::{NONE, Unit, amount, ratio};
use crate::report::model::words::{minute, taken};

const NO_VERDICT: &str = "No verdict between the published figures and those of here: these are other machines, other \
                          programs and other times.";

/// The page of a study, with its claims if `with_claims`.
pub(crate) fn text(report: &StudyReport<'_>, with_claims: bool, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    head(&mut page, report);
    page.blank();
    table(&mut page, report);
    page.blank();
    for (reason, methods) in report.not_measured() {
        let text = format!("{reason} ({})", methods.join(", "));
        page.paragraph(Style::Dim, "not testable here: ", &text);
    }
    if with_claims {
        claims(&mut page, &report.judgements());
    }
    page.blank();
    sources(&mut page, report);
    page.paragraph(Style::Bold, "", NO_VERDICT);
    page.into_text()
}

fn head(page: &mut Page, report: &StudyReport<'_>) {
    page.paragraph(Style::Bold, &format!("{}: ", report.study.name), &report.study.title);
    for published in report.published {
        let text = format!("{PREFIX}{}, another machine: {}", published.name, published.machine);
        page.paragraph(Style::Plain, "there: ", &text);
    }
    for (run, _) in &report.runs {
        page.paragraph(Style::Plain, "here: ", &about(run));
    }
    for text in report.differs() {
        page.paragraph(Style::Plain, "differs: ", &text);
    }
}

fn about(run: &Run) -> String {
    let fact = |name: &str| run.environment.facts.get(name)?.as_str().map(str::to_owned);
    let id = if run.id.is_empty() { None } else { Some(format!("run {}", run.id)) };
    let machine = fact("cpu_model").or_else(|| Some(run.environment.fingerprint.clone()));
    let started = Some(minute(&run.started));
    let experiment = Some(run.experiment.clone());
    let facts = [id, experiment, started, machine, fact("os_name"), taken(run)];
    facts.into_iter().flatten().filter(|fact| !fact.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn table(page: &mut Page, report: &StudyReport<'_>) {
    let (blocks, alone) = (report.blocks(), report.alone());
    let all = || {
        let lines = blocks.iter().flat_map(|block| &block.lines).map(|line| &line.figures);
        lines.chain(alone.iter().map(|(_, figures)| figures))
    };
    let columns = &report.study.columns;
    // A column without a figure is left out.
    let used: Vec<usize> =
        (0..columns.len()).filter(|at| all().any(|figures| figures[*at].is_some())).collect();
    let values = |at: usize| all().filter_map(move |figures| figures[at]).collect::<Vec<f64>>();
    let units: Vec<Option<Unit>> = (0..columns.len())
        .map(|at| Unit::common(metric::unit(&columns[at]), values(at).into_iter()))
        .collect();
    let first = Column { gap: 0, too_wide: TooWide::Wrap, ..Column::left("").unit("") };
    let column =
        |at: usize| Column::right(title(&columns[at])).unit(units[at].map_or("", |unit| unit.name));
    let ratio_column = Column::right("ratio").unit("");
    let heads = used.iter().map(|at| column(*at));
    let mut table = Table::new(std::iter::once(first).chain(heads).chain([ratio_column]).collect());
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
            let name = match line.whose {
                Whose::Author(machine) => format!("  {machine}"),
                Whose::Same(method) => format!("  here: {}", plain(method)),
                Whose::InItsPlace(method) => format!("  in its place: {}", plain(method)),
            };
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
    grid::write(page, &table, Head::Ruled);
    if blocks.iter().flat_map(|block| &block.lines).any(|line| line.ratio.is_some()) {
        let legend = "ratio: to the first row of the same quantity, on the same machine; in the author's order.";
        page.paragraph(Style::Dim, "", legend);
    }
}

/// The rows of `numbers` are all of one method.
fn plain(method: &str) -> &str {
    if method == "row" { "bytelab numbers" } else { method }
}

fn title(name: &str) -> &str {
    match name {
        metric::THROUGHPUT => "",
        name => heading(name),
    }
}

fn claims(page: &mut Page, judgements: &[Judgement<'_>]) {
    page.blank();
    page.line(&[(Style::Bold, "What the author says, and what the samples of here say")]);
    for judgement in judgements {
        let claim = judgement.claim;
        let says = format!("{} — {}", claim.says, claim.figures);
        page.hanging(&format!("{:<4}", claim.id), &says);
        outcome(page, "", &judgement.own);
        if let Some(other) = &judgement.in_their_place {
            outcome(page, "by what stands in its place: ", other);
        }
    }
    let is_judged = |outcome: &Outcome<'_>| matches!(outcome, Outcome::Judged { .. });
    let mut all = judgements.iter().flat_map(|j| std::iter::once(&j.own).chain(&j.in_their_place));
    if all.any(is_judged) {
        let text = "Each verdict is by the whole interval of its ratios; all intervals together hold at 95 %.";
        page.paragraph(Style::Dim, "", text);
    }
}

fn outcome(page: &mut Page, whose: &str, outcome: &Outcome<'_>) {
    let (verdict, tests, missing) = match outcome {
        Outcome::NotHere(reason) => {
            page.hanging("    ", &format!("{whose}not testable here: {reason}"));
            return;
        }
        Outcome::Judged { verdict, tests, missing } => (*verdict, tests, missing),
    };
    let (word, style) = word(verdict);
    page.line(&[(Style::Plain, "    "), (Style::Plain, whose), (style, word)]);
    for test in tests {
        page.hanging("      ", &tested(test));
    }
    for reason in missing {
        page.hanging("      ", &format!("not tested here: {reason}"));
    }
}

fn word(verdict: Claimed) -> (&'static str, Style) {
    match verdict {
        Claimed::Confirmed => ("confirmed", Style::Green),
        Claimed::Refuted => ("refuted", Style::Red),
        Claimed::Undecided => ("undecided", Style::Plain),
    }
}

/// `read-for ÷ read, wall: 2.29 (95 % interval 1.88–2.78), claimed is at least 6.5: refuted`.
fn tested(tested: &Tested<'_>) -> String {
    let Tested { test, names: [of, to], verdict, found } = tested;
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

/// With two digits, however small it is.
fn small_ratio(value: f64) -> String {
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

fn sources(page: &mut Page, report: &StudyReport<'_>) {
    let mut said: Vec<(&str, &str)> = vec![(&report.study.source, &report.study.caveat)];
    said.extend(report.published.iter().map(|published| (published.source, published.caveat)));
    said.dedup();
    for (source, caveat) in said.into_iter().filter(|(source, _)| !source.is_empty()) {
        page.paragraph(Style::Plain, "source: ", source);
        page.paragraph(Style::Plain, "known against it: ", caveat);
    }
}

//! The lists of the experiments, of the params and methods of one of them, and of published
//! results.

use unicode_width::UnicodeWidthStr;

use crate::document::Document;
use crate::published::{PREFIX, Published, Study, Testable, studies};
use crate::text::PageLayout;
use crate::views::study::words::{author_amount, promised};
use crate::views::table::{Style, Table, TableColumn, TooWide};
use crate::views::units::NONE;
use crate::views::words::escape_controls;

const LAYOUT: PageLayout = PageLayout { width: 80, colour: false };

/// The names of experiments, each with its question.
pub fn experiments(entries: Vec<[String; 2]>) -> String {
    let mut page = Document::new(LAYOUT.width);
    section(&mut page, "", 0, entries);
    page.text(&LAYOUT)
}

/// An experiment with its params, methods, rows and languages, each with what it is.
pub struct ListedExperiment<'a> {
    pub name: &'a str,
    pub question: &'a str,
    pub params: Vec<[String; 2]>,
    pub methods: Vec<[String; 2]>,
    /// Of an experiment with one method, whose param `row` chooses what is measured.
    pub rows: Vec<[String; 2]>,
    pub languages: Vec<[String; 2]>,
    pub has_readme: bool,
}

pub fn methods(entries: ListedExperiment<'_>) -> String {
    let ListedExperiment { name, question, params, methods, rows, languages, has_readme } = entries;
    let mut page = Document::new(LAYOUT.width);
    page.paragraph(Style::Plain, &format!("{name}: "), question);
    let names = params.iter().chain(&methods).chain(&rows);
    let names = names.map(|[name, _]| escape_controls(name).width());
    let width = names.max().unwrap_or_default();
    section(&mut page, "Params:", width, params);
    section(&mut page, "Methods:", width, methods);
    section(&mut page, "Rows (--row NAME,… measures these alone):", width, rows);
    let heading = "Other languages (--language NAME,… takes all methods in these):";
    section(&mut page, heading, width, languages);
    if has_readme {
        page.gap();
        let about = "What is timed, and its known bias: ";
        page.hanging(about, &format!("bytelab list {name} --readme"));
    }
    page.text(&LAYOUT)
}

/// Names of at least this width, each followed by its description over as many lines as needed.
fn section(page: &mut Document, heading: &str, width: usize, entries: Vec<[String; 2]>) {
    if entries.is_empty() {
        return;
    }
    if !heading.is_empty() {
        page.gap();
        page.line(&[(Style::Plain, heading)]);
    }
    let column = |width_min, too_wide| TableColumn {
        heading: Vec::new(),
        width_min,
        too_wide,
        ..TableColumn::left("")
    };
    let columns = vec![column(width, TooWide::Stay), column(0, TooWide::Wrap)];
    let mut table = Table::new(columns);
    for entry in entries {
        table.row(Style::Plain, entry);
    }
    page.headed(table, Style::Plain);
}

/// The figures of one published result.
pub fn published_figures(published: &Published, layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    let name = format!("{PREFIX}{} · {}", published.name, published.machine);
    page.paragraph(Style::Bold, "", &name);
    page.paragraph(Style::Plain, "", published.title);
    page.paragraph(Style::Plain, "source: ", published.source);
    page.paragraph(Style::Plain, "known against it: ", published.caveat);
    page.gap();
    let heads = ["method", "metric", "p0", "p25", "p50", "p75", "p90", "p99", "p100", "n"];
    let mut table = Table::plain(&heads, false);
    let study = studies().iter().find(|study| study.published.contains(&published.name));
    for figure in &published.figures {
        let mut columns = study.iter().flat_map(|study| &study.columns);
        let column = columns.find(|column| column.metric == figure.metric);
        let amount = |value: f64| author_amount(column, figure.unit, value);
        let shown = |p: f64| {
            let found = figure.percentiles.iter().find(|(known, _)| (known - p).abs() < 0.01);
            found.map_or(NONE.to_owned(), |(_, value)| amount(*value))
        };
        let mut cells = vec![figure.method.clone(), figure.metric.clone()];
        cells.extend([0.0, 25.0].map(shown));
        cells.push(amount(figure.p50));
        cells.extend([75.0, 90.0, 99.0, 100.0].map(shown));
        cells.push(figure.n.map_or(NONE.to_owned(), |n| n.to_string()));
        table.row(Style::Plain, cells);
    }
    page.table(table);
    page.text(layout)
}

/// All published results, each with its source and its known defects, and the studies, each with
/// the claims that can have a verdict on this machine.
pub fn published(all: &[Published], studies: &[(&Study, Testable)], layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    for (at, published) in all.iter().enumerate() {
        let name = format!("{PREFIX}{}", published.name);
        page.title(&name);
        let about = format!(
            "{}, on: {}; to stand beside a run of {}",
            published.title, published.machine, published.experiment
        );
        page.hanging("  ", &about);
        // The machines of one author have the same.
        if let Some(earlier) = all[..at].iter().find(|other| other.source == published.source) {
            page.hanging("  source: ", &format!("as {PREFIX}{}", earlier.name));
        } else {
            page.hanging("  source: ", published.source);
            page.hanging("  known against it: ", published.caveat);
        }
    }
    page.gap();
    page.paragraph(Style::Bold, "", "Studies, which `bytelab run` measures here");
    for (study, testable) in studies {
        let about = format!("{}; {}", study.title, promised(study, *testable));
        page.hanging(&format!("  {PREFIX}{}: ", study.name), &about);
    }
    page.text(layout)
}

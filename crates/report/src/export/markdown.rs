//! Markdown for GitHub, with the Markdown and HTML markup in names escaped.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::Result;

use super::format::Exported;
use super::markup::Markup;
use super::{ExportFormat, FormatKind};
use crate::pages::numbers;
use crate::pages::run::{self, PageExtent, TextOptions};
use crate::views::table::TableColumn;
use crate::views::words::escape_controls;
use crate::views::{View, view};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "markdown",
    about: "the tables as they are shown",
    extensions: &["md", "markdown"],
    kind: FormatKind::Text,
    is_of_samples: false,
    write,
};

pub(crate) const MARKDOWN: Markup = Markup {
    heading: |text| format!("### {text}\n"),
    title: |title| format!("**{title}**\n"),
    titles_tables: false,
    head: |columns, cells| {
        let rule = |column: &&TableColumn| if column.is_left { "---" } else { "---:" };
        let rules: Vec<&str> = columns.iter().map(rule).collect();
        format!("| {} |\n| {} |\n", cells.join(" | "), rules.join(" | "))
    },
    row: |cells| format!("| {} |\n", cells.join(" | ")),
    end: "",
    verbatim: Some(fenced),
    escaped,
    cell: escaped,
    code: code_of_cell,
    details: Some(folded),
};

/// For tables whose texts are all of this program.
pub(crate) const OWN_CELLS: Markup = Markup { cell: |text| text.replace('|', "\\|"), ..MARKDOWN };

/// For the summary of a step of GitHub's, which reads some escaped characters as markup.
pub(crate) const STEP_SUMMARY: Markup =
    Markup { escaped: escaped_for_summary, cell: escaped_for_summary, ..MARKDOWN };

fn write(exported: &Exported<'_>, out: &mut (dyn Write + Send)) -> Result<Vec<String>> {
    let Exported { run, analysis, options, .. } = *exported;
    if view(run) == View::Rows {
        out.write_all(numbers::markdown(run, analysis, &[]).as_bytes())?;
        return Ok(Vec::new());
    }
    let (table, all_notes, extent) = (options.table, options.notes, PageExtent::All);
    let shown = TextOptions { table, all_notes, extent, ..TextOptions::default() };
    out.write_all(MARKDOWN.render(&run::markdown(run, analysis, shown)).as_bytes())?;
    // The notes say why something was not measured.
    Ok(if options.notes { Vec::new() } else { exported.left_out() })
}

/// A code block that no text in it can end.
fn fenced(text: &str) -> String {
    let ticks = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(ticks.max(2) + 1);
    format!("{fence}text\n{text}\n{fence}\n")
}

/// What is folded below its summary.
fn folded(summary: &str, text: &str) -> String {
    format!("<details>\n<summary>{summary}</summary>\n\n{text}\n</details>\n")
}

/// Code in a cell of a table, where only a column separator has to be escaped.
fn code_of_cell(text: &str) -> String {
    let text = escape_controls(text).replace('|', "\\|");
    let ticks = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(ticks + 1);
    if text.is_empty() {
        return text;
    }
    let gap = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{gap}{text}{gap}{fence}")
}

/// One line in which no text is markup, a link, or a mention that would notify a user.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in escape_controls(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '|' | '~' | '$' => {
                escaped.extend(['\\', c]);
            }
            c => escaped.push(c),
        }
    }
    // Otherwise both would become links.
    escaped.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
}

/// Escapes line ends, column separators, tags and Markdown markup.
fn escaped_for_summary(text: &str) -> String {
    let mut escaped = String::new();
    for c in escape_controls(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '!' | '@' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

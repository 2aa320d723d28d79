//! Text in Markdown.

use crate::report::model::table::{Column, Row, Table};
use crate::report::model::words::clean;

/// A table with each text escaped by `escaped`.
pub(super) fn table(table: &Table, escaped: impl Fn(&str) -> String) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heading = |column: &Column| escaped(column.heading.join(" ").trim());
    let rule = |column: &Column| if column.is_left { "---" } else { "---:" }.to_owned();
    let cells = |row: &Row| line(row.cells.iter().map(|cell| escaped(cell.text.trim())).collect());
    line(table.columns.iter().map(heading).collect())
        + &line(table.columns.iter().map(rule).collect())
        + &table.rows.iter().map(cells).collect::<String>()
}

/// One line in which no text is markup, a link, or a mention that would notify a user.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
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

//! A table whose columns can be sorted.

use lab::analyze::Verdict;

use super::Html;
use crate::report::model::table::{Cell, CellKind, Standing, Table};

/// More rows than these make a page too slow for browsers.
pub(super) const ROWS_MAX: usize = 3000;

/// The first column is the row's heading.
pub(super) fn write(html: &mut Html, id: &str, caption: &str, table: &Table) {
    html.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\">\n<table");
    if !id.is_empty() {
        html.element(" id=\"", id, "\"");
    }
    html.element(">\n<caption>", caption, "</caption>\n<thead>\n<tr>");
    for column in &table.columns {
        let [heading, unit] = [0, 1].map(|at| column.heading.get(at).map_or("", String::as_str));
        html.element("<th scope=\"col\">", heading, "");
        if !unit.is_empty() {
            html.element(" <small>", unit, "</small>");
        }
        html.raw("</th>");
    }
    html.raw("</tr>\n</thead>\n<tbody>\n");
    for row in &table.rows {
        if let Some(title) = row.cells.first().filter(|_| row.is_title) {
            let columns = table.columns.len().to_string();
            html.element("<tr class=\"title\"><th scope=\"rowgroup\" colspan=\"", &columns, "\">");
            html.element("", title.text.trim(), "</th></tr>\n");
            continue;
        }
        html.raw("<tr>");
        for (i, shown) in row.cells.iter().enumerate() {
            cell(html, shown, i == 0);
        }
        html.raw("</tr>\n");
    }
    html.raw("</tbody>\n</table>\n</div>\n");
}

fn cell(html: &mut Html, cell: &Cell, heads: bool) {
    html.raw(if heads { "<th scope=\"row\"" } else { "<td" });
    if let Some(key) = cell.key {
        html.element(" data-key=\"", &key.to_string(), "\"");
    }
    if let Some(class) = class(cell.kind) {
        html.element(" class=\"", class, "\"");
    }
    html.element(">", cell.text.trim(), if heads { "</th>" } else { "</td>" });
}

fn class(kind: CellKind) -> Option<&'static str> {
    Some(match kind {
        CellKind::Text => return None,
        CellKind::Number => "number",
        CellKind::Verdict(Standing::Compared(Verdict::Faster)) => "faster",
        CellKind::Verdict(Standing::Compared(Verdict::Slower)) => "slower",
        CellKind::Verdict(Standing::Compared(Verdict::WrongAnswer)) => "wrong",
        CellKind::Verdict(_) => "quiet",
    })
}

pub(super) fn left_out(html: &mut Html, rows: usize) {
    if rows > 0 {
        let text = format!("{rows} more rows are left out; bytelab show --json has all of them.");
        html.element("<p class=\"small\">", &text, "</p>\n");
    }
}

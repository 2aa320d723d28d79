//! An HTML document that is being written, and tables in it whose columns can be sorted.

use std::fmt::Write;

use analysis::Verdict;

use crate::views::table::{CellKind, RowRole, Table, TableCell};
use crate::views::words::escape_controls;

/// A document that is being written. Content that is unknown at build time can be added only as
/// text or as JSON.
pub(super) struct Html(pub(super) String);

impl Html {
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.0 += markup;
    }

    /// Text, or the value of an attribute in double quotes.
    pub(super) fn text(&mut self, text: &str) {
        for c in escape_controls(text).chars() {
            match c {
                '<' => self.0 += "&lt;",
                '>' => self.0 += "&gt;",
                '&' => self.0 += "&amp;",
                '"' => self.0 += "&quot;",
                '\'' => self.0 += "&#39;",
                c => self.0.push(c),
            }
        }
    }

    pub(super) fn element(&mut self, open: &'static str, text: &str, close: &'static str) {
        self.raw(open);
        self.text(text);
        self.raw(close);
    }

    /// The content of a script element that is data: no markup can begin inside it.
    pub(super) fn json(&mut self, data: &impl serde::Serialize) {
        let text = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
        for c in text.chars() {
            match c {
                '<' => self.0 += "\\u003c",
                '>' => self.0 += "\\u003e",
                '&' => self.0 += "\\u0026",
                c if c.is_ascii() => self.0.push(c),
                // Escaped, as such characters may change the direction of writing or be invisible.
                c => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let _ = write!(self.0, "\\u{unit:04x}");
                    }
                }
            }
        }
    }
}

/// More rows than these make a page too slow for browsers.
pub(super) const ROWS_MAX: usize = 3000;

/// The first column is the row's heading.
pub(super) fn write_table(html: &mut Html, id: &str, caption: &str, table: &Table) {
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

fn cell(html: &mut Html, cell: &TableCell, heads: bool) {
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
        CellKind::Verdict(RowRole::Compared(Verdict::Faster)) => "faster",
        CellKind::Verdict(RowRole::Compared(Verdict::Slower)) => "slower",
        CellKind::Verdict(RowRole::Compared(Verdict::WrongAnswer)) => "wrong",
        CellKind::Verdict(_) => "quiet",
    })
}

pub(super) fn left_out(html: &mut Html, rows: usize) {
    if rows > 0 {
        let text = format!("{rows} more rows are left out; bytelab show --json has all of them.");
        html.element("<p class=\"small\">", &text, "</p>\n");
    }
}

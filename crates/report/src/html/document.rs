//! Blocks as HTML. The columns of tables can be sorted.

use std::fmt::Write;

use analysis::Verdict;

use crate::document::{Block, Paragraph};
use crate::text::{self, PageLayout};
use crate::views::table::{CellKind, RowRole, Style, Table, TableCell};
use crate::views::units;
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

    /// Titles are one level lower where the blocks are within others.
    pub(super) fn blocks(&mut self, blocks: &[Block], is_within: bool) {
        // The items of a list that is being written.
        let mut items = 0;
        for block in blocks.iter().filter(|block| !matches!(block, Block::Gap)) {
            let is_item = matches!(block, Block::Item(_) | Block::Note(_));
            if is_item && items == 0 {
                self.raw("<ul class=\"notes\">\n");
            } else if !is_item {
                self.end_list(&mut items);
            }
            items += usize::from(is_item);
            if items <= ROWS_MAX {
                self.block(block, is_within);
            }
        }
        self.end_list(&mut items);
    }

    fn end_list(&mut self, items: &mut usize) {
        let items = std::mem::take(items);
        if items > 0 {
            self.raw("</ul>\n");
            self.left_out(items.saturating_sub(ROWS_MAX));
        }
    }

    fn block(&mut self, block: &Block, is_within: bool) {
        match block {
            Block::Heading { name, text } => {
                self.element("<header>\n<p class=\"kicker\">bytelab · ", name, "</p>\n");
                self.element("<h1>", text, "</h1>\n</header>\n");
            }
            Block::Title(title) if is_within => self.element("<h3>", title, "</h3>\n"),
            Block::Title(title) => self.element("<h2>", title, "</h2>\n"),
            Block::Line(parts) => {
                self.raw("<p>");
                for (style, part) in parts {
                    self.styled(*style, part);
                }
                self.raw("</p>\n");
            }
            Block::Paragraph(paragraph) => self.paragraph(paragraph),
            Block::Facts(text) => self.element("<p class=\"facts\">", text, "</p>\n"),
            Block::Answer(text) => self.element("<p class=\"answer\">", text, "</p>\n"),
            Block::Item(text) => self.element("<li>", text, "</li>\n"),
            Block::Note(Paragraph { mark, text, .. }) => {
                self.raw("<li>");
                if !mark.is_empty() {
                    self.element("<b>", mark.trim_end_matches(": "), "</b>: ");
                }
                self.element("", text, "</li>\n");
            }
            Block::Table { caption, table, .. } => self.table(caption, table),
            Block::Figure { caption, svg } => {
                self.raw("<figure>\n<div class=\"scroll\">\n");
                self.0 += svg;
                self.element("</div>\n<figcaption>", caption, "</figcaption>\n</figure>\n");
            }
            Block::Gap => {}
            Block::Columns(blocks) => {
                let layout = PageLayout { width: COLUMNS_WIDTH, colour: false };
                self.lines(&text::render(blocks, &layout));
            }
            Block::Section { id, title, blocks } => {
                self.element("<section aria-labelledby=\"", id, "-heading\">\n");
                self.element("<h2 id=\"", id, "-heading\">");
                self.element("", title, "</h2>\n");
                self.blocks(blocks, true);
                self.raw("</section>\n");
            }
            Block::Details { summary, blocks } => {
                self.element("<details>\n<summary>", summary, "</summary>\n");
                self.blocks(blocks, true);
                self.raw("</details>\n");
            }
            Block::Filter => self.raw(include_str!("filter.html")),
            Block::Charts { drawn, left_out } => self.charts(*drawn, *left_out),
        }
    }

    fn styled(&mut self, style: Style, text: &str) {
        match style {
            Style::Plain | Style::Dim => self.text(text),
            Style::Bold => self.element("<strong>", text, "</strong>"),
            Style::Green => self.element("<strong class=\"good\">", text, "</strong>"),
            Style::Red => self.element("<strong class=\"bad\">", text, "</strong>"),
        }
    }

    fn paragraph(&mut self, Paragraph { style, mark, text, hangs }: &Paragraph) {
        let indent = mark.len() - mark.trim_start().len();
        match style {
            _ if *hangs => {
                self.element("<p style=\"margin-left: ", &indent.to_string(), "ch\">");
            }
            Style::Dim => self.raw("<p class=\"small\">"),
            Style::Bold | Style::Red => self.raw("<p class=\"warning\">"),
            Style::Plain | Style::Green => self.raw("<p>"),
        }
        self.text(mark.trim_start());
        self.element("", text, "</p>\n");
    }

    /// Text in columns.
    pub(super) fn lines(&mut self, text: &str) {
        self.raw(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"chart\">\n<pre>",
        );
        for line in text.lines() {
            self.element("", line, "\n");
        }
        self.raw("</pre>\n</div>\n");
    }

    /// The elements of the charts, which the script fills.
    fn charts(&mut self, drawn: usize, left_out: usize) {
        self.raw("<section id=\"charts\" aria-labelledby=\"charts-heading\" hidden>\n");
        self.raw(include_str!("charts.html"));
        self.raw("</section>\n<p class=\"warning\" id=\"unscripted\">The charts need JavaScript; ");
        self.raw("the tables do not.</p>\n");
        self.raw("<p id=\"trouble\" class=\"warning\" role=\"alert\" hidden></p>\n");
        if left_out > 0 {
            let text = format!(
                "The charts show the first {drawn} cells; {} more are left out.",
                units::count(left_out as f64)
            );
            self.element("<p class=\"small\">", &text, "</p>\n");
        }
    }

    /// The first column is the row's heading.
    fn table(&mut self, caption: &str, table: &Table) {
        self.raw(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\">\n<table",
        );
        if !table.id.is_empty() {
            self.element(" id=\"", table.id, "\"");
        }
        self.element(">\n<caption>", caption, "</caption>\n<thead>\n<tr>");
        for column in &table.columns {
            let [heading, unit] =
                [0, 1].map(|at| column.heading.get(at).map_or("", String::as_str));
            self.element("<th scope=\"col\">", heading, "");
            if !unit.is_empty() {
                self.element(" <small>", unit, "</small>");
            }
            self.raw("</th>");
        }
        self.raw("</tr>\n</thead>\n<tbody>\n");
        for row in table.rows.iter().take(ROWS_MAX) {
            if let Some(title) = row.cells.first().filter(|_| row.is_title) {
                let columns = table.columns.len().to_string();
                self.element(
                    "<tr class=\"title\"><th scope=\"rowgroup\" colspan=\"",
                    &columns,
                    "\">",
                );
                self.element("", title.text.trim(), "</th></tr>\n");
                continue;
            }
            self.raw("<tr>");
            for (at, shown) in row.cells.iter().enumerate() {
                self.cell(shown, at == 0);
            }
            self.raw("</tr>\n");
        }
        self.raw("</tbody>\n</table>\n</div>\n");
        self.left_out(table.rows.len().saturating_sub(ROWS_MAX));
    }

    fn cell(&mut self, cell: &TableCell, heads: bool) {
        self.raw(if heads { "<th scope=\"row\"" } else { "<td" });
        if let Some(key) = cell.key {
            self.element(" data-key=\"", &key.to_string(), "\"");
        }
        if let Some(class) = class(cell.kind) {
            self.element(" class=\"", class, "\"");
        }
        self.element(">", cell.text.trim(), if heads { "</th>" } else { "</td>" });
    }

    fn left_out(&mut self, rows: usize) {
        if rows > 0 {
            let text =
                format!("{rows} more rows are left out; bytelab show --json has all of them.");
            self.element("<p class=\"small\">", &text, "</p>\n");
        }
    }
}

/// More rows than these make a page too slow for browsers.
const ROWS_MAX: usize = 3000;

/// The width of text in columns, which scrolls on a narrow screen.
const COLUMNS_WIDTH: usize = 100;

fn class(kind: CellKind) -> Option<&'static str> {
    Some(match kind {
        CellKind::Text | CellKind::Code => return None,
        CellKind::Number => "number",
        CellKind::Verdict(RowRole::Compared(Verdict::Faster)) => "faster",
        CellKind::Verdict(RowRole::Compared(Verdict::Slower)) => "slower",
        CellKind::Verdict(RowRole::Compared(Verdict::WrongAnswer)) => "wrong",
        CellKind::Verdict(_) => "quiet",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn titles_have_levels_items_a_list_and_nothing_is_markup() {
        let mut page = Document::new(Document::UNLIMITED);
        page.title("<a>");
        page.section("notes", "Notes", |page| {
            page.title("b");
            page.note(Style::Bold, "mmap: ", "c & d");
            page.gap();
            page.note(Style::Plain, "", "e");
        });
        page.line(&[(Style::Plain, "  claimed: "), (Style::Green, "confirmed")]);
        page.hanging("  F1 ", "f");
        let mut html = Html(String::new());
        html.blocks(&page.blocks, false);
        assert_eq!(
            html.0,
            "<h2>&lt;a&gt;</h2>\n<section aria-labelledby=\"notes-heading\">\n\
             <h2 id=\"notes-heading\">Notes</h2>\n<h3>b</h3>\n<ul class=\"notes\">\n\
             <li><b>mmap</b>: c &amp; d</li>\n<li>e</li>\n</ul>\n</section>\n\
             <p>  claimed: <strong class=\"good\">confirmed</strong></p>\n\
             <p style=\"margin-left: 2ch\">F1 f</p>\n"
        );
    }

    #[test]
    fn rows_beyond_the_most_are_counted() {
        let mut page = Document::new(Document::UNLIMITED);
        for _ in 0..ROWS_MAX + 2 {
            page.blocks.push(Block::Item("x".to_owned()));
        }
        let mut html = Html(String::new());
        html.blocks(&page.blocks, false);
        assert_eq!(html.0.matches("<li>").count(), ROWS_MAX);
        assert!(html.0.contains("2 more rows are left out"), "{}", html.0.len());
    }
}

//! Documents in markup languages: what all of them have in common. A language is a [`Markup`] in a
//! file of its own.

use std::io::Write;

use anyhow::Result;

use super::format::Exported;
use crate::document::{Block, Document, Paragraph};
use crate::pages::run;
use crate::text::{self, PageLayout};
use crate::views::table::{CellKind, Table, TableCell, TableColumn, TableRow};
use crate::views::words::escape_controls;

/// The syntax of a markup language. Each block ends with a line end.
pub(crate) struct Markup {
    pub(super) heading: fn(&str) -> String,
    pub(super) title: fn(&str) -> String,
    /// Whether a title is that of the table below it, which no empty line may separate from it.
    pub(super) titles_tables: bool,
    /// The begin of a table of these columns, with these headings.
    pub(super) head: fn(&[&TableColumn], &[String]) -> String,
    pub(super) row: fn(&[String]) -> String,
    /// The end of a table.
    pub(super) end: &'static str,
    /// Lines as they are; none where only tables are exported.
    pub(super) verbatim: Option<fn(&str) -> String>,
    /// One line in which nothing is markup.
    pub(super) escaped: fn(&str) -> String,
    /// The same for a cell of a table.
    pub(super) cell: fn(&str) -> String,
    /// The same for a cell with a name or a command.
    pub(super) code: fn(&str) -> String,
    /// Blocks below a summary that a reader unfolds; none where they are shown like others.
    pub(super) details: Option<fn(&str, &str) -> String>,
}

/// The width of text in columns, which cannot be wrapped.
const COLUMNS_WIDTH: usize = 100;

impl Markup {
    pub(crate) fn render(&self, document: &Document) -> String {
        self.blocks(&document.blocks)
    }

    fn blocks(&self, blocks: &[Block]) -> String {
        let mut out = String::new();
        let mut above: Option<&Block> = None;
        for block in blocks {
            let text = self.block(block);
            if text.is_empty() {
                continue;
            }
            let follows = match (above, block) {
                (None, _)
                | (Some(Block::Note(_)), Block::Note(_))
                | (Some(Block::Item(_)), Block::Item(_)) => true,
                (Some(Block::Title(_)), Block::Table { .. }) => self.titles_tables,
                _ => false,
            };
            if !follows {
                out.push('\n');
            }
            out += &text;
            above = Some(block);
        }
        out
    }

    /// Empty if there is nothing to be shown.
    fn block(&self, block: &Block) -> String {
        match block {
            Block::Heading { name, text } => {
                (self.heading)(&(self.escaped)(&one_line(&format!("{name}: {text}"))))
            }
            Block::Title(title) => (self.title)(&(self.escaped)(title)),
            Block::Line(parts) => {
                let parts = parts.iter().map(|(_, part)| part.as_str());
                self.line("", &one_line(&parts.collect::<String>()))
            }
            Block::Facts(text) => self.line("", &one_line(text)),
            Block::Paragraph(Paragraph { mark, text, .. }) => {
                self.line("", &one_line(&format!("{mark}{text}")))
            }
            Block::Item(text) => self.line("- ", &one_line(text)),
            Block::Note(Paragraph { mark, text, .. }) => {
                self.line("- ", &one_line(&format!("{mark}{text}")))
            }
            Block::Answer(text) => self.line("", text),
            Block::Table { table, .. } => self.table(table),
            Block::Details { summary, blocks } => match self.details {
                Some(details) => details(&(self.escaped)(summary), &self.blocks(blocks)),
                None => self.blocks(blocks),
            },
            Block::Section { title, blocks, .. } => {
                (self.title)(&(self.escaped)(title)) + "\n" + &self.blocks(blocks)
            }
            Block::Gap | Block::Figure { .. } | Block::Filter | Block::Charts { .. } => {
                String::new()
            }
            Block::Columns(blocks) => {
                let layout = PageLayout { width: COLUMNS_WIDTH, colour: false };
                let text = text::render(blocks, &layout);
                match (self.verbatim, text.trim_matches('\n')) {
                    (Some(verbatim), text) if !text.trim().is_empty() => verbatim(text),
                    _ => String::new(),
                }
            }
        }
    }

    fn line(&self, mark: &str, text: &str) -> String {
        if text.is_empty() { String::new() } else { format!("{mark}{}\n", (self.escaped)(text)) }
    }

    /// Columns without any text, such as one of marks that no row has, are left out.
    fn table(&self, table: &Table) -> String {
        let is_empty = |at: usize| {
            let mut cells = table.rows.iter().filter_map(|row| row.cells.get(at));
            table.columns[at].heading.iter().all(|text| text.trim().is_empty())
                && cells.all(|cell| cell.text.trim().is_empty())
        };
        let shown: Vec<usize> = (0..table.columns.len()).filter(|at| !is_empty(*at)).collect();
        let columns: Vec<&TableColumn> = shown.iter().map(|at| &table.columns[*at]).collect();
        let headings = columns.iter().map(|column| column.heading.join(" "));
        let headings: Vec<String> = headings.map(|text| (self.cell)(text.trim())).collect();
        let cell = |cell: &TableCell| match cell.kind {
            CellKind::Code => (self.code)(cell.text.trim()),
            _ => (self.cell)(cell.text.trim()),
        };
        let row = |row: &TableRow| {
            let cells = shown.iter().filter_map(|at| row.cells.get(*at)).map(cell);
            (self.row)(&cells.collect::<Vec<_>>())
        };
        let rows: String = table.rows.iter().map(row).collect();
        (self.head)(&columns, &headings) + &rows + self.end
    }
}

/// Languages of markup wrap lines themselves.
fn one_line(text: &str) -> String {
    escape_controls(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes the tables of a run, and returns what is left out.
pub(super) fn write_tables(
    exported: &Exported<'_>,
    markup: &Markup,
    out: &mut (dyn Write + Send),
) -> Result<Vec<String>> {
    let tables = run::tables(exported.run, exported.analysis, exported.options.table);
    out.write_all(markup.render(&tables).as_bytes())?;
    Ok(exported.left_out())
}

#[cfg(test)]
mod tests {
    use super::super::asciidoc::ASCIIDOC;
    use super::super::markdown::MARKDOWN;
    use super::*;
    use crate::views::table::Style;

    #[test]
    fn each_block_stands_apart_but_notes_are_one_list() {
        let mut page = Document::new(Document::UNLIMITED);
        page.heading("a", "b  c");
        page.title("x=1");
        let mut table = Table::plain(&["method", "n"], false);
        table.row(Style::Plain, ["*", "1"]);
        page.table(table);
        page.gap();
        page.answer(String::new());
        page.note(Style::Plain, "note: ", "one");
        page.gap();
        page.note(Style::Plain, "", "two");
        page.columns(|page| page.line(&[(Style::Bold, "```")]));
        assert_eq!(
            MARKDOWN.render(&page),
            "### a: b c\n\n**x=1**\n\n| method | n |\n| --- | ---: |\n| \\* | 1 |\n\n\
             - note: one\n- two\n\n````text\n```\n````\n"
        );
        assert_eq!(
            ASCIIDOC.render(&page),
            "a: b c\n\n.x=1\n[cols=\"<,>\",options=\"header\"]\n|===\n| method | n\n\n\
             | &#42; | 1\n|===\n\n- note: one\n- two\n"
        );
    }
}

//! `AsciiDoc`: the question, and for each point a table and its answer.

use super::markup::{self, Markup};
use super::{ExportFormat, FormatKind};
use crate::views::words::escape_controls;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "asciidoc",
    about: "the tables in AsciiDoc",
    extensions: &["adoc", "asciidoc"],
    kind: FormatKind::Text,
    is_of_samples: false,
    write: |exported, out| markup::write_tables(exported, &ASCIIDOC, out),
};

pub(super) const ASCIIDOC: Markup = Markup {
    heading: |text| format!("{text}\n"),
    title: |title| format!(".{title}\n"),
    titles_tables: true,
    head: |columns, cells| {
        let side = |is_left| if is_left { "<" } else { ">" };
        let sides: Vec<&str> = columns.iter().map(|column| side(column.is_left)).collect();
        let (sides, cells) = (sides.join(","), cells.join(" | "));
        format!("[cols=\"{sides}\",options=\"header\"]\n|===\n| {cells}\n\n")
    },
    row: |cells| format!("| {}\n", cells.join(" | ")),
    end: "|===\n",
    verbatim: None,
    escaped,
    cell: escaped,
    code: escaped,
    details: None,
};

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in escape_controls(text).chars() {
        if "&<>|*_`#^~+{}[]\\\"'".contains(c) {
            escaped.extend(["&#", &u32::from(c).to_string(), ";"]);
        } else {
            escaped.push(c);
        }
    }
    // Otherwise it would become a link.
    escaped.replace("://", "&#58;//")
}

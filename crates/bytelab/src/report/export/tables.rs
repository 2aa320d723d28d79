//! The tables for documents in Asciidoc and for Emacs: the question, and for each point a table and
//! its answer.

use std::io::{self, Write};

use lab::run::Run;

use super::cells::Exported;
use super::{Format, Kind};
use crate::report::model::table::{Row, Table};
use crate::report::model::varying::Varying;
use crate::report::model::words::clean;
use crate::report::model::{answer, rows};
use crate::report::text::results;

pub(super) const ASCIIDOC_FORMAT: Format = Format {
    name: "asciidoc",
    about: "the tables in AsciiDoc",
    extensions: &["adoc", "asciidoc"],
    kind: Kind::Text,
    write: |exported, out| Ok(write(exported, &ASCIIDOC, out)?),
};

pub(super) const ORGMODE_FORMAT: Format = Format {
    name: "orgmode",
    about: "the tables for Emacs Org mode",
    extensions: &["org"],
    kind: Kind::Text,
    write: |exported, out| Ok(write(exported, &ORGMODE, out)?),
};

/// How a language marks the parts of a table.
struct Markup {
    title: fn(&str) -> String,
    begin: fn(&Table) -> String,
    heading: fn(&[String]) -> String,
    row: fn(&[String]) -> String,
    end: &'static str,
    /// One line in which nothing is markup.
    escaped: fn(&str) -> String,
}

const ASCIIDOC: Markup = Markup {
    title: |title| format!(".{title}\n"),
    begin: |table| {
        let side = |is_left| if is_left { "<" } else { ">" };
        let sides: Vec<&str> = table.columns.iter().map(|column| side(column.is_left)).collect();
        format!("[cols=\"{}\",options=\"header\"]\n|===\n", sides.join(","))
    },
    heading: |cells| format!("| {}\n\n", cells.join(" | ")),
    row: |cells| format!("| {}\n", cells.join(" | ")),
    end: "|===\n",
    escaped: |text| {
        let mut escaped = String::new();
        for c in clean(text).chars() {
            if "&<>|*_`#^~+{}[]\\\"'".contains(c) {
                escaped.extend(["&#", &u32::from(c).to_string(), ";"]);
            } else {
                escaped.push(c);
            }
        }
        // Otherwise it would become a link.
        escaped.replace("://", "&#58;//")
    },
};

const ORGMODE: Markup = Markup {
    title: |title| format!("#+CAPTION: {title}\n"),
    begin: |_| String::new(),
    heading: |cells| {
        format!("| {} |\n|{}|\n", cells.join(" | "), vec!["---"; cells.len()].join("+"))
    },
    row: |cells| format!("| {} |\n", cells.join(" | ")),
    end: "",
    escaped: |text| clean(text).replace('|', "\\vert{}"),
};

fn write(exported: &Exported<'_>, markup: &Markup, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let varying = Varying::of_run(exported.run);
    let all = rows::arranged(exported.run, exported.analysis, exported.options.table);
    let Run { experiment, question, .. } = exported.run;
    writeln!(out, "{}", (markup.escaped)(&format!("{experiment}: {question}")))?;
    for rows in &all {
        writeln!(out)?;
        if all.len() > 1 {
            let point = varying.shown(&rows.family.point);
            out.write_all((markup.title)(&(markup.escaped)(&point)).as_bytes())?;
        }
        if rows.iter().next().is_some() {
            out.write_all(table(&results::whole(rows), markup).as_bytes())?;
        }
        writeln!(out, "\n{}", (markup.escaped)(&answer::of_family(rows)))?;
    }
    Ok(exported.left_out())
}

fn table(table: &Table, markup: &Markup) -> String {
    let headings = table.columns.iter().map(|column| column.heading.join(" "));
    let headings: Vec<String> = headings.map(|text| (markup.escaped)(text.trim())).collect();
    let cells = |row: &Row| {
        let cells = row.cells.iter().map(|cell| (markup.escaped)(cell.text.trim()));
        (markup.row)(&cells.collect::<Vec<_>>())
    };
    let rows: String = table.rows.iter().map(cells).collect();
    (markup.begin)(table) + &(markup.heading)(&headings) + &rows + markup.end
}

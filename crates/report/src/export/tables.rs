//! The tables for documents in Asciidoc and for Emacs: the question, and for each point a table and
//! its answer.

use std::io::{self, Write};

use model::run::Run;

use super::format::Exported;
use super::{ExportFormat, FormatKind};
use crate::text::results;
use crate::views::table::{Table, TableRow};
use crate::views::words::escape_controls;
use crate::views::{VaryingParams, answer, rows};

pub(super) const ASCIIDOC_FORMAT: ExportFormat = ExportFormat {
    name: "asciidoc",
    about: "the tables in AsciiDoc",
    extensions: &["adoc", "asciidoc"],
    kind: FormatKind::Text,
    write: |exported, out| Ok(write(exported, &ASCIIDOC, out)?),
};

pub(super) const ORGMODE_FORMAT: ExportFormat = ExportFormat {
    name: "orgmode",
    about: "the tables for Emacs Org mode",
    extensions: &["org"],
    kind: FormatKind::Text,
    write: |exported, out| Ok(write(exported, &ORGMODE, out)?),
};

/// The table syntax of a markup language.
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
        for c in escape_controls(text).chars() {
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
    escaped: |text| org_escaped(&escape_controls(text)),
};

/// The text with a zero width space behind each character that begins markup, which is how Org mode
/// escapes (the manual's "Escape Character"), and before the colon of a link. Two characters need
/// the name of an entity.
fn org_escaped(text: &str) -> String {
    let mut escaped = String::new();
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        let begins_markup = match c {
            '_' | '^' | '@' | '[' | '{' | '<' | '\\' | '#' => true,
            '*' | '/' | '=' | '~' | '+' => !before.is_some_and(char::is_alphanumeric),
            // Items of lists, dashes and dots that become other characters, sexps.
            '-' => before.is_none() || next == Some('-'),
            '.' => next == Some('.'),
            '%' | '!' => before.is_none(),
            _ => false,
        };
        match c {
            '|' => escaped.push_str("\\vert{}"),
            '$' => escaped.push_str("\\dollar{}"),
            // Links such as `https:` and `elisp:`.
            ':' if next.is_some_and(|next| !next.is_whitespace()) => escaped.push_str("\u{200b}:"),
            c => escaped.push(c),
        }
        if begins_markup {
            escaped.push('\u{200b}');
        }
        before = Some(c);
    }
    escaped
}

fn write(exported: &Exported<'_>, markup: &Markup, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let varying = VaryingParams::of_run(exported.run);
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
    let cells = |row: &TableRow| {
        let cells = row.cells.iter().map(|cell| (markup.escaped)(cell.text.trim()));
        (markup.row)(&cells.collect::<Vec<_>>())
    };
    let rows: String = table.rows.iter().map(cells).collect();
    (markup.begin)(table) + &(markup.heading)(&headings) + &rows + markup.end
}

#[cfg(test)]
mod tests {
    use super::org_escaped;

    #[test]
    fn nothing_is_markup_in_org_mode() {
        // A dot stands for the zero width space.
        let check = |text: &str, expected: &str| {
            assert_eq!(org_escaped(text).replace('\u{200b}', "·"), expected, "{text}");
        };
        check("read-chunks 4.7% 1/s a+b", "read-chunks 4.7% 1/s a+b");
        check("@@html:<b>@@", "@·@·html·:<·b>@·@·");
        check("[[https://x][y]]", "[·[·https·:/·/·x][·y]]");
        check("{{{x}}} <<t>> [fn:1] [1/2]", "{·{·{·x}}} <·<·t>> [·fn·:1] [·1/2]");
        check("*b* /i/ =v= ~c~ +s+", "*·b* /·i/ =·v= ~·c~ +·s+");
        check("a_b ^c \\alpha $x$", "a_·b ^·c \\·alpha \\dollar{}x\\dollar{}");
        check("#+INCLUDE: x", "#·+·INCLUDE: x");
        check("- item", "-· item");
        check("gzip --fast a...", "gzip -·-fast a.·.·.");
        check("a | b", "a \\vert{} b");
    }
}

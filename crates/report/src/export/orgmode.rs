//! Org mode, for Emacs: the question, and for each point a table and its answer.

use super::markup::{self, Markup};
use super::{ExportFormat, FormatKind};
use crate::views::words::escape_controls;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "orgmode",
    about: "the tables for Emacs Org mode",
    extensions: &["org"],
    kind: FormatKind::Text,
    is_of_samples: false,
    write: |exported, out| markup::write_tables(exported, &ORGMODE, out),
};

const ORGMODE: Markup = Markup {
    heading: |text| format!("{text}\n"),
    title: |title| format!("#+CAPTION: {title}\n"),
    titles_tables: true,
    head: |_, cells| {
        format!("| {} |\n|{}|\n", cells.join(" | "), vec!["---"; cells.len()].join("+"))
    },
    row: |cells| format!("| {} |\n", cells.join(" | ")),
    end: "",
    verbatim: None,
    escaped: |text| org_escaped(&escape_controls(text)),
    cell: |text| org_escaped(&escape_controls(text)),
    code: |text| org_escaped(&escape_controls(text)),
    details: None,
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

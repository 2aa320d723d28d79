//! Pages for a terminal. All text passes through [`escape_controls`], so that no name, reason or
//! label can control the terminal; colour is added after that, and only here.

pub(crate) mod compare;
pub(crate) mod foot;
mod grid;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod percentiles;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod study;
pub(crate) mod sweep;

use unicode_width::UnicodeWidthStr;

use crate::views::table::Style;
use crate::views::words::{escape_controls, fitting};

/// The capabilities of the output. The caller that prints sets them, because it knows the terminal.
#[derive(Clone, Copy, Debug)]
pub struct PageLayout {
    /// The width in columns.
    pub width: usize,
    pub colour: bool,
}

pub(crate) struct Page {
    text: String,
    width: usize,
    colour: bool,
}

/// Narrower pages are written with this width: a line of three words is unreadable.
const WIDTH_MIN: usize = 20;

impl Page {
    pub(crate) fn new(layout: &PageLayout) -> Page {
        Page { text: String::new(), width: layout.width.max(WIDTH_MIN), colour: layout.colour }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// One line of any length, of parts that may each have a style.
    pub(crate) fn line(&mut self, parts: &[(Style, &str)]) {
        for (style, part) in parts {
            let part = escape_controls(part);
            match code(*style).filter(|_| self.colour && !part.trim().is_empty()) {
                Some(code) => self.text.extend(["\u{1b}[", code, "m", &part, "\u{1b}[0m"]),
                None => self.text += &part,
            }
        }
        self.text.push('\n');
    }

    /// An empty line, unless the last line is already empty.
    pub(crate) fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A text wrapped at its spaces to the width of the page. `mark` precedes it, in its style; the
    /// following lines are indented.
    pub(crate) fn paragraph(&mut self, style: Style, mark: &str, text: &str) {
        let indent = if mark.is_empty() { 0 } else { 2 };
        self.wrap(style, mark, text, indent);
    }

    /// A text with a hanging mark: the lines of the text do not extend below the mark.
    pub(crate) fn hanging(&mut self, mark: &str, text: &str) {
        let mark = escape_controls(mark);
        self.wrap(Style::Plain, &mark, text, mark.width());
    }

    fn wrap(&mut self, style: Style, mark: &str, text: &str, indent: usize) {
        let (mark, text) = (escape_controls(mark), escape_controls(text));
        let mut lines = wrap_lines(&text, self.width, [mark.width(), indent], false).into_iter();
        let first = lines.next().unwrap_or_default();
        self.line(&[(style, &mark), (Style::Plain, &first)]);
        for line in lines {
            self.line(&[(Style::Plain, &" ".repeat(indent)), (Style::Plain, &line)]);
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

fn code(style: Style) -> Option<&'static str> {
    match style {
        Style::Plain => None,
        Style::Bold => Some("1"),
        Style::Dim => Some("2"),
        Style::Red => Some("31"),
        Style::Green => Some("32"),
    }
}

/// A text on lines of this width; a word that is wider is cut only if `cuts`.
pub(crate) fn wrapped(text: &str, width: usize, cuts: bool) -> Vec<String> {
    wrap_lines(text, width, [0, 0], cuts)
}

/// Wraps at spaces. The first line and the others have this much less space.
fn wrap_lines(text: &str, width: usize, [first, indent]: [usize; 2], cuts: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = first;
    for mut word in text.split_whitespace() {
        while cuts && word.width() > width.saturating_sub(indent) {
            let gap = usize::from(!line.is_empty());
            let room = width.saturating_sub(used + gap);
            // The start of a long word fills the line, unless it would be two columns or less.
            if gap == 0 || room > 2 {
                let first = word.chars().next().map_or(0, char::len_utf8);
                let (start, rest) = word.split_at(fitting(word.chars(), room).len().max(first));
                line.extend([&" "[..gap], start]);
                word = rest;
            }
            lines.push(std::mem::take(&mut line));
            used = indent;
        }
        if !line.is_empty() && used + 1 + word.width() > width {
            lines.push(std::mem::take(&mut line));
            used = indent;
        }
        if !line.is_empty() {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += word.width();
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::words::is_control;

    fn page(width: usize, colour: bool) -> Page {
        Page::new(&PageLayout { width, colour })
    }

    #[test]
    fn nothing_that_is_written_can_steer_the_terminal() {
        let hostile = "a\u{1b}[31mb\u{7f}\u{9b}2J\u{202e}c\nd\te\u{200b}";
        let mut page = page(80, false);
        page.line(&[(Style::Red, hostile)]);
        page.paragraph(Style::Bold, hostile, hostile);
        let text = page.into_text();
        let (first, _) = text.split_once('\n').unwrap();
        assert_eq!(first, r"a\u{1b}[31mb\u{7f}\u{9b}2J\u{202e}c d e\u{200b}");
        assert!(!text.chars().any(|c| c != '\n' && is_control(c)), "{text:?}");
    }

    #[test]
    fn colour_is_only_where_it_is_wanted() {
        let rendered = |colour| {
            let mut page = page(80, colour);
            page.line(&[(Style::Plain, "a "), (Style::Red, "b")]);
            page.into_text()
        };
        assert_eq!(rendered(false), "a b\n");
        assert_eq!(rendered(true), "a \u{1b}[31mb\u{1b}[0m\n");
    }

    #[test]
    fn a_paragraph_is_broken_at_spaces_and_indented() {
        let mut page = page(20, false);
        page.paragraph(
            Style::Plain,
            "note: ",
            "one two three four /a/path/longer/than/the/line end",
        );
        page.paragraph(Style::Plain, "", "");
        assert_eq!(
            page.into_text(),
            "note: one two three\n  four\n  /a/path/longer/than/the/line\n  end\n\n"
        );
    }
}

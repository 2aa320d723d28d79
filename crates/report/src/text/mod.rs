//! Documents for a terminal. All text passes through [`escape_controls`], so that no name, reason
//! or label can control the terminal; colour is added after that, and only here.

pub(crate) mod grid;

use unicode_width::UnicodeWidthStr;

use crate::document::{Block, Paragraph, WIDTH_MIN};
use crate::views::table::Style;
use crate::views::words::{escape_controls, fitting};

/// The capabilities of the output. The caller that prints sets them, because it knows the terminal.
#[derive(Clone, Copy, Debug)]
pub struct PageLayout {
    /// The width in columns.
    pub width: usize,
    pub colour: bool,
}

struct Page {
    text: String,
    width: usize,
    colour: bool,
}

/// The blocks on a page of the width that they are composed for.
pub(crate) fn render(blocks: &[Block], layout: &PageLayout) -> String {
    let mut page = Page::new(layout);
    page.blocks(blocks);
    page.text
}

impl Page {
    fn new(layout: &PageLayout) -> Page {
        Page { text: String::new(), width: layout.width.max(WIDTH_MIN), colour: layout.colour }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Heading { name, text } => {
                    self.wrap(Style::Bold, &format!("{name}: "), text, 2);
                }
                Block::Title(title) => self.line(&[(Style::Bold, title.as_str())]),
                Block::Line(parts) => {
                    let parts = parts.iter().map(|(style, part)| (*style, part.as_str()));
                    self.line(&parts.collect::<Vec<_>>());
                }
                Block::Paragraph(paragraph) | Block::Note(paragraph) => self.paragraph(paragraph),
                Block::Facts(text) | Block::Answer(text) => self.wrap(Style::Plain, "", text, 0),
                Block::Item(text) => self.wrap(Style::Plain, "* ", text, 2),
                Block::Table { caption, table, head } => {
                    if !caption.is_empty() {
                        self.wrap(Style::Dim, "", caption, 0);
                    }
                    for (part, table) in grid::parts(table, self.width).iter().enumerate() {
                        if part > 0 {
                            self.blank();
                        }
                        grid::write(self, table, *head);
                    }
                }
                Block::Gap => self.blank(),
                Block::Columns(blocks) | Block::Details { blocks, .. } => self.blocks(blocks),
                Block::Section { title, blocks, .. } => {
                    self.blank();
                    self.line(&[(Style::Bold, *title)]);
                    self.blocks(blocks);
                }
                Block::Figure { .. } | Block::Filter | Block::Charts { .. } => {}
            }
        }
    }

    /// One line of any length, of parts that may each have a style.
    fn line(&mut self, parts: &[(Style, &str)]) {
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
    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn paragraph(&mut self, Paragraph { style, mark, text, hangs }: &Paragraph) {
        let indent = match mark.as_str() {
            mark if *hangs => escape_controls(mark).width(),
            "" => 0,
            _ => 2,
        };
        self.wrap(*style, mark, text, indent);
    }

    /// A text wrapped at its spaces to the width of the page. The lines after the first one have
    /// this indent.
    fn wrap(&mut self, style: Style, mark: &str, text: &str, indent: usize) {
        let (mark, text) = (escape_controls(mark), escape_controls(text));
        let mut lines = wrap_lines(&text, self.width, [mark.width(), indent], false).into_iter();
        let first = lines.next().unwrap_or_default();
        self.line(&[(style, &mark), (Style::Plain, &first)]);
        for line in lines {
            self.line(&[(Style::Plain, &" ".repeat(indent)), (Style::Plain, &line)]);
        }
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

/// The lines of a text, none of which is wider than this, unless a word is.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    wrapped(text, width, false)
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
                let fitting = fitting(word.chars(), room).len().max(first);
                // Behind a hyphen if there is one.
                let end = word[..fitting].rfind('-').map_or(fitting, |at| at + 1);
                let (start, rest) = word.split_at(end);
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
        page.wrap(Style::Bold, hostile, hostile, 2);
        let text = page.text;
        let (first, _) = text.split_once('\n').unwrap();
        assert_eq!(first, r"a\u{1b}[31mb\u{7f}\u{9b}2J\u{202e}c d e\u{200b}");
        assert!(!text.chars().any(|c| c != '\n' && is_control(c)), "{text:?}");
    }

    #[test]
    fn colour_is_only_where_it_is_wanted() {
        let rendered = |colour| {
            let mut page = page(80, colour);
            page.line(&[(Style::Plain, "a "), (Style::Red, "b")]);
            page.text
        };
        assert_eq!(rendered(false), "a b\n");
        assert_eq!(rendered(true), "a \u{1b}[31mb\u{1b}[0m\n");
    }

    #[test]
    fn a_paragraph_is_broken_at_spaces_and_indented() {
        let mut page = page(20, false);
        let text = "one two three four /a/path/longer/than/the/line end";
        page.wrap(Style::Plain, "note: ", text, 2);
        page.wrap(Style::Plain, "", "", 0);
        assert_eq!(
            page.text,
            "note: one two three\n  four\n  /a/path/longer/than/the/line\n  end\n\n"
        );
    }
}

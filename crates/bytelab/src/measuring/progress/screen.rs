//! Lines on a terminal that are replaced by others and erased at the end.

use std::io::{self, Write};

use unicode_width::UnicodeWidthChar;

use crate::console;

/// The lines that are on the screen. The cursor is at the start of the last one, where a terminal
/// shows the `^C` that a user types.
#[derive(Default)]
pub(super) struct Screen {
    widths: Vec<usize>,
}

impl Screen {
    /// The size of the terminal of standard error in columns and lines.
    pub(super) fn size() -> (usize, usize) {
        let size = terminal_size::terminal_size_of(io::stderr());
        let size = size.map(|(width, height)| (usize::from(width.0), usize::from(height.0)));
        size.filter(|(width, height)| *width > 0 && *height > 0).unwrap_or((80, 24))
    }

    /// Replaces what is on the screen by these lines, cut to the width of the terminal.
    pub(super) fn draw(&mut self, text: &str, columns: usize) {
        let lines: Vec<String> = text.lines().map(|line| clipped(line, columns)).collect();
        let erased = self.erased(columns);
        self.widths = lines.iter().map(|line| width(line)).collect();
        // In one call, so that no half of it is seen. A terminal that is gone needs no table.
        let _ = console::stderr().write_all((erased + &lines.join("\r\n") + "\r").as_bytes());
    }

    pub(super) fn clear(&mut self) {
        let (columns, _) = Screen::size();
        let erased = self.erased(columns);
        self.widths.clear();
        if !erased.is_empty() {
            let _ = console::stderr().write_all(erased.as_bytes());
        }
    }

    /// The codes that erase what is on the screen. A terminal that has become narrower since has
    /// broken lines.
    fn erased(&self, columns: usize) -> String {
        let Some((_, above)) = self.widths.split_last() else { return String::new() };
        let lines: usize = above.iter().map(|width| width.div_ceil(columns).max(1)).sum();
        match lines {
            0 => "\r\u{1b}[J".to_owned(),
            lines => format!("\r\u{1b}[{lines}A\u{1b}[J"),
        }
    }
}

/// The parts of a line: codes of colours, which have no width, and characters.
fn parts(line: &str) -> impl Iterator<Item = (char, usize)> {
    let mut is_code = false;
    line.chars().map(move |c| {
        is_code |= c == '\u{1b}';
        let width = if is_code { 0 } else { c.width().unwrap_or(0) };
        is_code &= c != 'm';
        (c, width)
    })
}

fn width(line: &str) -> usize {
    parts(line).map(|(_, width)| width).sum()
}

/// The line without what is beyond this width. All codes stay, so that no colour goes on.
fn clipped(line: &str, columns: usize) -> String {
    let mut used = 0;
    let fits = |(c, width): (char, usize)| {
        used += width;
        (width == 0 || used <= columns).then_some(c)
    };
    parts(line).filter_map(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_the_columns_and_its_colour_ends() {
        assert_eq!(clipped("a \u{1b}[31mred\u{1b}[0m b", 4), "a \u{1b}[31mre\u{1b}[0m");
        assert_eq!(clipped("読み込み", 5), "読み");
        assert_eq!(clipped("abc", 3), "abc");
        assert_eq!(width("a \u{1b}[31mred\u{1b}[0m 読"), 8);
    }

    #[test]
    fn what_a_narrower_terminal_has_broken_is_erased_as_well() {
        let screen = Screen { widths: vec![80, 30, 0, 20] };
        assert_eq!(screen.erased(80), "\r\u{1b}[3A\u{1b}[J");
        assert_eq!(screen.erased(40), "\r\u{1b}[4A\u{1b}[J");
        assert_eq!(Screen { widths: vec![20] }.erased(40), "\r\u{1b}[J");
        assert_eq!(Screen::default().erased(40), "");
    }
}

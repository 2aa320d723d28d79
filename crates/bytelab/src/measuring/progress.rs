//! The progress line on standard error: what is being measured, and the remaining time.

use std::cell::RefCell;

use indicatif::{ProgressBar, ProgressStyle};
use lab::measure::Progress;

/// The line is hidden if standard error is not a terminal. Call [`ProgressLine::clear`] before
/// other output to standard error; the line is drawn again at the next update.
pub(crate) struct ProgressLine(RefCell<Option<ProgressBar>>);

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        ProgressLine(RefCell::new(None))
    }

    pub(crate) fn show(&self, progress: &Progress<'_>) {
        let (per_mille, message) = describe(progress);
        self.draw(per_mille, message);
    }

    /// Shows which step before the rounds is running.
    pub(crate) fn say(&self, message: &str) {
        self.draw(0, message.to_owned());
    }

    pub(crate) fn clear(&self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }

    /// A finished bar draws nothing more, so a new bar is created after each clear.
    fn draw(&self, per_mille: u64, message: String) {
        let mut bar = self.0.borrow_mut();
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(1000);
            let style = ProgressStyle::with_template("{wide_bar} {msg}");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_position(per_mille);
        bar.set_message(message);
    }
}

fn describe(progress: &Progress<'_>) -> (u64, String) {
    match progress {
        Progress::Counting { round, rounds } => {
            let share = f64::from(*round) / f64::from((*rounds).max(1));
            ((share * 1000.0) as u64, format!("counting, round {} of {rounds}", round + 1))
        }
        Progress::Tracing { method, done, of } => {
            let share = *done as f64 / (*of).max(1) as f64;
            ((share * 1000.0) as u64, format!("timeline of {method} ({} of {of})", done + 1))
        }
        Progress::Preparing { method, done, of } => {
            (0, format!("preparing {method} ({} of {of})", done + 1))
        }
        Progress::Round { round, rounds, spent_ns, left_ns } => {
            let message = format!("round {} of at most {rounds}", round + 1);
            let Some(left_ns) = left_ns.filter(|ns| *ns > 0) else { return (0, message) };
            let share = *spent_ns as f64 / (*spent_ns as f64 + left_ns as f64);
            // The remaining time stays at one second until the last round is over.
            let left_s = left_ns.div_ceil(1_000_000_000);
            ((share * 1000.0) as u64, format!("{message}, {left_s} s left"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(round: u32, spent_s: u64, left_ms: Option<u64>, expected: (u64, &str)) {
        let progress = Progress::Round {
            round,
            rounds: 100,
            spent_ns: spent_s * 1_000_000_000,
            left_ns: left_ms.map(|ms| ms * 1_000_000),
        };
        assert_eq!(describe(&progress), (expected.0, expected.1.to_owned()));
    }

    #[test]
    fn the_line_tells_the_time_left_where_it_is_known_and_never_that_none_is() {
        check(0, 1, None, (0, "round 1 of at most 100"));
        check(10, 15, Some(15_000), (500, "round 11 of at most 100, 15 s left"));
        check(50, 30, Some(60_000), (333, "round 51 of at most 100, 60 s left"));
        check(98, 31, Some(1), (999, "round 99 of at most 100, 1 s left"));
        check(99, 31, Some(0), (0, "round 100 of at most 100"));
    }
}

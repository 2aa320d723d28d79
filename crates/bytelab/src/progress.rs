//! The live line on standard error: what is being measured, and how long it will take.

use std::cell::RefCell;

use indicatif::{ProgressBar, ProgressStyle};
use lab::measure::Progress;

/// Draws nothing where standard error is not a terminal. What else is written to standard error goes below
/// [`ProgressLine::clear`]; the line is drawn again when there is something new to show.
pub(crate) struct ProgressLine(RefCell<Option<ProgressBar>>);

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        ProgressLine(RefCell::new(None))
    }

    pub(crate) fn show(&self, progress: &Progress<'_>) {
        let (per_mille, message) = describe(progress);
        self.draw(per_mille, message);
    }

    /// Before the rounds: what takes its time.
    pub(crate) fn say(&self, message: &str) {
        self.draw(0, message.to_owned());
    }

    pub(crate) fn clear(&self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }

    /// A bar that was finished draws nothing more, so that each line that is cleared had a bar of its own.
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
        Progress::Round { round, rounds, spent_ns, limit_ns } => {
            let by_rounds = f64::from(*round) / f64::from(*rounds);
            let by_time = *spent_ns as f64 / (*limit_ns).max(1) as f64;
            let share = by_rounds.max(by_time).min(1.0);
            let mut message = format!("round {} of at most {rounds}", round + 1);
            if *round > 0 {
                let left_s = *spent_ns as f64 / 1e9 * (1.0 / share - 1.0);
                message = format!("{message}, {left_s:.0} s left");
            }
            ((share * 1000.0) as u64, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(round: u32, spent_s: u64, expected: (u64, &str)) {
        let progress = Progress::Round {
            round,
            rounds: 100,
            spent_ns: spent_s * 1_000_000_000,
            limit_ns: 30_000_000_000,
        };
        assert_eq!(describe(&progress), (expected.0, expected.1.to_owned()));
    }

    #[test]
    fn the_line_tells_the_time_left_by_what_ends_first() {
        check(0, 0, (0, "round 1 of at most 100"));
        check(10, 15, (500, "round 11 of at most 100, 15 s left"));
        check(50, 5, (500, "round 51 of at most 100, 5 s left"));
        check(99, 31, (1000, "round 100 of at most 100, 0 s left"));
    }
}

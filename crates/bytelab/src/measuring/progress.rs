//! What is shown on standard error while a run is measured: the table until now, a line, or a line
//! per look.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};

use analysis::stats::median;
use analysis::{StoppingDecision, preview};
use indicatif::{ProgressBar, ProgressStyle};
use measure::RunProgress;
use measure::clock;
use model::metric::WALL;
use model::run::{Cell, Pass, Run};
use report::{PageLayout, live};
use unicode_width::UnicodeWidthChar;

use crate::console;

/// The kind of progress that a command shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProgressMode {
    /// On a terminal the table, elsewhere a line per look.
    Table,
    /// On a terminal the current step, elsewhere nothing.
    Step,
    /// A JSON line per look.
    Json,
    #[default]
    Nothing,
}

/// The progress on standard error. Call [`ProgressDisplay::clear`] before other output to standard
/// error; it is drawn again at the next update.
pub(crate) struct ProgressDisplay(RefCell<ProgressState>);

struct ProgressState {
    output: ProgressOutput,
    /// The last look, and by cell whether it has left.
    look: Option<(StoppingDecision, Vec<bool>)>,
    /// The last line of a look that was written.
    said: String,
    /// The table is not drawn before this time.
    next_ns: u64,
}

enum ProgressOutput {
    Table(Screen),
    Bar(Option<ProgressBar>),
    Looks,
    Json,
    Nothing,
}

/// The least and the greatest time between two drawings of the table. Between these, drawing takes
/// a hundredth of it. A terminal that is slow to read must not stop the table for minutes.
const GAP_MIN_NS: u64 = 200_000_000;
const GAP_MAX_NS: u64 = 10_000_000_000;
const GAPS_PER_COST: u64 = 100;

fn gap_ns(cost_ns: u64) -> u64 {
    cost_ns.saturating_mul(GAPS_PER_COST).clamp(GAP_MIN_NS, GAP_MAX_NS)
}

impl ProgressDisplay {
    pub(crate) fn new(shown: ProgressMode) -> ProgressDisplay {
        let output = match shown {
            ProgressMode::Table => on_standard_error(),
            ProgressMode::Step => ProgressOutput::Bar(None),
            ProgressMode::Json => ProgressOutput::Json,
            ProgressMode::Nothing => ProgressOutput::Nothing,
        };
        let state = ProgressState { output, look: None, said: String::new(), next_ns: 0 };
        ProgressDisplay(RefCell::new(state))
    }

    pub(crate) fn show(&self, run: &Run, progress: &RunProgress<'_>) {
        let mut state = self.0.borrow_mut();
        match progress {
            RunProgress::Looked { decided, left } => state.looked(run, decided, left),
            RunProgress::Longer { ns } => state.line(&longer(run, *ns)),
            RunProgress::Short { limit_ns, given_ns } => {
                state.line(&short(run, *limit_ns, *given_ns));
            }
            _ => state.show(run, progress),
        }
    }

    /// Shows which step before the rounds is running.
    pub(crate) fn say(&self, message: &str) {
        self.0.borrow_mut().output.step(0, message);
    }

    pub(crate) fn clear(&self) {
        self.0.borrow_mut().output.clear();
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The table needs a terminal that can move its cursor. Where colour is not wanted, nor is a table
/// that changes.
fn on_standard_error() -> ProgressOutput {
    let stderr = io::stderr();
    let can_move = std::env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb");
    if !stderr.is_terminal() || !can_move {
        ProgressOutput::Looks
    } else if anstream::AutoStream::choice(&stderr) == anstream::ColorChoice::Never {
        ProgressOutput::Bar(None)
    } else {
        ProgressOutput::Table(Screen::default())
    }
}

impl ProgressState {
    fn looked(&mut self, run: &Run, decided: &StoppingDecision, left: &[bool]) {
        // A closed standard error must not end the run.
        match self.output {
            ProgressOutput::Looks => {
                let line = live::look(run, decided, left);
                // Each method has looks of its own: often nothing is new.
                if line != self.said {
                    let _ = writeln!(console::stderr(), "bytelab: {line}");
                    self.said = line;
                }
            }
            ProgressOutput::Json => {
                if let Ok(line) = live::json(run, decided, left) {
                    let _ = writeln!(console::stderr(), "{line}");
                }
            }
            ProgressOutput::Table(_) => self.look = Some((decided.clone(), left.to_vec())),
            ProgressOutput::Bar(_) | ProgressOutput::Nothing => {}
        }
    }

    /// A line that stays, above what is redrawn. JSON lines are of looks alone.
    fn line(&mut self, line: &str) {
        self.output.clear();
        if !matches!(self.output, ProgressOutput::Json | ProgressOutput::Nothing) {
            let _ = writeln!(console::stderr(), "bytelab: {line}");
        }
    }

    fn show(&mut self, run: &Run, progress: &RunProgress<'_>) {
        let (per_mille, message) = describe(progress);
        let ProgressOutput::Table(screen) = &mut self.output else {
            self.output.step(per_mille, &message);
            return;
        };
        // Before the first sample there is nothing to put into a table.
        if run.cells.iter().all(|cell| cell.samples.is_empty()) {
            self.output.step(per_mille, &message);
            return;
        }
        let now_ns = clock::now_ns();
        if now_ns < self.next_ns {
            return;
        }
        let (columns, lines) = Screen::size();
        screen.draw(&table(run, self.look.as_ref(), message, columns, lines), columns);
        let drawn_ns = clock::now_ns();
        self.next_ns = drawn_ns.saturating_add(gap_ns(drawn_ns.saturating_sub(now_ns)));
    }
}

impl ProgressOutput {
    fn clear(&mut self) {
        match self {
            ProgressOutput::Table(screen) => screen.clear(),
            ProgressOutput::Bar(bar) => {
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
            }
            ProgressOutput::Looks | ProgressOutput::Json | ProgressOutput::Nothing => {}
        }
    }

    /// Shows a step alone.
    fn step(&mut self, per_mille: u64, message: &str) {
        match self {
            ProgressOutput::Table(screen) => screen.draw(message, Screen::size().0),
            ProgressOutput::Bar(bar) => draw(bar, per_mille, message),
            ProgressOutput::Looks | ProgressOutput::Json | ProgressOutput::Nothing => {}
        }
    }
}

/// The time until the first look of a run whose own time is too short for it, and what that would
/// be without the slowest methods.
fn longer(run: &Run, ns: u64) -> String {
    let cells = run.cells.iter();
    let known: Vec<MethodTime<'_>> =
        cells.filter_map(|cell| Some((cell.method.as_str(), sample_ns(cell)?))).collect();
    let all_ns: f64 = known.iter().map(|(_, ns)| ns).sum();
    let without = without_slowest(&known, ns as f64 / all_ns.max(1.0));
    let without = if without.is_empty() { without } else { format!("; {without}") };
    format!("{} takes about {} s more{without}", wanted(run), seconds(ns as f64))
}

/// What is measured for. One method alone has an interval, but no verdict.
fn wanted(run: &Run) -> &'static str {
    if run.cells.len() == 1 { "an interval" } else { "a verdict" }
}

/// The sentence that the run is too short for a verdict, with a limit that is long enough.
fn short(run: &Run, limit_ns: u64, given_ns: Option<u64>) -> String {
    let enough = format!("--time {}s would do", limit_ns.div_ceil(1_000_000_000));
    let wanted = wanted(run);
    match given_ns {
        Some(ns) => format!("{} s are too short for {wanted}; {enough}", ns as f64 / 1e9),
        None => format!(
            "runs of a minute or more are not repeated by themselves: for {wanted}, {enough}"
        ),
    }
}

/// The table until now, and the step below it. One line of the terminal stays free, so that the
/// line above the table can be seen.
fn table(
    run: &Run,
    look: Option<&(StoppingDecision, Vec<bool>)>,
    step: String,
    columns: usize,
    lines: usize,
) -> String {
    let analysis = preview(run, look.map(|(decided, _)| decided));
    let mut below = vec![step];
    if let Some((decided, left)) = look {
        below.push(format!("after {}", live::look(run, decided, left)));
    }
    let left = look.map_or(&[][..], |(_, left)| left);
    let live = live::LiveRun { run, analysis: &analysis, left, below: &below };
    let layout = PageLayout { width: columns, colour: true };
    live::text(&live, &layout, lines.saturating_sub(1).max(1))
}

/// The table of a run that has no look, for standard error.
pub(super) fn figures(run: &Run) -> String {
    let (analysis, (columns, _)) = (preview(run, None), Screen::size());
    let live = live::LiveRun { run, analysis: &analysis, left: &[], below: &[] };
    live::text(&live, &PageLayout { width: columns, colour: false }, usize::MAX)
}

/// A finished bar draws nothing more, so a new bar is created after each clear.
fn draw(bar: &mut Option<ProgressBar>, per_mille: u64, message: &str) {
    let bar = bar.get_or_insert_with(|| {
        let bar = ProgressBar::new(1000);
        let style = ProgressStyle::with_template("{wide_bar} {msg}");
        bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    });
    bar.set_position(per_mille);
    bar.set_message(message.to_owned());
}

fn describe(progress: &RunProgress<'_>) -> (u64, String) {
    match progress {
        RunProgress::Counting { round, rounds } => {
            let share = f64::from(*round) / f64::from((*rounds).max(1));
            ((share * 1000.0) as u64, format!("counting, round {} of {rounds}", round + 1))
        }
        RunProgress::Tracing { method, done, of } => {
            let share = *done as f64 / (*of).max(1) as f64;
            ((share * 1000.0) as u64, format!("timeline of {method} ({} of {of})", done + 1))
        }
        RunProgress::Profiling { method, done, of } => {
            (0, format!("profile of {method} ({} of {of})", done + 1))
        }
        RunProgress::Looked { .. } | RunProgress::Longer { .. } | RunProgress::Short { .. } => {
            (0, String::new())
        }
        RunProgress::Preparing { method, done, of } => {
            (0, format!("preparing {method} ({} of {of})", done + 1))
        }
        RunProgress::Round { round, rounds, spent_ns, left_ns } => {
            let message = format!("round {} of at most {rounds}", round + 1);
            let Some(left_ns) = left_ns.filter(|ns| *ns > 0) else { return (0, message) };
            let share = *spent_ns as f64 / (*spent_ns as f64 + left_ns as f64);
            // The remaining time stays at one second until the last round is over.
            let left_s = left_ns.div_ceil(1_000_000_000);
            ((share * 1000.0) as u64, format!("{message}, {left_s} s left"))
        }
    }
}

// Lines on a terminal that are replaced by others and erased at the end.

/// The lines that are on the screen. The cursor is at the start of the last one, where a terminal
/// shows the `^C` that a user types.
#[derive(Default)]
struct Screen {
    widths: Vec<usize>,
}

impl Screen {
    /// The size of the terminal of standard error in columns and lines.
    fn size() -> (usize, usize) {
        let size = terminal_size::terminal_size_of(io::stderr());
        let size = size.map(|(width, height)| (usize::from(width.0), usize::from(height.0)));
        size.filter(|(width, height)| *width > 0 && *height > 0).unwrap_or((80, 24))
    }

    /// Replaces what is on the screen by these lines, cut to the width of the terminal.
    fn draw(&mut self, text: &str, columns: usize) {
        let lines: Vec<String> = text.lines().map(|line| clipped(line, columns)).collect();
        let erased = self.erased(columns);
        self.widths = lines.iter().map(|line| width(line)).collect();
        // In one call, so that no half of it is seen. A terminal that is gone needs no table.
        let _ = console::stderr().write_all((erased + &lines.join("\r\n") + "\r").as_bytes());
    }

    fn clear(&mut self) {
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

// How long methods take, from the samples that they have.

/// Up to two methods that take this share of the time are named.
const LARGE_SHARE: f64 = 0.2;

/// A method with the time of a sample of one of its cells, in ns.
pub(super) type MethodTime<'a> = (&'a str, f64);

/// The median time of a sample; none without samples.
pub(super) fn sample_ns(cell: &Cell) -> Option<f64> {
    let walls = cell.column(WALL).iter();
    let timed = cell.samples.iter().zip(walls).filter(|(s, _)| s.pass == Pass::Timing);
    let times: Vec<f64> = timed.map(|(s, ns)| ns * s.ops as f64).filter(|ns| *ns > 0.0).collect();
    (!times.is_empty()).then(|| median(&times))
}

/// The time that `samples` samples of each cell take less without the slowest methods; empty where
/// no method takes a large share of it.
pub(super) fn without_slowest(known: &[MethodTime<'_>], samples: f64) -> String {
    let mut of_methods: Vec<MethodTime<'_>> = Vec::new();
    for (method, ns) in known {
        match of_methods.iter_mut().find(|(name, _)| name == method) {
            Some((_, sum)) => *sum += ns,
            None => of_methods.push((method, *ns)),
        }
    }
    of_methods.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all_ns: f64 = known.iter().map(|(_, ns)| ns).sum();
    let large = of_methods.iter().take(2).filter(|(_, ns)| *ns >= LARGE_SHARE * all_ns);
    let large: Vec<String> = large
        .map(|(name, ns)| format!("without {name} {} s less", seconds(samples * ns)))
        .collect();
    if of_methods.len() <= 2 || large.is_empty() {
        return String::new();
    }
    format!("{} (-m names those that take part)", large.join(", "))
}

/// A time in seconds, with two digits where it is short.
pub(super) fn seconds(ns: f64) -> String {
    let seconds = (ns / 1e9).max(0.1);
    if seconds < 9.5 { format!("{seconds:.1}") } else { format!("{seconds:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(round: u32, spent_s: u64, left_ms: Option<u64>, expected: (u64, &str)) {
        let progress = RunProgress::Round {
            round,
            rounds: 100,
            spent_ns: spent_s * 1_000_000_000,
            left_ns: left_ms.map(|ms| ms * 1_000_000),
        };
        assert_eq!(describe(&progress), (expected.0, expected.1.to_owned()));
    }

    #[test]
    fn the_line_shows_the_time_left_where_it_is_known_and_never_zero() {
        check(0, 1, None, (0, "round 1 of at most 100"));
        check(10, 15, Some(15_000), (500, "round 11 of at most 100, 15 s left"));
        check(50, 30, Some(60_000), (333, "round 51 of at most 100, 60 s left"));
        check(98, 31, Some(1), (999, "round 99 of at most 100, 1 s left"));
        check(99, 31, Some(0), (0, "round 100 of at most 100"));
    }
}

#[cfg(test)]
mod screen_tests {
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

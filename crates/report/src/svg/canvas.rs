//! SVG elements as text. Content that is unknown at build time is added only as a number, or
//! through [`escaped`]. Implemented here because it takes only a page: charting libraries lack
//! ticks at 1, 2 and 5 of a logarithmic axis with their units, boxes of given percentiles, and
//! panels that share an axis.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use crate::text::wrapped;
use crate::views::units::{Unit, amount};
use crate::views::words::{escape_controls, shortened};

/// The palette of Okabe and Ito, after the ink of the page: readers with colour blindness can
/// distinguish it. It is that of `shapes.js`.
pub(super) const COLOURS: [&str; 7] =
    ["#1a1d21", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const DASHES: [&str; 5] = ["none", "6 3", DOTTED, "8 3 2 3", "12 4"];
pub(super) const DOTTED: &str = "2 3";

pub(super) const INK: &str = "#222222";
pub(super) const SOFT: &str = "#666666";
pub(super) const GRID: &str = "#e2e2e2";
pub(super) const FONT: f64 = 11.0;
/// From a line of text to the next one.
pub(super) const LINE_HEIGHT: f64 = 15.0;
/// An estimate of the width of a column of text: the exact width is unknown before it is drawn.
const COLUMN: f64 = FONT * 0.56;
/// Between a text and the edge of the file.
const EDGE: f64 = 8.0;

pub(super) struct Canvas {
    body: String,
}

/// How a line is drawn.
#[derive(Clone, Copy)]
pub(super) struct Stroke {
    pub(super) colour: &'static str,
    pub(super) width: f64,
    pub(super) dash: &'static str,
}

impl Stroke {
    pub(super) fn thin(colour: &'static str) -> Stroke {
        Stroke { colour, width: 0.75, dash: "none" }
    }

    /// The stroke of the series with this number: beyond the number of colours, it is dashed.
    pub(super) fn new(number: usize) -> Stroke {
        let dash = DASHES[number / COLOURS.len() % DASHES.len()];
        Stroke { colour: COLOURS[number % COLOURS.len()], width: 1.5, dash }
    }

    /// The stroke of the series in one of several runs: each run has its dashes.
    pub(super) fn of_run(number: usize, run: usize) -> Stroke {
        Stroke { dash: DASHES[run % DASHES.len()], ..Stroke::new(number) }
    }
}

#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub(super) fn new() -> Canvas {
        Canvas { body: String::new() }
    }

    pub(super) fn line(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], stroke: Stroke) {
        let Stroke { colour, width, dash } = stroke;
        self.add(format_args!(
            "<line x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\" stroke=\"{colour}\" \
             stroke-width=\"{width}\" stroke-dasharray=\"{dash}\"/>"
        ));
    }

    pub(super) fn polyline(&mut self, points: &[[f64; 2]], stroke: Stroke) {
        let Stroke { colour, width, dash } = stroke;
        self.add(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-dasharray=\"{dash}\" stroke-linejoin=\"round\"/>",
            svg_points(points)
        ));
    }

    pub(super) fn area(&mut self, points: &[[f64; 2]], colour: &str) {
        let points = svg_points(points);
        self.add(format_args!(
            "<polygon points=\"{points}\" fill=\"{colour}\" fill-opacity=\"0.18\"/>"
        ));
    }

    pub(super) fn rect(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], stroke: Stroke) {
        let (x, y, width, height) = (x1.min(x2), y1.min(y2), (x2 - x1).abs(), (y2 - y1).abs());
        let colour = stroke.colour;
        self.add(format_args!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
             fill=\"{colour}\" fill-opacity=\"0.18\" stroke=\"{colour}\" stroke-width=\"1\"/>"
        ));
    }

    /// A box with a label, and a text that is shown when a reader points at it.
    pub(super) fn labelled(
        &mut self,
        [x, y]: [f64; 2],
        [width, height]: [f64; 2],
        (colour, opacity): (&str, f64),
        [label, title]: [&str; 2],
    ) {
        let (label, title) = (escaped(label), escaped(title));
        let baseline = y + height - 4.0;
        self.add(format_args!(
            "<g><title>{title}</title><rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" \
             height=\"{height:.2}\" fill=\"{colour}\" fill-opacity=\"{opacity:.2}\" stroke=\"white\" \
             stroke-width=\"0.5\"/><text x=\"{:.2}\" y=\"{baseline:.2}\" fill=\"{INK}\">{label}</text></g>",
            x + 3.0
        ));
    }

    /// Hides what was drawn there.
    pub(super) fn blank(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        let (width, height) = (x2 - x1, y2 - y1);
        self.add(format_args!(
            "<rect x=\"{x1:.2}\" y=\"{y1:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
             fill=\"white\"/>"
        ));
    }

    pub(super) fn dot(&mut self, [x, y]: [f64; 2], radius: f64, colour: &str, opacity: f64) {
        self.add(format_args!(
            "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\" fill=\"{colour}\" \
             fill-opacity=\"{opacity}\"/>"
        ));
    }

    pub(super) fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, colour: &str, text: &str) {
        let anchor = anchor.name();
        let text = escaped(text);
        self.add(format_args!(
            "<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
        ));
    }

    /// Lines that are no wider than this, the first one on this baseline; returns the baseline
    /// below the last one.
    pub(super) fn paragraph(
        &mut self,
        [x, mut y]: [f64; 2],
        colour: &str,
        text: &str,
        width: f64,
    ) -> f64 {
        for line in lines_of(text, width) {
            self.text([x, y], Anchor::Start, colour, &line);
            y += LINE_HEIGHT;
        }
        y
    }

    /// The title of a figure of this width and the remarks on it, whole; returns where they end.
    pub(super) fn head(&mut self, title: &str, remarks: &[String], width: f64) -> f64 {
        let width = width - 2.0 * EDGE;
        let mut y = self.paragraph([EDGE, EDGE + FONT], INK, title, width);
        for remark in remarks {
            y = self.paragraph([EDGE, y], SOFT, remark, width);
        }
        y - FONT
    }

    /// From bottom to top, centred.
    pub(super) fn upright(&mut self, [x, y]: [f64; 2], text: &str) {
        let text = escaped(text);
        self.add(format_args!(
            "<text transform=\"translate({x:.2} {y:.2}) rotate(-90)\" text-anchor=\"middle\" \
             fill=\"{INK}\">{text}</text>"
        ));
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    /// The whole file.
    pub(super) fn into_file(self, [width, height]: [f64; 2], title: &str) -> String {
        let title = escaped(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" font-family=\"Helvetica, Arial, \
             sans-serif\" font-size=\"{FONT}\">\n<title>{title}</title>\n<rect width=\"100%\" \
             height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
            self.body
        )
    }
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

fn svg_points(points: &[[f64; 2]]) -> String {
    let points: Vec<String> = points.iter().map(|[x, y]| format!("{x:.2},{y:.2}")).collect();
    points.join(" ")
}

/// An estimate of a text's width.
pub(super) fn text_width(text: &str) -> f64 {
    escape_controls(text).width() as f64 * COLUMN
}

/// The text on lines that are no wider than this.
pub(super) fn lines_of(text: &str, width: f64) -> Vec<String> {
    wrapped(&escape_controls(text), columns(width), true)
}

/// The text without its middle, if it is wider than this.
pub(super) fn fitted(text: &str, width: f64) -> String {
    shortened(&escape_controls(text), columns(width))
}

fn columns(width: f64) -> usize {
    (width / COLUMN).max(1.0) as usize
}

/// As text of XML, or as the value of an attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in escape_controls(text).chars() {
        match c {
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            '"' => escaped += "&quot;",
            // Characters that XML does not allow.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// An axis: the values that it spans, their positions, its ticks and their labels.
pub(super) struct Axis {
    low: f64,
    high: f64,
    log: bool,
    /// In pixels.
    from: f64,
    to: f64,
}

impl Axis {
    /// Spans the values with a margin; a logarithmic axis omits values without a logarithm.
    pub(super) fn new(values: &[f64], log: bool, [from, to]: [f64; 2]) -> Axis {
        let fit = |value: &f64| value.is_finite() && (!log || *value > 0.0);
        let fit = || values.iter().copied().filter(fit);
        let (low, high) =
            (fit().fold(f64::INFINITY, f64::min), fit().fold(f64::NEG_INFINITY, f64::max));
        let (low, high) = match (low.is_finite(), log) {
            (false, _) => (1.0, 2.0),
            (true, true) => {
                let room = (high / low).powf(0.04).clamp(1.01, 1e9);
                ((low / room).max(1e-300), (high * room).min(1e300))
            }
            (true, false) => {
                let room = ((high - low) * 0.04).max(high.abs() * 1e-3).max(1e-9);
                ((low - room).max(-1e300), (high + room).min(1e300))
            }
        };
        Axis { low, high, log, from, to }
    }

    /// The same, logarithmic where the greatest value is many times the least.
    pub(super) fn by_range(values: &[f64], pixels: [f64; 2]) -> Axis {
        const LOG_FROM: f64 = 8.0;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        Axis::new(values, least > 0.0 && most / least > LOG_FROM, pixels)
    }

    /// Spans exactly these values.
    pub(super) fn exact(low: f64, high: f64, [from, to]: [f64; 2]) -> Axis {
        Axis { low, high, log: false, from, to }
    }

    /// The position of a value in pixels; a value beyond the axis is drawn at the nearer end.
    pub(super) fn position(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.log { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let share = (scaled(value) - scaled(self.low)) / (scaled(self.high) - scaled(self.low));
        self.from + (self.to - self.from) * if share.is_nan() { 0.5 } else { share.clamp(0.0, 1.0) }
    }

    pub(super) fn is_log(&self) -> bool {
        self.log
    }

    /// Four to ten values that are easy to read.
    pub(super) fn ticks(&self, binary: bool) -> Vec<f64> {
        let inside = |value: &f64| (self.low..=self.high).contains(value);
        if self.log {
            let ticks = |steps: &[f64]| -> Vec<f64> {
                log_steps(self.low, self.high, binary, steps).into_iter().filter(inside).collect()
            };
            let all =
                [&[1.0][..], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0]];
            let binary_all = [&[1.0, 32.0][..], &[1.0, 4.0, 16.0, 64.0, 256.0], &DOUBLES];
            let mut choices = if binary { binary_all.to_vec() } else { all.to_vec() }.into_iter();
            let found =
                choices.find_map(|steps| Some(ticks(steps)).filter(|found| found.len() >= 4));
            if let Some(found) = found {
                return thinned(found, 10);
            }
        }
        let step = linear_step((self.high - self.low) / 6.0, binary);
        let first = (self.low / step).ceil();
        (0..12).map(|i| (first + f64::from(i)) * step).filter(inside).collect()
    }

    /// The tick labels of a metric, and the unit in its title.
    pub(super) fn labels(&self, stored: &'static str, ticks: &[f64]) -> (Vec<String>, String) {
        if self.log {
            let words = ticks.iter().map(|tick| amount(stored, *tick)).collect();
            return (words, "logarithmic".to_owned());
        }
        let unit = Unit::for_values(stored, ticks.iter().copied());
        let decimals = |tick: f64| format!("{:.4}", tick / unit.size());
        let words = ticks.iter().map(|tick| {
            let text = decimals(*tick);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        });
        (words.collect(), unit.name.to_owned())
    }
}

const DOUBLES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// A step of this size or more: 1, 2 or 5 times a power of ten, or a power of two.
fn linear_step(least: f64, binary: bool) -> f64 {
    if binary {
        return least.log2().ceil().exp2();
    }
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().map(|m| m * power).find(|m| *m >= least);
    step.unwrap_or(power * 10.0)
}

fn log_steps(low: f64, high: f64, binary: bool, steps: &[f64]) -> Vec<f64> {
    let base: f64 = if binary { 1024.0 } else { 10.0 };
    let power = |value: f64| value.log(base).floor() as i32;
    let powers = power(low)..=power(high);
    powers.flat_map(|power| steps.iter().map(move |step| step * base.powi(power))).collect()
}

pub(super) fn thinned<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let every = all.len().div_ceil(most).max(1);
    all.into_iter().enumerate().filter(|(i, _)| i % every == 0).map(|(_, one)| one).collect()
}

// The frame of a panel: its axes with ticks and titles; and the legend below the panels of a
// figure.

/// The plane of a panel, in pixels.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// The ticks with their labels, and the title of the axis.
pub(super) struct Scale {
    pub(super) axis: Axis,
    pub(super) ticks: Vec<(f64, String)>,
    pub(super) title: String,
}

impl Plane {
    pub(super) fn x(&self) -> [f64; 2] {
        [self.left, self.right]
    }

    pub(super) fn y(&self) -> [f64; 2] {
        [self.bottom, self.top]
    }
}

impl Scale {
    /// The scale of a metric.
    pub(super) fn new(axis: Axis, title: &str, stored: &'static str) -> Scale {
        let ticks = axis.ticks(stored == "bytes");
        let (words, unit) = axis.labels(stored, &ticks);
        let title = if unit.is_empty() { title.to_owned() } else { format!("{title} [{unit}]") };
        Scale { axis, ticks: ticks.into_iter().zip(words).collect(), title }
    }

    /// A scale with these ticks, as far as there is room for them.
    pub(super) fn with(axis: Axis, title: &str, ticks: Vec<(f64, String)>, most: usize) -> Scale {
        Scale { axis, ticks: thinned(ticks, most), title: title.to_owned() }
    }
}

/// The title of the x axis is on as many lines as it needs; returns the height of those after the
/// first one.
pub(super) fn draw_frame(canvas: &mut Canvas, plane: &Plane, x: &Scale, y: &Scale) -> f64 {
    for (value, words) in &x.ticks {
        let at = x.axis.position(*value);
        canvas.line([at, plane.top], [at, plane.bottom], Stroke::thin(GRID));
        canvas.text([at, plane.bottom + FONT + 4.0], Anchor::Middle, SOFT, words);
    }
    for (value, words) in &y.ticks {
        let at = y.axis.position(*value);
        canvas.line([plane.left, at], [plane.right, at], Stroke::thin(GRID));
        canvas.text([plane.left - 6.0, at + FONT * 0.35], Anchor::End, SOFT, words);
    }
    canvas.line([plane.left, plane.bottom], [plane.right, plane.bottom], Stroke::thin(INK));
    canvas.line([plane.left, plane.top], [plane.left, plane.bottom], Stroke::thin(INK));
    let middle = f64::midpoint(plane.left, plane.right);
    // Beside each plane there is a margin.
    let lines = lines_of(&x.title, plane.right - plane.left + 2.0 * EDGE);
    let mut base = plane.bottom + 2.0 * FONT + 12.0;
    for line in &lines {
        canvas.text([middle, base], Anchor::Middle, INK, line);
        base += LINE_HEIGHT;
    }
    let widest = y.ticks.iter().map(|(_, words)| text_width(words)).fold(0.0, f64::max);
    if !y.title.is_empty() {
        let middle = f64::midpoint(plane.top, plane.bottom);
        let title = fitted(&y.title, plane.bottom - plane.top);
        canvas.upright([plane.left - widest - 14.0, middle], &title);
    }
    LINE_HEIGHT * (lines.len() - 1) as f64
}

/// Draws the entries in as many lines as they need, and returns the height of these lines.
pub(super) fn legend(
    canvas: &mut Canvas,
    entries: &[(String, Stroke)],
    [left, top]: [f64; 2],
    width: f64,
) -> f64 {
    const LINE: f64 = 16.0;
    const MARK: f64 = 26.0;
    let (mut x, mut y) = (left, top);
    for (name, stroke) in entries {
        let name = &fitted(name, width - MARK);
        let needed = MARK + text_width(name) + 18.0;
        if x > left && x + needed > left + width {
            (x, y) = (left, y + LINE);
        }
        canvas.line([x, y - FONT * 0.35], [x + MARK - 6.0, y - FONT * 0.35], *stroke);
        canvas.text([x + MARK, y], Anchor::Start, INK, name);
        x += needed;
    }
    y - top + LINE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_easy_to_read() {
        let ticks =
            |values: &[f64], log, binary| Axis::new(values, log, [0.0, 100.0]).ticks(binary);
        assert_eq!(ticks(&[1.0, 1e5], true, false), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
        assert_eq!(ticks(&[2.0, 30.0], true, false), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(
            ticks(&[4096.0, 65536.0], true, true),
            [4096.0, 8192.0, 16384.0, 32768.0, 65536.0]
        );
        assert_eq!(ticks(&[0.0, 10.0], false, false), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(&[0.0, 1300.0], false, true), [0.0, 256.0, 512.0, 768.0, 1024.0, 1280.0]);
    }

    #[test]
    fn no_value_leaves_the_axis() {
        for log in [false, true] {
            for values in [&[][..], &[0.0], &[5.0, 5.0], &[f64::NAN, 1.0], &[-1.0, 1e300]] {
                let axis = Axis::new(values, log, [0.0, 100.0]);
                for value in [0.0, 5.0, -7.0, f64::NAN, f64::INFINITY] {
                    assert!(
                        (0.0..=100.0).contains(&axis.position(value)),
                        "{log} {values:?} {value}"
                    );
                }
                assert!(axis.ticks(false).len() < 20);
            }
        }
    }

    #[test]
    fn labels_name_the_unit_once_or_each() {
        let axis = Axis::new(&[1e3, 1e6], true, [0.0, 1.0]);
        let words = ["1 µs", "10 µs", "1 ms"].map(str::to_owned).to_vec();
        assert_eq!(axis.labels("ns", &[1e3, 1e4, 1e6]), (words, "logarithmic".to_owned()));
        let axis = Axis::new(&[1e6, 3e6], false, [0.0, 1.0]);
        assert_eq!(
            axis.labels("ns", &[1e6, 1.5e6]),
            (vec!["1".to_owned(), "1.5".to_owned()], "ms".to_owned())
        );
    }
}

//! The frame of a panel: its axes with ticks and titles; and the legend below the panels of a
//! figure.

use super::axis::{Axis, thinned};
use super::canvas::{Anchor, Canvas, FONT, GRID, INK, SOFT, Stroke, wide};

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

pub(super) fn draw(canvas: &mut Canvas, plane: &Plane, x: &Scale, y: &Scale) {
    for (value, words) in &x.ticks {
        let at = x.axis.place(*value);
        canvas.line([at, plane.top], [at, plane.bottom], Stroke::thin(GRID));
        canvas.text([at, plane.bottom + FONT + 4.0], Anchor::Middle, SOFT, words);
    }
    for (value, words) in &y.ticks {
        let at = y.axis.place(*value);
        canvas.line([plane.left, at], [plane.right, at], Stroke::thin(GRID));
        canvas.text([plane.left - 6.0, at + FONT * 0.35], Anchor::End, SOFT, words);
    }
    canvas.line([plane.left, plane.bottom], [plane.right, plane.bottom], Stroke::thin(INK));
    canvas.line([plane.left, plane.top], [plane.left, plane.bottom], Stroke::thin(INK));
    let middle = f64::midpoint(plane.left, plane.right);
    canvas.text([middle, plane.bottom + 2.0 * FONT + 12.0], Anchor::Middle, INK, &x.title);
    let widest = y.ticks.iter().map(|(_, words)| wide(words)).fold(0.0, f64::max);
    if !y.title.is_empty() {
        let middle = f64::midpoint(plane.top, plane.bottom);
        canvas.upright([plane.left - widest - 14.0, middle], &y.title);
    }
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
        let needed = MARK + wide(name) + 18.0;
        if x > left && x + needed > left + width {
            (x, y) = (left, y + LINE);
        }
        canvas.line([x, y - FONT * 0.35], [x + MARK - 6.0, y - FONT * 0.35], *stroke);
        canvas.text([x + MARK, y], Anchor::Start, INK, name);
        x += needed;
    }
    y - top + LINE
}

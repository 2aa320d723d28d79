//! A metric over the values of a param, in panels that share their axes: as lines with the
//! intervals of their medians, or as boxes at each value.

use model::metric::unit;

use super::canvas::{
    self, Anchor, Axis, Canvas, DOTTED, FONT, INK, LINE_HEIGHT, Plane, SOFT, Scale, Stroke,
    lines_of,
};
use super::stroke;
use crate::views::charts::{
    ChartColumn, ChartMetric, Charts, P0, P10, P25, P50, P75, P100, Panel, SweepChart, SweepLine,
};

/// The width of a panel, including its surroundings.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 300.0;
/// Left of the plane of a panel.
const LEFT: f64 = 84.0;
const COLUMNS: usize = 2;

/// A line of a panel: its position, its style, and its cells.
struct DrawnLine<'a> {
    stroke: Stroke,
    points: Vec<(f64, &'a ChartColumn)>,
}

struct SweepFigure<'a> {
    charts: &'a Charts,
    sweep: &'a SweepChart,
    metric: &'a ChartMetric,
    /// The names of the lines in all panels: lines of the same name are drawn alike.
    names: Vec<(String, Stroke)>,
}

pub(super) fn lines(charts: &Charts, sweep: &SweepChart, metric: &ChartMetric) -> Option<String> {
    let middle = if sweep.ladder { P10 } else { P50 };
    let bounds = |column: &ChartColumn| match (sweep.ladder, column.low, column.high) {
        (true, ..) => [column.p[P0], column.p[P50]],
        (false, Some(low), Some(high)) => [low, high],
        _ => [column.p[P25], column.p[P75]],
    };
    let figure = SweepFigure::new(charts, sweep, metric);
    let what = if sweep.ladder { "p10, and p0 to p50" } else { "p50 with its 95 % interval" };
    figure.draw(what, &bounds, &mut |canvas, drawn, x, y| {
        for one in drawn {
            let position = |value: f64, at: f64| [x.axis.position(at), y.axis.position(value)];
            let upper = one.points.iter().map(|(at, column)| position(bounds(column)[1], *at));
            let lower =
                one.points.iter().rev().map(|(at, column)| position(bounds(column)[0], *at));
            canvas.area(&upper.chain(lower).collect::<Vec<_>>(), one.stroke.colour);
            let middles = one.points.iter().map(|(at, column)| position(column.p[middle], *at));
            let middles: Vec<[f64; 2]> = middles.collect();
            canvas.polyline(&middles, one.stroke);
            for at in middles {
                canvas.dot(at, 2.2, one.stroke.colour, 1.0);
            }
        }
    })
}

pub(super) fn boxes(charts: &Charts, sweep: &SweepChart, metric: &ChartMetric) -> Option<String> {
    let figure = SweepFigure::new(charts, sweep, metric);
    let bounds = |column: &ChartColumn| [column.p[P0], column.p[P100]];
    let what = "boxes from p25 over p50 to p75, whiskers from p0 to p100";
    figure.draw(what, &bounds, &mut |canvas, drawn, x, y| {
        let values = &sweep.values;
        let gap = values
            .windows(2)
            .map(|two| x.axis.position(two[1].0 as f64) - x.axis.position(two[0].0 as f64));
        let room = 0.8 * gap.fold(f64::INFINITY, f64::min).min(60.0) / drawn.len().max(1) as f64;
        for (number, one) in drawn.iter().enumerate() {
            let shift = (number as f64 - (drawn.len() - 1) as f64 / 2.0) * room;
            let stroke = Stroke { dash: "none", width: 1.0, ..one.stroke };
            for (at, column) in &one.points {
                let middle = x.axis.position(*at) + shift;
                let half = (room * 0.4).max(0.5);
                let position = |i: usize| y.axis.position(column.p[i]);
                canvas.line([middle, position(P0)], [middle, position(P25)], stroke);
                canvas.line([middle, position(P75)], [middle, position(P100)], stroke);
                canvas.rect([middle - half, position(P25)], [middle + half, position(P75)], stroke);
                let p50 = position(P50);
                canvas.line(
                    [middle - half, p50],
                    [middle + half, p50],
                    Stroke { width: 2.0, ..stroke },
                );
            }
        }
    })
}

/// Draws the lines of a panel into its axes.
type DrawLines<'c> = dyn FnMut(&mut Canvas, &[DrawnLine<'_>], &Scale, &Scale) + 'c;

impl<'a> SweepFigure<'a> {
    fn new(charts: &'a Charts, sweep: &'a SweepChart, metric: &'a ChartMetric) -> SweepFigure<'a> {
        let mut names: Vec<(String, Stroke)> = Vec::new();
        for line in sweep.panels.iter().flat_map(|panel| &panel.lines) {
            let name = name(charts, line);
            if names.iter().all(|(known, _)| *known != name) {
                names.push((name, line_stroke(charts, line)));
            }
        }
        SweepFigure { charts, sweep, metric, names }
    }

    fn drawn(&self, panel: &Panel) -> Vec<DrawnLine<'a>> {
        let drawn = panel.lines.iter().map(|line| {
            let column = |(at, cell): &(u64, usize)| {
                Some((*at as f64, self.charts.column(*cell, &self.metric.name)?))
            };
            let points = line.cells.iter().filter_map(column).collect();
            DrawnLine { stroke: line_stroke(self.charts, line), points }
        });
        drawn.filter(|one| !one.points.is_empty()).collect()
    }

    fn draw(
        &self,
        what: &str,
        bounds: &dyn Fn(&ChartColumn) -> [f64; 2],
        content: &mut DrawLines<'_>,
    ) -> Option<String> {
        let panels: Vec<(&Panel, Vec<DrawnLine<'_>>)> =
            self.sweep.panels.iter().map(|panel| (panel, self.drawn(panel))).collect();
        let points = || panels.iter().flat_map(|(_, drawn)| drawn).flat_map(|one| &one.points);
        let values: Vec<f64> = points().flat_map(|(_, column)| bounds(column)).collect();
        points().next()?;
        let mut canvas = Canvas::new();
        let columns = panels.len().min(COLUMNS);
        let width = columns as f64 * WIDTH;
        let title = format!("{} by {}: {what}", self.metric.title, self.sweep.param);
        let head = canvas.head(&title, &self.charts.busy, width);
        // A title is centred above its plane, which is not in the middle of the panel.
        let titles: Vec<Vec<String>> =
            panels.iter().map(|(panel, _)| lines_of(&panel.title, WIDTH - LEFT)).collect();
        let lines = titles.iter().map(Vec::len).max().unwrap_or_default();
        let room = LINE_HEIGHT * lines.saturating_sub(1) as f64;
        let height = HEIGHT + room;
        for (i, (_, drawn)) in panels.iter().enumerate() {
            let corner = [(i % columns) as f64 * WIDTH, head + (i / columns) as f64 * height];
            let plane = Plane {
                left: corner[0] + LEFT,
                right: corner[0] + WIDTH - 16.0,
                top: corner[1] + 28.0 + room,
                bottom: corner[1] + height - 48.0,
            };
            let (x, y) = (self.x(&plane), self.y(&plane, &values));
            canvas::draw_frame(&mut canvas, &plane, &x, &y);
            let middle = f64::midpoint(plane.left, plane.right);
            let mut base = corner[1] + FONT + 4.0;
            for line in &titles[i] {
                canvas.text([middle, base], Anchor::Middle, INK, line);
                base += LINE_HEIGHT;
            }
            self.caches(&mut canvas, &plane, &x);
            content(&mut canvas, drawn, &x, &y);
        }
        let bottom = head + panels.len().div_ceil(columns) as f64 * height;
        let height = canvas::legend(&mut canvas, &self.names, [24.0, bottom + 14.0], width - 40.0);
        Some(canvas.into_file([width, bottom + 14.0 + height], &title))
    }

    fn x(&self, plane: &Plane) -> Scale {
        let values: Vec<f64> = self.sweep.values.iter().map(|(n, _)| *n as f64).collect();
        let log = values.iter().all(|value| *value > 0.0);
        let pixels = plane.x();
        // Leaves room for the boxes at both ends.
        let inner = [pixels[0] + 20.0, pixels[1] - 20.0];
        let ticks = self.sweep.values.iter().map(|(n, words)| (*n as f64, words.clone())).collect();
        let title = if log {
            format!("{} [logarithmic]", self.sweep.param)
        } else {
            self.sweep.param.clone()
        };
        Scale::with(Axis::new(&values, log, inner), &title, ticks, 7)
    }

    fn y(&self, plane: &Plane, values: &[f64]) -> Scale {
        let log = values.iter().all(|value| *value > 0.0);
        Scale::new(Axis::new(values, log, plane.y()), &self.metric.title, unit(&self.metric.name))
    }

    fn caches(&self, canvas: &mut Canvas, plane: &Plane, x: &Scale) {
        for (name, size) in self.sweep.caches.iter().filter(|_| x.axis.is_log()) {
            let at = x.axis.position(*size as f64);
            canvas.line(
                [at, plane.top],
                [at, plane.bottom],
                Stroke { dash: DOTTED, ..Stroke::thin(SOFT) },
            );
            canvas.text([at, plane.top - 3.0], Anchor::Middle, SOFT, name);
        }
    }
}

fn line_stroke(charts: &Charts, line: &SweepLine) -> Stroke {
    let cell = line.cells.first().and_then(|(_, at)| charts.cells.get(*at));
    cell.map_or(Stroke::new(line.number), |cell| stroke(charts, cell, line.number))
}

fn name(charts: &Charts, line: &SweepLine) -> String {
    let run = match charts.runs.as_slice() {
        [] | [_] => "",
        runs => runs.get(line.run).map_or("", String::as_str),
    };
    let words = [line.method.as_str(), &line.kind, run];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" · ")
}

//! The distribution of the samples of the methods at one point: cumulative, as boxes, and in their
//! order; and the ratios to the reference.

use model::metric::unit;

use super::canvas::{
    self, Anchor, Axis, Canvas, DOTTED, FONT, INK, Plane, SOFT, Scale, Stroke, fitted, text_width,
};
use super::stroke;
use crate::views::charts::{
    ChartCell, ChartColumn, ChartMetric, ChartPoint, Charts, P0, P25, P50, P75, P100,
};
use crate::views::units;

const WIDTH: f64 = 640.0;
/// The height of the plane of a line chart.
const LINES_HEIGHT: f64 = 314.0;

/// More methods than these in one line chart cannot be distinguished; boxes have room for more.
const LINES_MAX: usize = 10;
const BOXES_MAX: usize = 40;

/// More samples than these are not drawn individually.
const DOTS_MAX: usize = 500;
/// The starts of more sessions are not marked.
const SESSIONS_MAX: usize = 60;

struct DrawnSeries<'a> {
    name: String,
    cell: &'a ChartCell,
    column: &'a ChartColumn,
    stroke: Stroke,
}

fn series<'a>(
    charts: &'a Charts,
    point: &ChartPoint,
    metric: &ChartMetric,
    most: usize,
) -> Vec<DrawnSeries<'a>> {
    let drawn = |at: &usize| {
        let (cell, column) = (charts.cells.get(*at)?, charts.column(*at, &metric.name)?);
        let stroke = stroke(charts, cell, cell.number);
        Some(DrawnSeries { name: charts.label(*at), cell, column, stroke })
    };
    point.cells.iter().take(most).filter_map(drawn).collect()
}

fn axis(series: &[DrawnSeries<'_>], pixels: [f64; 2]) -> Axis {
    let values: Vec<f64> =
        series.iter().flat_map(|one| [one.column.p[P0], one.column.p[P100]]).collect();
    Axis::by_range(&values, pixels)
}

fn title(
    metric: &ChartMetric,
    point: &ChartPoint,
    what: &str,
    series: &[DrawnSeries<'_>],
) -> String {
    format!("{}{}: {what}; {}", metric.title, at(point), samples(series))
}

fn at(point: &ChartPoint) -> String {
    if point.at.is_empty() { String::new() } else { format!(" at {}", point.at) }
}

/// `n = 30`; where the methods have different numbers of samples, `n = 12 to 30`.
fn samples(series: &[DrawnSeries<'_>]) -> String {
    let all = || series.iter().map(|one| one.column.n);
    let [least, most] =
        [all().min(), all().max()].map(|n| units::count(n.unwrap_or_default() as f64));
    if least == most { format!("n = {most}") } else { format!("n = {least} to {most}") }
}

fn has_dots(one: &DrawnSeries<'_>) -> bool {
    one.column.drawn.of == 1 && one.column.n <= DOTS_MAX
}

/// What stands below the title: the load of the machine, and what marks mean.
fn remarks(charts: &Charts, about_marks: Option<&str>) -> Vec<String> {
    charts.busy.iter().cloned().chain(about_marks.map(str::to_owned)).collect()
}

fn lines_plane(head: f64, left: f64) -> Plane {
    let top = head + 8.0;
    Plane { left, right: WIDTH - 20.0, top, bottom: top + LINES_HEIGHT }
}

/// The chart with its legend, which begins at this height.
fn finished(
    mut canvas: Canvas,
    point: &ChartPoint,
    series: &[DrawnSeries<'_>],
    title: &str,
    top: f64,
) -> String {
    let left_out = point.cells.len().saturating_sub(LINES_MAX);
    let mut entries: Vec<(String, Stroke)> =
        series.iter().map(|one| (one.name.clone(), one.stroke)).collect();
    if left_out > 0 {
        entries.push((
            format!("({left_out} more are not drawn)"),
            Stroke { width: 0.0, ..Stroke::new(0) },
        ));
    }
    let height = canvas::legend(&mut canvas, &entries, [24.0, top], WIDTH - 40.0);
    canvas.into_file([WIDTH, top + height], title)
}

pub(super) fn ecdf(charts: &Charts, point: &ChartPoint, metric: &ChartMetric) -> Option<String> {
    let series = series(charts, point, metric, LINES_MAX);
    if series.is_empty() {
        return None;
    }
    let mut canvas = Canvas::new();
    let title = title(metric, point, "share of the samples that are no greater", &series);
    let plane = lines_plane(canvas.head(&title, &charts.busy, WIDTH), 70.0);
    let x = Scale::new(axis(&series, plane.x()), &metric.title, unit(&metric.name));
    let ticks = [0.0, 25.0, 50.0, 75.0, 100.0].map(|p| (p, format!("{p}"))).to_vec();
    let y = Scale::with(Axis::exact(0.0, 100.0, plane.y()), "share of samples [%]", ticks, 5);
    let below = canvas::draw_frame(&mut canvas, &plane, &x, &y);
    for one in &series {
        let mut points: Vec<[f64; 2]> = Vec::new();
        let mut before = 0.0;
        for (value, share) in one.column.drawn.steps(one.column.n) {
            let at = x.axis.position(value);
            points.push([at, y.axis.position(before)]);
            before = 100.0 * share;
            points.push([at, y.axis.position(before)]);
        }
        canvas.polyline(&points, one.stroke);
    }
    Some(finished(canvas, point, &series, &title, plane.bottom + 58.0 + below))
}

pub(super) fn order(charts: &Charts, point: &ChartPoint, metric: &ChartMetric) -> Option<String> {
    let series = series(charts, point, metric, LINES_MAX);
    let longest = series.iter().max_by_key(|one| one.column.n)?;
    let mut canvas = Canvas::new();
    let title = title(metric, point, "samples in their order", &series);
    let starts = longest.cell.sessions.iter().skip(1);
    let starts: Vec<usize> =
        starts.filter(|_| longest.cell.sessions.len() <= SESSIONS_MAX).copied().collect();
    let dotted = (!starts.is_empty()).then_some("Dotted: a new session, with fresh processes.");
    let remarks = remarks(charts, dotted);
    let plane = lines_plane(canvas.head(&title, &remarks, WIDTH), 90.0);
    let y = Scale::new(axis(&series, plane.y()), &metric.title, unit(&metric.name));
    let n = longest.column.n as f64;
    let axis = Axis::exact(0.0, n + 1.0, plane.x());
    let ticks = axis.ticks(false).into_iter().map(|tick| (tick, units::count(tick))).collect();
    let x = Scale::with(axis, "sample, in the order in which they were taken", ticks, 12);
    let below = canvas::draw_frame(&mut canvas, &plane, &x, &y);
    for start in starts {
        let at = x.axis.position(start as f64 + 0.5);
        canvas.line(
            [at, plane.top],
            [at, plane.bottom],
            Stroke { dash: DOTTED, ..Stroke::thin(SOFT) },
        );
    }
    for one in &series {
        let drawn = &one.column.drawn;
        let at = |i: usize| {
            x.axis.position(((i as f64 + 0.5) * drawn.of as f64 + 0.5).min(one.column.n as f64))
        };
        if drawn.of > 1 {
            let upper =
                drawn.greatest.iter().enumerate().map(|(i, v)| [at(i), y.axis.position(*v)]);
            let lower =
                drawn.least.iter().enumerate().rev().map(|(i, v)| [at(i), y.axis.position(*v)]);
            canvas.area(&upper.chain(lower).collect::<Vec<_>>(), one.stroke.colour);
            let middle = drawn.middle.iter().enumerate().map(|(i, v)| [at(i), y.axis.position(*v)]);
            canvas.polyline(&middle.collect::<Vec<_>>(), one.stroke);
            continue;
        }
        for (i, value) in drawn.middle.iter().enumerate() {
            canvas.dot([at(i), y.axis.position(*value)], 1.6, one.stroke.colour, 0.6);
        }
    }
    Some(finished(canvas, point, &series, &title, plane.bottom + 58.0 + below))
}

pub(super) fn boxes(charts: &Charts, point: &ChartPoint, metric: &ChartMetric) -> Option<String> {
    let series = series(charts, point, metric, BOXES_MAX);
    if series.is_empty() {
        return None;
    }
    let mut canvas = Canvas::new();
    let what = "boxes from p25 over p50 to p75, whiskers from p0 to p100";
    let title = title(metric, point, what, &series);
    let dots = series.iter().any(has_dots).then_some("Dots: every sample.");
    let head = canvas.head(&title, &remarks(charts, dots), WIDTH);
    let names: Vec<String> = series.iter().map(|one| one.name.clone()).collect();
    let (plane, y) = rows(head, &names, COUNT_WIDTH);
    let x = Scale::new(axis(&series, plane.x()), &metric.title, unit(&metric.name));
    let below = canvas::draw_frame(&mut canvas, &plane, &x, &y);
    for (row, one) in series.iter().enumerate() {
        let (middle, p) = (row_middle(&plane, row), one.column.p);
        let at = |i: usize| x.axis.position(p[i]);
        let stroke = Stroke { dash: "none", width: 1.0, ..one.stroke };
        if has_dots(one) {
            for (i, value) in one.column.drawn.middle.iter().enumerate() {
                // Spread by the golden ratio: evenly, and the same each time.
                let spread = (i as f64 * 0.618_034).fract() - 0.5;
                canvas.dot(
                    [x.axis.position(*value), middle + spread * 14.0],
                    1.2,
                    stroke.colour,
                    0.35,
                );
            }
        }
        canvas.line([at(P0), middle], [at(P25), middle], stroke);
        canvas.line([at(P75), middle], [at(P100), middle], stroke);
        canvas.rect([at(P25), middle - 7.0], [at(P75), middle + 7.0], stroke);
        canvas.line(
            [at(P50), middle - 7.0],
            [at(P50), middle + 7.0],
            Stroke { width: 2.0, ..stroke },
        );
        let n = format!("n = {}", units::count(one.column.n as f64));
        canvas.text([WIDTH - 6.0, middle + FONT * 0.35], Anchor::End, SOFT, &n);
    }
    Some(canvas.into_file([WIDTH, plane.bottom + 48.0 + below], &title))
}

pub(super) fn ratios(charts: &Charts, point: &ChartPoint) -> Option<String> {
    let mut ratios: Vec<_> = point.ratios.iter().take(BOXES_MAX).collect();
    let reference = &ratios.first()?.reference;
    ratios.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let mut canvas = Canvas::new();
    let time = point.time();
    let title = format!("{time} relative to that of {reference}{}, with 95 % intervals", at(point));
    let head = canvas.head(&title, &charts.busy, WIDTH);
    let names: Vec<String> = ratios.iter().map(|ratio| charts.label(ratio.cell)).collect();
    let (plane, y) = rows(head, &names, VERDICT_WIDTH);
    let bounds = ratios.iter().flat_map(|r| [r.low.unwrap_or(r.ratio), r.high.unwrap_or(r.ratio)]);
    let values: Vec<f64> = bounds.chain([1.0]).collect();
    let x_title = format!("{time} relative to {reference}");
    let x = Scale::new(Axis::new(&values, true, plane.x()), &x_title, "");
    let below = canvas::draw_frame(&mut canvas, &plane, &x, &y);
    let one = x.axis.position(1.0);
    canvas.line([one, plane.top], [one, plane.bottom], Stroke { dash: "4 3", ..Stroke::thin(INK) });
    for (row, ratio) in ratios.iter().enumerate() {
        let middle = row_middle(&plane, row);
        if let (Some(low), Some(high)) = (ratio.low, ratio.high) {
            let ends = [low, high].map(|value| [x.axis.position(value), middle]);
            canvas.line(ends[0], ends[1], Stroke { width: 1.5, ..Stroke::thin(SOFT) });
        }
        let decided = matches!(ratio.verdict, "faster" | "slower");
        let at = [x.axis.position(ratio.ratio), middle];
        let cell = charts.cells.get(ratio.cell);
        let colour = cell.map_or(INK, |cell| stroke(charts, cell, cell.number).colour);
        canvas.dot(at, 4.0, colour, 1.0);
        if !decided {
            canvas.dot(at, 2.8, "#ffffff", 1.0);
        }
        let words = format!("× {}, {}", units::ratio(ratio.ratio, 2), ratio.verdict);
        canvas.text([WIDTH - 6.0, middle + FONT * 0.35], Anchor::End, SOFT, &words);
    }
    Some(canvas.into_file([WIDTH, plane.bottom + 48.0 + below], &title))
}

const ROW: f64 = 24.0;
/// Right of the plane: the number of samples; or the ratio and the verdict.
const COUNT_WIDTH: f64 = 110.0;
const VERDICT_WIDTH: f64 = 128.0;

/// The plane of a row for each name, with this much room right of it, and the scale of the names.
fn rows(head: f64, names: &[String], beside: f64) -> (Plane, Scale) {
    let names = names.iter().map(|name| fitted(name, WIDTH / 2.0 - 16.0));
    let ticks: Vec<(f64, String)> =
        names.enumerate().map(|(i, name)| (i as f64 + 0.5, name)).collect();
    let widest = ticks.iter().map(|(_, name)| text_width(name)).fold(0.0, f64::max);
    let (top, len) = (head + 8.0, ticks.len());
    let bottom = top + ROW * len as f64;
    let plane = Plane { left: widest + 16.0, right: WIDTH - beside, top, bottom };
    let axis = Axis::exact(len as f64, 0.0, [bottom, top]);
    (plane, Scale::with(axis, "", ticks, len.max(1)))
}

fn row_middle(plane: &Plane, row: usize) -> f64 {
    plane.top + ROW * (row as f64 + 0.5)
}

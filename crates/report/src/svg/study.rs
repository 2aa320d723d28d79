//! The figures of a published study, as its author drew them: bars of each row, distributions with
//! their outliers, percentiles as curves, and lines over the values of a param.

use analysis::Analysis;
use model::metric::unit;
use model::param::Point;
use model::run::Run;

use super::canvas::{
    self, Anchor, Axis, Canvas, FONT, INK, Plane, SOFT, Scale, Stroke, text_width,
};
use super::{slug, sweeps};
use crate::published::{Drawing, DrawingKind};
use crate::views::charts::Charts;
use crate::views::rows::heading;
use crate::views::study::{Boxes, Curves, FigureOrigin, Spread, StudyReport};
use crate::views::units::amount;

const WIDTH: f64 = 960.0;
const PANEL: f64 = 480.0;
const PANEL_HEIGHT: f64 = 320.0;
const COLUMNS: usize = 2;
const ROW: f64 = 15.0;

/// The figure, if there is anything to draw.
pub fn figure(report: &StudyReport<'_>, drawing: &Drawing) -> Option<String> {
    match drawing.kind {
        DrawingKind::Bars => bars(report, drawing),
        DrawingKind::Boxes => boxes(&report.distributions(drawing), drawing),
        DrawingKind::Curves => curves(report, &report.curves(&drawing.metric), drawing),
        DrawingKind::Sweep => sweep(report, drawing),
    }
}

/// The name and the content of a file of each figure that has anything to draw.
pub fn files(report: &StudyReport<'_>) -> Vec<(String, String)> {
    let drawn = |drawing: &Drawing| {
        Some((format!("{}.svg", slug(&drawing.title)), figure(report, drawing)?))
    };
    report.study.figures.iter().filter_map(drawn).collect()
}

/// How to read the figure.
pub fn caption(drawing: &Drawing) -> &'static str {
    match drawing.kind {
        DrawingKind::Bars => {
            "A bar for each machine of the author, and one for what was measured here: p50. On a logarithmic axis only the end of a bar has a meaning, not its length."
        }
        DrawingKind::Boxes => {
            "Box: p25, p50, p75; whiskers: the last samples within 1.5 times its length; points: the samples beyond."
        }
        DrawingKind::Curves => "p0, p25, p50, p75, p90, p99 and p100 of each row, joined by lines.",
        DrawingKind::Sweep => {
            "A line of each method that was measured here; the title says what its points and its band are. The author's chart has no figures."
        }
    }
}

/// The axis of bars: the length of a bar is its value, unless the axis is logarithmic.
fn from_zero(values: &[f64], pixels: [f64; 2]) -> Axis {
    let axis = Axis::by_range(values, pixels);
    let most = values.iter().copied().fold(0.0, f64::max);
    if axis.is_log() || most <= 0.0 { axis } else { Axis::exact(0.0, most * 1.04, pixels) }
}

fn bars(report: &StudyReport<'_>, drawing: &Drawing) -> Option<String> {
    let rows = report.bars(&drawing.metric);
    let stored = unit(&drawing.metric);
    let all = || rows.iter().flat_map(|(_, bars)| bars);
    let values: Vec<f64> = all().map(|(_, value)| *value).collect();
    values.first()?;
    let names = all().map(|(whose, _)| text_width(&whose.name())).fold(0.0, f64::max);
    let lines = rows.iter().map(|(_, bars)| bars.len() + 1).sum::<usize>();
    let plane = Plane {
        left: (names + 28.0).min(WIDTH / 2.0),
        right: WIDTH - 90.0,
        top: 12.0,
        bottom: 12.0 + ROW * lines as f64,
    };
    let x = Scale::new(from_zero(&values, plane.x()), heading(&drawing.metric), stored);
    let y = Scale::with(Axis::exact(0.0, 1.0, plane.y()), "", Vec::new(), 1);
    let mut canvas = Canvas::new();
    canvas::draw_frame(&mut canvas, &plane, &x, &y);
    let mut top = plane.top;
    for (label, bars) in &rows {
        // A long label reaches over the axis and its ticks.
        canvas.blank([8.0, top], [12.0 + text_width(label), top + ROW]);
        canvas.text([8.0, top + FONT], Anchor::Start, INK, label);
        top += ROW;
        for (whose, value) in bars {
            let stroke = Stroke::new(number(report, *whose));
            let end = x.axis.position(*value);
            canvas.rect([plane.left, top + 2.0], [end, top + ROW - 2.0], stroke);
            let base = top + FONT;
            canvas.text([plane.left - 6.0, base], Anchor::End, SOFT, &whose.name());
            canvas.text([end + 4.0, base], Anchor::Start, SOFT, &amount(stored, *value));
            top += ROW;
        }
    }
    Some(canvas.into_file([WIDTH, plane.bottom + 40.0], &drawing.title))
}

/// Each machine of the author has a colour, and so has what was measured here.
fn number(report: &StudyReport<'_>, whose: FigureOrigin<'_>) -> usize {
    let machines = report.published;
    match whose {
        FigureOrigin::Author(name) => {
            let at = machines.iter().position(|machine| machine.machine == name);
            at.unwrap_or_default() + 1
        }
        FigureOrigin::Same(_) => 0,
        FigureOrigin::InItsPlace(_) => machines.len() + 1,
    }
}

/// Panels beside each other, with the same axis of values.
fn plane(at: usize) -> Plane {
    let [left, top] = [(at % COLUMNS) as f64 * PANEL, (at / COLUMNS) as f64 * PANEL_HEIGHT];
    Plane {
        left: left + 80.0,
        right: left + PANEL - 16.0,
        top: top + 28.0,
        bottom: top + PANEL_HEIGHT - 48.0,
    }
}

fn height(panels: usize) -> f64 {
    panels.div_ceil(COLUMNS) as f64 * PANEL_HEIGHT
}

fn titled(canvas: &mut Canvas, plane: &Plane, title: &str) {
    let middle = f64::midpoint(plane.left, plane.right);
    canvas.text([middle, plane.top - 10.0], Anchor::Middle, INK, title);
}

/// The position of a panel, and the scale of its values.
fn panel_plane(at: usize, values: &[f64], drawing: &Drawing) -> (Plane, Scale) {
    let plane = plane(at);
    let y = Axis::by_range(values, plane.y());
    (plane, Scale::new(y, heading(&drawing.metric), unit(&drawing.metric)))
}

fn boxes(panels: &[Boxes], drawing: &Drawing) -> Option<String> {
    let spreads = || panels.iter().flat_map(|panel| &panel.boxes).map(|(_, spread)| spread);
    let ends = |spread: &Spread| [spread.whiskers.as_slice(), &spread.outliers].concat();
    let values: Vec<f64> = spreads().flat_map(ends).collect();
    values.first()?;
    let mut canvas = Canvas::new();
    for (at, panel) in panels.iter().enumerate() {
        let (plane, y) = panel_plane(at, &values, drawing);
        let len = panel.boxes.len();
        let ticks = panel.boxes.iter().enumerate();
        let ticks = ticks.map(|(i, (label, _))| (i as f64 + 0.5, label.clone())).collect();
        let x = Axis::exact(0.0, len as f64, plane.x());
        let x = Scale::with(x, &drawing.by, ticks, len.clamp(1, 12));
        canvas::draw_frame(&mut canvas, &plane, &x, &y);
        titled(&mut canvas, &plane, &panel.title);
        let half = 0.3 * (plane.right - plane.left) / len as f64;
        for (i, (_, spread)) in panel.boxes.iter().enumerate() {
            let middle = x.axis.position(i as f64 + 0.5);
            draw_box(&mut canvas, &y.axis, [middle, half.min(24.0)], spread);
        }
    }
    Some(
        canvas.into_file(
            [WIDTH.min(panels.len() as f64 * PANEL), height(panels.len())],
            &drawing.title,
        ),
    )
}

fn draw_box(canvas: &mut Canvas, y: &Axis, [middle, half]: [f64; 2], spread: &Spread) {
    let stroke = Stroke { width: 1.0, ..Stroke::new(1) };
    let [p25, p50, p75] = spread.quartiles.map(|value| y.position(value));
    let [low, high] = spread.whiskers.map(|value| y.position(value));
    canvas.line([middle, low], [middle, p25], stroke);
    canvas.line([middle, p75], [middle, high], stroke);
    for end in [low, high] {
        canvas.line([middle - half / 2.0, end], [middle + half / 2.0, end], stroke);
    }
    canvas.rect([middle - half, p25], [middle + half, p75], stroke);
    canvas.line([middle - half, p50], [middle + half, p50], Stroke { width: 2.0, ..stroke });
    for outlier in &spread.outliers {
        canvas.dot([middle, y.position(*outlier)], 2.0, "#d55e00", 0.8);
    }
}

fn curves(report: &StudyReport<'_>, panels: &[Curves], drawing: &Drawing) -> Option<String> {
    let lines = || panels.iter().flat_map(|panel| &panel.lines);
    let values: Vec<f64> = lines().flat_map(|(_, line)| line.iter().map(|(_, v)| *v)).collect();
    values.first()?;
    let mut canvas = Canvas::new();
    for (at, panel) in panels.iter().enumerate() {
        let (plane, y) = panel_plane(at, &values, drawing);
        let ticks = [0.0, 25.0, 50.0, 75.0, 90.0, 100.0].map(|p| (p, format!("p{p}"))).to_vec();
        let x = Scale::with(Axis::exact(0.0, 100.0, plane.x()), "percentile", ticks, 6);
        canvas::draw_frame(&mut canvas, &plane, &x, &y);
        titled(&mut canvas, &plane, &panel.title);
        for (row, line) in &panel.lines {
            let points =
                line.iter().map(|(p, value)| [x.axis.position(*p), y.axis.position(*value)]);
            let points: Vec<[f64; 2]> = points.collect();
            canvas.polyline(&points, Stroke::new(*row));
            for point in points {
                canvas.dot(point, 1.8, Stroke::new(*row).colour, 1.0);
            }
        }
    }
    let bottom = height(panels.len());
    let mut rows: Vec<usize> = lines().map(|(row, _)| *row).collect();
    rows.sort_unstable();
    rows.dedup();
    let label = |row: usize| (report.study.rows[row].label().to_owned(), Stroke::new(row));
    let entries: Vec<(String, Stroke)> = rows.into_iter().map(label).collect();
    let legend = canvas::legend(&mut canvas, &entries, [24.0, bottom + 14.0], WIDTH - 40.0);
    Some(canvas.into_file([WIDTH, bottom + 14.0 + legend], &drawing.title))
}

fn sweep(report: &StudyReport<'_>, drawing: &Drawing) -> Option<String> {
    let is_meant = |point: &Point| {
        drawing.at.iter().all(|(name, value)| point.get(name) == Some(value))
            && point.get(&drawing.by).is_some()
    };
    report.runs.iter().find_map(|(run, analysis)| {
        let (run, mut analysis): (Run, Analysis) = ((*run).clone(), (*analysis).clone());
        analysis.families.retain(|family| is_meant(&family.point));
        let charts = Charts::from_runs(&[(run, analysis)]);
        let metric = charts.metrics.iter().find(|metric| metric.name == drawing.metric)?;
        let sweep = charts.sweeps.iter().find(|sweep| sweep.param == drawing.by)?;
        sweeps::lines(&charts, sweep, metric)
    })
}

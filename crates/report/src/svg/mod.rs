//! The charts of a report as SVG files, for papers: the same figures as those of the page; the
//! numbers of a machine, and the ratios of groups of runs.

mod canvas;
mod distributions;
pub(crate) mod flame;
pub(super) mod study;
mod sweeps;

use analysis::latency::Figures;
use analysis::{Analysis, FleetMethod, FleetPoint};
use model::run::Run;

pub(crate) use self::canvas::escaped;
use self::canvas::{
    Anchor, Axis, Canvas, DOTTED, FONT, INK, Plane, SOFT, Scale, Stroke, text_width,
};
pub use self::flame::flame_graph;
use crate::published::published_values;
use crate::views::charts::{ChartCell, Charts};
use crate::views::fleet::{FleetReport, caption};
use crate::views::numbers::{
    MeasuredNumber, grades, measured_on, not_measured, numbers, own_notes,
};
use crate::views::units::{amount, point as shown};
use crate::views::words::shortened;
use crate::views::{View, view};

/// More points than these have no separate files: the sweeps show them.
const POINTS_MAX: usize = 40;

/// The name and the content of each file.
pub fn files(shown: &[(Run, Analysis)], metric: &str) -> Vec<(String, String)> {
    if let [(run, _), ..] = shown
        && view(run) == View::Rows
    {
        let picture = picture(run);
        return picture.map(|svg| ("numbers.svg".to_owned(), svg)).into_iter().collect();
    }
    let charts = Charts::from_runs(shown);
    let Some(metric) = charts.metrics.iter().find(|known| known.name == metric) else {
        return Vec::new();
    };
    let mut files: Vec<(String, String)> = Vec::new();
    let mut add = |name: String, svg: Option<String>| {
        let Some(svg) = svg else { return };
        let taken = |name: &str| files.iter().any(|(known, _)| known == name);
        let mut free = format!("{name}.svg");
        let mut number = 2;
        while taken(&free) {
            free = format!("{name}-{number}.svg");
            number += 1;
        }
        files.push((free, svg));
    };
    for sweep in &charts.sweeps {
        let by =
            if sweep.ladder { "ladder".to_owned() } else { format!("by-{}", slug(&sweep.param)) };
        add(format!("line-{by}"), sweeps::lines(&charts, sweep, metric));
        if !sweep.ladder {
            add(format!("box-{by}"), sweeps::boxes(&charts, sweep, metric));
        }
    }
    for point in charts.points.iter().take(POINTS_MAX) {
        let at = if point.at.is_empty() { String::new() } else { format!("-{}", slug(&point.at)) };
        add(format!("ecdf{at}"), distributions::ecdf(&charts, point, metric));
        add(format!("box{at}"), distributions::boxes(&charts, point, metric));
        add(format!("order{at}"), distributions::order(&charts, point, metric));
        add(format!("ratio{at}"), distributions::ratios(&charts, point));
    }
    files
}

/// How a cell is drawn with the colour of this number, in all charts and on the page (`style` of
/// `shapes.js`).
fn stroke(charts: &Charts, cell: &ChartCell, number: usize) -> Stroke {
    match charts.runs.len() {
        0 | 1 if cell.yardstick => Stroke { dash: DOTTED, ..Stroke::new(number) },
        0 | 1 => Stroke::new(number),
        _ => Stroke::of_run(number, cell.run),
    }
}

/// The characters of a text that are allowed in a file's name.
fn slug(text: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = text.chars().map(kept).take(60).collect();
    let words: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "other".to_owned() } else { words.join("-") }
}

// The numbers of a machine as one picture: a bar for each operation, from the fastest kind of
// load to the slowest call, with published figures beside it.

const NUMBERS_WIDTH: f64 = 860.0;
const LINE: f64 = 17.0;
/// Right of the plane: the p50, and the grade.
const FIGURES_WIDTH: f64 = 100.0;
const GRADE_AT: f64 = 66.0;
/// The series of this machine; those of the others follow.
const HERE: usize = 1;
/// The machines whose figures are drawn, with what a reader calls them.
const PUBLISHED: [(&str, &str); 4] = [
    ("2012", "published 2012"),
    ("iphone-5s", "iPhone 5s"),
    ("iphone-6s-plus", "iPhone 6s Plus"),
    ("iphone-x", "iPhone X"),
];

/// `None` if nothing was measured.
fn picture(run: &Run) -> Option<String> {
    let numbers = numbers(run);
    let shown: Vec<(&MeasuredNumber, &Figures)> =
        numbers.iter().filter_map(|number| Some((number, number.figures.as_ref().ok()?))).collect();
    if shown.is_empty() {
        return None;
    }
    let mut canvas = Canvas::new();
    let title = "What do the basic operations of programs cost?";
    let mut remarks = vec![measured_on(run), grades(&numbers)];
    remarks.extend(own_notes(run, &numbers));
    let top = canvas.head(title, &remarks, NUMBERS_WIDTH) + LINE;
    let names = shown.iter().map(|(number, _)| text_width(number.row.title.trim()));
    let plane = Plane {
        left: names.fold(0.0, f64::max) + 24.0,
        right: NUMBERS_WIDTH - FIGURES_WIDTH,
        top,
        bottom: top + LINE * shown.len() as f64 + 8.0,
    };
    let here = shown.iter().flat_map(|(_, figures)| [figures.p10, figures.p50, figures.p90]);
    let mut values: Vec<f64> = here.collect();
    values.extend(shown.iter().flat_map(|(number, _)| others(number)).map(|(_, ns)| ns));
    let x = Scale::new(Axis::new(&values, true, plane.x()), "time", "ns");
    let y = Scale::with(Axis::exact(0.0, 1.0, plane.y()), "", Vec::new(), 1);
    canvas::draw_frame(&mut canvas, &plane, &x, &y);
    for (at, heading) in [(8.0, "p50"), (GRADE_AT, "grade")] {
        canvas.text([plane.right + at, top - 4.0], Anchor::Start, SOFT, heading);
    }
    for (at, (number, figures)) in (0u32..).zip(&shown) {
        let middle = top + LINE * (f64::from(at) + 0.5) + 4.0;
        draw_number(&mut canvas, &plane, &x.axis, middle, (*number, *figures));
    }
    let mut entries = vec![("here: p50, and p10 to p90".to_owned(), wide_stroke(HERE))];
    let of_others = (HERE + 1..).zip(PUBLISHED);
    entries.extend(of_others.map(|(series, (_, name))| (name.to_owned(), wide_stroke(series))));
    let mut end = plane.bottom + 58.0;
    end += canvas::legend(&mut canvas, &entries, [24.0, end], NUMBERS_WIDTH - 40.0);
    for (title, reason) in not_measured(&numbers) {
        let text = format!("{title}: {reason}");
        end = canvas.paragraph([24.0, end], SOFT, &text, NUMBERS_WIDTH - 40.0);
    }
    Some(canvas.into_file([NUMBERS_WIDTH, end], title))
}

/// The row of a number, around this height.
fn draw_number(
    canvas: &mut Canvas,
    plane: &Plane,
    axis: &Axis,
    middle: f64,
    (number, figures): (&MeasuredNumber, &Figures),
) {
    let base = middle + FONT * 0.35;
    canvas.text([plane.left - 8.0, base], Anchor::End, INK, number.row.title.trim());
    let end = axis.position(figures.p50);
    canvas.rect([plane.left, middle - 5.0], [end, middle + 5.0], Stroke::new(HERE));
    let ends = [figures.p10, figures.p90].map(|value| [axis.position(value), middle]);
    canvas.line(ends[0], ends[1], Stroke { width: 1.5, ..Stroke::new(HERE) });
    for (series, ns) in others(number) {
        canvas.dot([axis.position(ns), middle], 4.0, Stroke::new(series).colour, 0.9);
    }
    let value = amount("ns", figures.p50);
    canvas.text([plane.right + 8.0, base], Anchor::Start, SOFT, &value);
    let grade = figures.grade.to_string();
    canvas.text([plane.right + GRADE_AT, base], Anchor::Start, SOFT, &grade);
}

fn wide_stroke(series: usize) -> Stroke {
    Stroke { width: 5.0, ..Stroke::new(series) }
}

/// The published figures of a row in ns, each with its series.
fn others(number: &MeasuredNumber) -> Vec<(usize, f64)> {
    let figures = published_values(number.row.published, number.row.published_on);
    let known = (HERE + 1..).zip(PUBLISHED).filter_map(|(series, (machine, _))| {
        let (_, ns) = figures.iter().find(|(of, _)| *of == machine)?;
        Some((series, *ns))
    });
    known.collect()
}

// The ratios of groups of runs as intervals: a row for each group, then all, and the prediction.

const FLEET_WIDTH: f64 = 960.0;
const ROW: f64 = 16.0;
const NAME_WIDTH: usize = 32;

/// A line of the plot.
struct Interval {
    name: String,
    ratio: Option<f64>,
    bounds: Option<[f64; 2]>,
    number: usize,
}

/// The figure of one point.
pub fn fleet(report: &FleetReport<'_>, point: &FleetPoint) -> String {
    let methods = point.methods.iter().map(|method| (method, intervals(report, method)));
    let methods: Vec<(&FleetMethod, Vec<Interval>)> = methods.collect();
    let all = || methods.iter().flat_map(|(_, lines)| lines);
    let ends = all().flat_map(|line| line.bounds.into_iter().flatten());
    let values: Vec<f64> = all().filter_map(|line| line.ratio).chain(ends).chain([1.0]).collect();
    let names = all().map(|line| text_width(&line.name)).fold(0.0, f64::max);
    let rows = methods.iter().map(|(_, lines)| lines.len() + 1).sum::<usize>();
    let plane = Plane {
        left: (names + 28.0).min(FLEET_WIDTH / 2.0),
        right: FLEET_WIDTH - 24.0,
        top: 12.0,
        bottom: 12.0 + ROW * rows as f64,
    };
    let title = format!("{} {}", caption(report, point), shown(&point.point));
    let x = Scale::new(Axis::new(&values, true, plane.x()), "ratio", "");
    let y = Scale::with(Axis::exact(0.0, 1.0, plane.y()), "", Vec::new(), 1);
    let mut canvas = Canvas::new();
    canvas::draw_frame(&mut canvas, &plane, &x, &y);
    let one = x.axis.position(1.0);
    canvas.line([one, plane.top], [one, plane.bottom], Stroke::thin(INK));
    let mut top = plane.top;
    for (method, lines) in &methods {
        canvas.text([8.0, top + FONT], Anchor::Start, INK, &method.method);
        top += ROW;
        for line in lines {
            let middle = top + ROW / 2.0;
            let stroke = Stroke::new(line.number);
            canvas.text([plane.left - 6.0, top + FONT], Anchor::End, SOFT, &line.name);
            if let Some([low, high]) = line.bounds.map(|ends| ends.map(|end| x.axis.position(end)))
            {
                canvas.line([low, middle], [high, middle], stroke);
                for end in [low, high] {
                    canvas.line([end, middle - 3.0], [end, middle + 3.0], stroke);
                }
            }
            if let Some(ratio) = line.ratio {
                canvas.dot([x.axis.position(ratio), middle], 3.0, stroke.colour, 1.0);
            }
            top += ROW;
        }
    }
    canvas.into_file([FLEET_WIDTH, plane.bottom + 48.0], &title)
}

fn intervals(report: &FleetReport<'_>, method: &FleetMethod) -> Vec<Interval> {
    let both = |low: Option<f64>, high: Option<f64>| Some([low?, high?]);
    let of_group = method.groups.iter().zip(report.groups).map(|(found, group)| Interval {
        name: shortened(&group.name, NAME_WIDTH),
        ratio: found.as_ref().map(|found| found.ratio),
        bounds: found.as_ref().and_then(|found| both(found.low, found.high)),
        number: 1,
    });
    let mut all: Vec<Interval> = of_group.collect();
    if let Some(pooled) = &method.pooled {
        let bounds = Some([pooled.low, pooled.high]);
        all.push(Interval { name: "all".to_owned(), ratio: Some(pooled.ratio), bounds, number: 0 });
        if let Some(bounds) = both(pooled.prediction_low, pooled.prediction_high) {
            let name = format!("next {}", report.by);
            all.push(Interval { name, ratio: None, bounds: Some(bounds), number: 2 });
        }
    }
    all
}

#[cfg(test)]
mod tests;

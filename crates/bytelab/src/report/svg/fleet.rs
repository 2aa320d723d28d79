//! The ratios of groups of runs as intervals: a row for each group, then all, and the prediction.

use lab::analyze::{FleetMethod, FleetPoint};

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, FONT, INK, SOFT, Stroke, wide};
use super::frame::{self, Plane, Scale};
use crate::report::model::fleet::{FleetReport, caption};
use crate::report::model::units::point as shown;
use crate::report::model::words::shortened;

const WIDTH: f64 = 960.0;
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
pub(crate) fn figure(report: &FleetReport<'_>, point: &FleetPoint) -> String {
    let methods = point.methods.iter().map(|method| (method, intervals(report, method)));
    let methods: Vec<(&FleetMethod, Vec<Interval>)> = methods.collect();
    let all = || methods.iter().flat_map(|(_, lines)| lines);
    let ends = all().flat_map(|line| line.bounds.into_iter().flatten());
    let values: Vec<f64> = all().filter_map(|line| line.ratio).chain(ends).chain([1.0]).collect();
    let names = all().map(|line| wide(&line.name)).fold(0.0, f64::max);
    let rows = methods.iter().map(|(_, lines)| lines.len() + 1).sum::<usize>();
    let plane = Plane {
        left: (names + 28.0).min(WIDTH / 2.0),
        right: WIDTH - 24.0,
        top: 12.0,
        bottom: 12.0 + ROW * rows as f64,
    };
    let title = format!("{} {}", caption(report, point), shown(&point.point));
    let x = Scale::new(Axis::new(&values, true, plane.x()), "ratio", "");
    let y = Scale::with(Axis::exact(0.0, 1.0, plane.y()), "", Vec::new(), 1);
    let mut canvas = Canvas::new();
    frame::draw(&mut canvas, &plane, &x, &y);
    let one = x.axis.place(1.0);
    canvas.line([one, plane.top], [one, plane.bottom], Stroke::thin(INK));
    let mut top = plane.top;
    for (method, lines) in &methods {
        canvas.text([8.0, top + FONT], Anchor::Start, INK, &method.method);
        top += ROW;
        for line in lines {
            let middle = top + ROW / 2.0;
            let stroke = Stroke::new(line.number);
            canvas.text([plane.left - 6.0, top + FONT], Anchor::End, SOFT, &line.name);
            if let Some([low, high]) = line.bounds.map(|ends| ends.map(|end| x.axis.place(end))) {
                canvas.line([low, middle], [high, middle], stroke);
                for end in [low, high] {
                    canvas.line([end, middle - 3.0], [end, middle + 3.0], stroke);
                }
            }
            if let Some(ratio) = line.ratio {
                canvas.dot([x.axis.place(ratio), middle], 3.0, stroke.colour, 1.0);
            }
            top += ROW;
        }
    }
    canvas.into_file([WIDTH, plane.bottom + 48.0], &title)
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

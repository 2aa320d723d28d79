//! The numbers of a machine as one picture: a bar for each operation, from the fastest kind of load
//! to the slowest call, with published figures beside it.

use lab::run::Run;

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, FONT, INK, SOFT, Stroke};
use super::frame::{self, Plane, Scale};
use crate::reference::published;
use crate::report::model::numbers::{Number, measured_on, numbers};
use crate::report::model::units::amount;

const WIDTH: f64 = 860.0;
const LINE: f64 = 17.0;
const TOP: f64 = 66.0;
/// The series of this machine; those of the others follow.
const HERE: usize = 1;
/// The machines whose figures are drawn, with what a reader calls them.
const PUBLISHED: [(&str, &str); 2] = [("2012", "published 2012"), ("iphone-x", "iPhone X")];

/// None if nothing was measured.
pub(super) fn picture(run: &Run) -> Option<String> {
    let numbers = numbers(run);
    let shown: Vec<(&Number, [f64; 3])> = numbers
        .iter()
        .filter_map(|number| {
            let figures = number.figures.as_ref().ok()?;
            Some((number, [figures.p10, figures.p50, figures.p90]))
        })
        .collect();
    if shown.is_empty() {
        return None;
    }
    let bottom = TOP + LINE * shown.len() as f64 + 8.0;
    let plane = Plane { left: 230.0, right: WIDTH - 90.0, top: TOP, bottom };
    let mut values: Vec<f64> = shown.iter().flat_map(|(_, own)| *own).collect();
    values.extend(shown.iter().flat_map(|(number, _)| others(number)).map(|(_, ns)| ns));
    let x = Scale::new(Axis::new(&values, true, plane.x()), "time", "ns");
    let y = Scale::with(Axis::exact(0.0, 1.0, plane.y()), "", Vec::new(), 1);
    let mut canvas = Canvas::new();
    let title = "What does what programs do all day cost?";
    canvas.text([16.0, 24.0], Anchor::Start, INK, title);
    canvas.text([16.0, 44.0], Anchor::Start, SOFT, &measured_on(run));
    frame::draw(&mut canvas, &plane, &x, &y);
    for (at, (number, [p10, p50, p90])) in (0u32..).zip(&shown) {
        let middle = TOP + LINE * (f64::from(at) + 0.5) + 4.0;
        let name = number.row.title.trim();
        canvas.text([plane.left - 8.0, middle + FONT * 0.35], Anchor::End, INK, name);
        let end = x.axis.place(*p50);
        canvas.rect([plane.left, middle - 5.0], [end, middle + 5.0], Stroke::new(HERE));
        let ends = [p10, p90].map(|value| [x.axis.place(*value), middle]);
        canvas.line(ends[0], ends[1], Stroke { width: 1.5, ..Stroke::new(HERE) });
        for (series, ns) in others(number) {
            canvas.dot([x.axis.place(ns), middle], 4.0, Stroke::new(series).colour, 0.9);
        }
        let value = amount("ns", *p50);
        canvas.text([plane.right + 8.0, middle + FONT * 0.35], Anchor::Start, SOFT, &value);
    }
    let mut entries = vec![("here: p50, and p10 to p90".to_owned(), wide(HERE))];
    let of_others = (HERE + 1..).zip(PUBLISHED);
    entries.extend(of_others.map(|(series, (_, name))| (name.to_owned(), wide(series))));
    let height = frame::legend(&mut canvas, &entries, [24.0, bottom + 58.0], WIDTH - 40.0);
    Some(canvas.into_file([WIDTH, bottom + 58.0 + height], title))
}

fn wide(series: usize) -> Stroke {
    Stroke { width: 5.0, ..Stroke::new(series) }
}

/// The published figures of a row in ns, each with its series.
fn others(number: &Number) -> Vec<(usize, f64)> {
    let figures = published(number.row.published, number.row.published_on);
    let known = (HERE + 1..).zip(PUBLISHED).filter_map(|(series, (machine, _))| {
        let (_, ns) = figures.iter().find(|(of, _)| *of == machine)?;
        Some((series, *ns))
    });
    known.collect()
}

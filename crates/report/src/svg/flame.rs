//! The call chains of two profiled methods as one flame graph: what takes longer in one of them is
//! coloured.

use std::collections::BTreeMap;

use analysis::{Analysis, Why};
use model::profile::{CellProfile, Profile};
use model::run::Run;

use super::canvas::{COLOURS, Canvas, GRID, fitted, text_width};
use crate::views::made_of::more_ns;
use crate::views::units::ns;

const WIDTH: f64 = 1000.0;
const EDGE: f64 = 8.0;
const ROW: f64 = 17.0;
/// A box that is narrower than this many pixels is not drawn, nor are deeper ones.
const WIDTH_MIN: f64 = 0.6;
const DEPTH_MAX: usize = 70;
/// A narrower box has no label.
const LABEL_MIN: f64 = 24.0;

/// That of the pair of methods whose difference is the largest; `None` of a run without a profile.
pub fn flame_graph(run: &Run, analysis: &Analysis) -> Option<String> {
    let largest = |a: &&Why, b: &&Why| a.total_ns.abs().total_cmp(&b.total_ns.abs());
    let why = analysis.why.iter().max_by(largest)?;
    let profile = run.plan.profile.as_ref()?;
    of_pair(profile, why)
}

/// `None` where there are no call chains.
pub(crate) fn of_pair(profile: &Profile, why: &Why) -> Option<String> {
    let [ours, theirs] = [why.cell, why.reference_cell].map(|cell| profile.of_cell(cell));
    let mut root = FlameNode::default();
    for (side, cell) in [ours?, theirs?].into_iter().enumerate() {
        add(&mut root, profile, cell, side);
    }
    let whole_ns = root.mean_ns();
    if whole_ns <= 0.0 {
        return None;
    }
    let mut canvas = Canvas::new();
    let title = format!("{} against {}", why.method, why.reference);
    let what = if profile.traced_slowdown.is_some() {
        "a system call while it is traced"
    } else {
        "a function with all that it calls"
    };
    let remarks = [format!(
        "Width: the mean time of both in {what}. Orange: more time in the first one, blue: less, \
         grey: the same."
    )];
    let top = canvas.head(&title, &remarks, WIDTH) + ROW;
    let per_ns = (WIDTH - 2.0 * EDGE) / whole_ns;
    let mut drawing = FlameDrawing { canvas, per_ns, whole_ns, top, depth: 0 };
    drawing.node("all", &root, EDGE, 0);
    let height = top + ROW * (drawing.depth + 1) as f64 + EDGE;
    Some(drawing.canvas.into_file([WIDTH, height], &title))
}

/// A function in a call chain: its time with all that it calls, of each side.
#[derive(Default)]
struct FlameNode<'p> {
    ns: [f64; 2],
    calls: BTreeMap<&'p str, FlameNode<'p>>,
}

impl FlameNode<'_> {
    fn mean_ns(&self) -> f64 {
        f64::midpoint(self.ns[0], self.ns[1])
    }

    fn difference_ns(&self) -> f64 {
        self.ns[0] - self.ns[1]
    }
}

fn add<'p>(root: &mut FlameNode<'p>, profile: &'p Profile, cell: &CellProfile, side: usize) {
    for stack in &cell.stacks {
        root.ns[side] += stack.ns;
        let mut node = &mut *root;
        for frame in stack.frames.iter().take(DEPTH_MAX) {
            node = node.calls.entry(profile.name(*frame)).or_default();
            node.ns[side] += stack.ns;
        }
    }
}

struct FlameDrawing {
    canvas: Canvas,
    per_ns: f64,
    whole_ns: f64,
    top: f64,
    depth: usize,
}

impl FlameDrawing {
    /// Draws a function below the one that calls it.
    fn node(&mut self, name: &str, node: &FlameNode<'_>, x: f64, depth: usize) {
        let width = node.mean_ns() * self.per_ns;
        if width < WIDTH_MIN {
            return;
        }
        self.depth = self.depth.max(depth);
        let y = self.top + ROW * depth as f64;
        let label = if width < LABEL_MIN { String::new() } else { fitted(name, width - 6.0) };
        let label = if text_width(&label) > width { "" } else { &label };
        let title = format!(
            "{name}: {}, {} in the reference ({})",
            ns(node.ns[0]),
            ns(node.ns[1]),
            more_ns(node.difference_ns())
        );
        self.canvas.labelled([x, y], [width, ROW], self.colour(node), [label, &title]);
        let mut x = x;
        for (name, call) in &node.calls {
            self.node(name, call, x, depth + 1);
            x += call.mean_ns() * self.per_ns;
        }
    }

    /// By the share of the node's own time that differs; a difference of less than a thousandth of
    /// all time has none.
    fn colour(&self, node: &FlameNode<'_>) -> (&'static str, f64) {
        let share = node.difference_ns() / (2.0 * node.mean_ns());
        if node.difference_ns().abs() < 0.001 * self.whole_ns {
            return (GRID, 1.0);
        }
        let colour = if share > 0.0 { COLOURS[2] } else { COLOURS[1] };
        (colour, 0.15 + 0.85 * share.abs().min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use model::profile::FoldedStack;

    use super::*;

    fn drawn(name: &str, traced_slowdown: Option<f64>) -> String {
        let stack = |frames: &[u32], ns| FoldedStack { frames: frames.to_vec(), ns };
        let cell = |cell, ns| CellProfile {
            cell,
            jobs: Vec::new(),
            stacks: vec![stack(&[0, 1], ns), stack(&[0], 5e6)],
        };
        let profile = Profile {
            names: vec!["main".to_owned(), name.to_owned()],
            cells: vec![cell(0, 5e6), cell(1, 25e6)],
            traced_slowdown,
            ..Profile::default()
        };
        let why = Why {
            method: "b".to_owned(),
            reference: "a".to_owned(),
            cell: 1,
            reference_cell: 0,
            jobs: 10,
            total_ns: 20e6,
            functions: Vec::new(),
            candidates: 1,
            level: 0.95,
            found_ns: 1e6,
        };
        of_pair(&profile, &why).unwrap()
    }

    #[test]
    fn what_takes_longer_is_coloured_and_said() {
        let svg = drawn("parse", None);
        assert!(
            svg.contains("<title>parse: 25 ms, 5 ms in the reference (20 ms more)</title>"),
            "{svg}"
        );
        assert!(
            svg.contains("<title>main: 30 ms, 10 ms in the reference (20 ms more)</title>"),
            "{svg}"
        );
        assert_eq!(svg.matches(COLOURS[2]).count(), 3, "{svg}");
        // Three quarters of the width.
        assert!(svg.contains("width=\"738.00\""), "{svg}");
    }

    #[test]
    fn system_calls_are_no_functions() {
        let has = |slowdown: Option<f64>, what: &str| drawn("read", slowdown).contains(what);
        assert!(has(Some(7.0), "a system call while it is traced") && has(None, "a function with"));
    }

    #[test]
    fn a_hostile_name_is_escaped() {
        let svg = drawn("</title><script>alert(1)</script>", None);
        assert!(!svg.contains("<script"), "{svg}");
    }
}

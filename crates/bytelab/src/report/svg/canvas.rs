//! SVG elements as text. Content that is unknown at build time is added only as a number, or
//! through [`escaped`]. Implemented here because it takes only a page: charting libraries lack
//! ticks at 1, 2 and 5 of a logarithmic axis with their units, boxes of given percentiles, and
//! panels that share an axis.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use crate::report::model::words::clean;

/// The palette of Okabe and Ito, after black: readers with colour blindness can distinguish it.
const COLOURS: [&str; 7] =
    ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const DASHES: [&str; 4] = ["none", "6 3", "2 3", "8 3 2 3"];

pub(super) const INK: &str = "#222222";
pub(super) const SOFT: &str = "#666666";
pub(super) const GRID: &str = "#e2e2e2";
pub(super) const FONT: f64 = 11.0;

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

    pub(super) fn polyline(&mut self, places: &[[f64; 2]], stroke: Stroke) {
        let Stroke { colour, width, dash } = stroke;
        self.add(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-dasharray=\"{dash}\" stroke-linejoin=\"round\"/>",
            written(places)
        ));
    }

    pub(super) fn area(&mut self, places: &[[f64; 2]], colour: &str) {
        let places = written(places);
        self.add(format_args!(
            "<polygon points=\"{places}\" fill=\"{colour}\" fill-opacity=\"0.18\"/>"
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

fn written(places: &[[f64; 2]]) -> String {
    let places: Vec<String> = places.iter().map(|[x, y]| format!("{x:.2},{y:.2}")).collect();
    places.join(" ")
}

/// An estimate of a text's width: the exact width is unknown before it is drawn.
pub(super) fn wide(text: &str) -> f64 {
    clean(text).width() as f64 * FONT * 0.56
}

pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
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

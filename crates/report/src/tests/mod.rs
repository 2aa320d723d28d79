//! The whole text, as a reader sees it.

mod answer;
mod check;
mod doubts;
pub(super) mod fixture;
mod hostile;
mod layout;
mod live;
pub(super) mod numbers;
mod options;
mod study;
mod suite;
mod sweep;
mod whole;

use self::fixture::Fixture;
use crate::{
    ExtraColumn, PageExtent, PageLayout, RowOrder, TableOptions, TextOptions, TimeUnit, text,
};

const NAN: f64 = f64::NAN;

const ALL_NOTES: TextOptions<'static> = TextOptions {
    table: TableOptions {
        more: &[],
        own: &[],
        parameters: None,
        time_unit: None,
        order: RowOrder::Auto,
    },
    all_notes: true,
    explain: false,
    extent: PageExtent::Summary,
};

fn shown(f: &Fixture, width: usize) -> String {
    text(&f.run, &f.analysis, ALL_NOTES, &PageLayout { width, colour: false })
}

/// With the codes of the colours as visible text.
fn coloured(f: &Fixture) -> String {
    let text = text(&f.run, &f.analysis, ALL_NOTES, &PageLayout { width: 80, colour: true });
    let names = [("0", "/"), ("1", "bold"), ("2", "dim"), ("31", "red"), ("32", "green")];
    names.iter().fold(text, |text, (code, name)| {
        text.replace(&format!("\u{1b}[{code}m"), &format!("<{name}>"))
    })
}

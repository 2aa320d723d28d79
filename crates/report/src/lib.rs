//! What a reader of a run sees. `views` has what all kinds of text share, as data; `text`, `json`,
//! `html`, `svg` and `export` have a kind of text each. `import` makes runs of what other programs
//! measured, and `published` has what others published. Pure: reads no clock, file or environment.

pub mod export;
mod html;
pub mod import;
mod json;
pub mod published;
mod svg;
mod text;
mod views;

pub use self::html::html;
pub use self::json::write as json;
pub use self::svg::files as svg;
pub use self::text::PageLayout;
pub use self::text::list::{ListedExperiment, experiments, methods};
pub use self::text::percentiles::{percentiles, plot};
pub use self::text::run::{TextOptions, text};
pub use self::views::rows::{ExtraColumn, RowOrder, TableOptions, TimeUnit};
pub use self::views::words::{escape_controls, escape_controls_in_lines, noise};
pub use self::views::{View, view};

pub mod alert {
    pub use super::json::history::alert as json;
    pub use super::text::history::alert as text;
    pub use super::views::history::Alert;
}

pub mod by_commit {
    pub use super::json::history::by_commit as json;
    pub use super::text::history::by_commit as text;
}

pub mod check {
    pub use super::export::markdown::check as markdown;
    pub use super::json::compare::{check_json as json, detectable_effects_json};
    pub use super::text::compare::{baselines, check as text, detectable_effects};
    pub use super::views::compare::{CheckBaseline, Sides};
}

pub mod compare {
    pub use super::json::compare::json;
    pub use super::text::compare::text;
    pub use super::views::compare::Side;
}

pub mod fleet {
    pub use super::html::fleet_page as page;
    pub use super::json::compare::fleet_json as json;
    pub use super::svg::fleet as figure;
    pub use super::text::compare::fleet as text;
    pub use super::views::fleet::{FleetReport, is_lasting};
}

pub mod history {
    pub use super::json::history::runs as json;
    pub use super::text::history::table;
    pub use super::views::history::{HistoryEntry, flags};
}

pub mod live {
    pub use super::json::look as json;
    pub use super::text::run::{LiveRun, live_text as text, look};
}

pub mod numbers {
    pub use super::export::markdown::numbers_table as markdown;
    pub use super::text::run::numbers_text as text;
    pub use super::views::numbers::{COLUMNS, NumbersColumn, p50s};
}

pub mod over_time {
    pub use super::json::history::over_time as json;
    pub use super::text::history::over_time as text;
}

pub mod published_pages {
    pub use super::json::study::published as json;
    pub use super::text::list::{published as list, published_figures as figures};
    pub use super::views::compare::SideFigures;
}

pub mod served {
    pub use super::html::policy;
    pub use super::html::served::{Filter, RunList, over_time, runs};
}

pub mod study {
    pub use super::html::study::{DrawnFigure, page};
    pub use super::json::study::json;
    pub use super::svg::study::{caption, figure};
    pub use super::text::study::text;
    pub use super::views::study::StudyReport;
}

#[cfg(test)]
mod tests;

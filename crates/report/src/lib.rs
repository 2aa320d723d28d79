//! What a reader of a run sees. `views` has what all pages share, as data; `pages` composes a
//! `document` of each topic from it; `text`, `json`, `html`, `svg` and `export` have a kind of text
//! each. `import` makes runs of what other programs measured, and `published` has what others
//! published. Pure: reads no clock, file or environment.

mod document;
pub mod export;
mod html;
pub mod import;
mod json;
mod pages;
pub mod published;
mod svg;
mod text;
mod views;

pub use self::html::html;
pub use self::json::write as json;
pub use self::pages::list::{ListedExperiment, experiments, methods};
pub use self::pages::percentiles::{percentiles, plot};
pub use self::pages::run::{PageExtent, TextOptions, text};
pub use self::svg::files as svg;
pub use self::svg::flame_graph;
pub use self::text::{PageLayout, wrap};
pub use self::views::rows::{ExtraColumn, RowOrder, TableOptions, TimeUnit};
pub use self::views::words::{GLOSSARY, escape_controls, escape_controls_in_lines, noise};
pub use self::views::{View, view};

pub mod alert {
    pub use super::json::history::alert as json;
    pub use super::pages::history::alert as text;
    pub use super::views::history::Alert;
}

pub mod by_commit {
    pub use super::json::history::by_commit as json;
    pub use super::pages::history::by_commit as text;
}

pub mod check {
    pub use super::json::compare::{check_json as json, detectable_effects_json};
    pub use super::pages::check::{baselines, causes, detectable_effects, markdown, text};
    pub use super::views::compare::{CheckBaseline, Sides};
}

pub mod compare {
    pub use super::json::compare::json;
    pub use super::pages::compare::text;
    pub use super::views::compare::Side;
}

pub mod fleet {
    pub use super::json::compare::fleet_json as json;
    pub use super::pages::fleet::{page, text};
    pub use super::svg::fleet as figure;
    pub use super::views::fleet::{FleetReport, is_lasting};
}

pub mod history {
    pub use super::json::history::runs as json;
    pub use super::pages::history::table;
    pub use super::views::history::{HistoryEntry, HistoryLine, flags};
}

pub mod live {
    pub use super::json::look as json;
    pub use super::pages::live::{LiveRun, look, text};
}

pub mod numbers {
    pub use super::pages::numbers::{markdown, text};
    pub use super::views::numbers::{COLUMNS, NumbersColumn, p50s};
}

pub mod over_time {
    pub use super::json::history::over_time as json;
    pub use super::pages::history::over_time as text;
}

pub mod published_pages {
    pub use super::json::study::published as json;
    pub use super::pages::list::{published as list, published_figures as figures};
    pub use super::views::compare::SideFigures;
}

pub mod served {
    pub use super::html::policy;
    pub use super::html::served::{Filter, RunList, over_time, runs};
}

pub mod study {
    pub use super::json::study::json;
    pub use super::pages::study::{DrawnFigure, claims_by_figures, markdown, page, text};
    pub use super::svg::study::{caption, figure, files};
    pub use super::views::study::{AbsentMethod, StudyReport};
}

pub mod suite {
    pub use super::export::junit::junit;
    pub use super::json::suite::{bmf, json, proof_json};
    pub use super::pages::suite::{causes, markdown, proof, text};
    pub use super::views::suite::{SuiteLine, SuiteReport};
}

#[cfg(test)]
mod tests;

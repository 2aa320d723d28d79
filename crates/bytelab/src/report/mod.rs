//! What a reader sees: text generated from runs and analyses. Pure: reads no clock, file or
//! environment.
//!
//! `views` has what all kinds of text share; the other folders have a kind of text each.

pub(crate) mod export;
mod html;
mod json;
mod svg;
mod text;
mod views;

pub(crate) use self::html::html;
pub(crate) use self::json::write as json;
pub(crate) use self::svg::files as svg;
pub(crate) use self::text::PageLayout;
pub(crate) use self::text::list::{Entries, experiments, methods};
pub(crate) use self::text::percentiles::{percentiles, plot};
pub(crate) use self::text::run::{TextOptions, text};
pub(crate) use self::views::rows::{ExtraColumn, RowOrder, TableOptions, TimeUnit};
pub(crate) use self::views::words::{escape_controls, escape_controls_in_lines, noise};
pub(crate) use self::views::{View, view};

pub(crate) mod alert {
    pub(crate) use super::json::history::alert as json;
    pub(crate) use super::text::history::alert as text;
    pub(crate) use super::views::history::Alert;
}

pub(crate) mod by_commit {
    pub(crate) use super::json::history::by_commit as json;
    pub(crate) use super::text::history::by_commit as text;
}

pub(crate) mod check {
    pub(crate) use super::export::markdown::check as markdown;
    pub(crate) use super::json::compare::{check_json as json, detectable_effects_json};
    pub(crate) use super::text::compare::{baselines, check as text, detectable_effects};
    pub(crate) use super::views::compare::{CheckBaseline, Sides};
}

pub(crate) mod compare {
    pub(crate) use super::json::compare::json;
    pub(crate) use super::text::compare::text;
    pub(crate) use super::views::compare::Side;
}

pub(crate) mod fleet {
    pub(crate) use super::html::fleet_page as page;
    pub(crate) use super::json::compare::fleet_json as json;
    pub(crate) use super::svg::fleet as figure;
    pub(crate) use super::text::compare::fleet as text;
    pub(crate) use super::views::fleet::{FleetReport, is_lasting};
}

pub(crate) mod history {
    pub(crate) use super::json::history::runs as json;
    pub(crate) use super::text::history::table;
    pub(crate) use super::views::history::{HistoryEntry, flags};
}

pub(crate) mod live {
    pub(crate) use super::json::look as json;
    pub(crate) use super::text::run::{LiveRun, live_text as text, look};
}

pub(crate) mod numbers {
    pub(crate) use super::export::markdown::numbers_table as markdown;
    pub(crate) use super::text::run::numbers_text as text;
    pub(crate) use super::views::numbers::{COLUMNS, NumbersColumn, p50s};
}

pub(crate) mod over_time {
    pub(crate) use super::json::history::over_time as json;
    pub(crate) use super::text::history::over_time as text;
}

pub(crate) mod published {
    pub(crate) use super::json::study::published as json;
    pub(crate) use super::text::list::{published as list, published_figures as figures};
    pub(crate) use super::views::compare::SideFigures;
}

pub(crate) mod served {
    pub(crate) use super::html::policy;
    pub(crate) use super::html::served::{Filter, RunList, over_time, runs};
}

pub(crate) mod study {
    pub(crate) use super::html::study::{DrawnFigure, page};
    pub(crate) use super::json::study::json;
    pub(crate) use super::svg::study::{caption, figure};
    pub(crate) use super::text::study::text;
    pub(crate) use super::views::study::StudyReport;
}

#[cfg(test)]
mod tests;

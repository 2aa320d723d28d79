//! Comparison of groups of runs: the table of each point, and its results in sentences.

use analysis::stats::GROUPS_PREDICTED;
use analysis::{Fleet, FleetMethod, FleetPoint, GROUPS_TESTED, GroupRatio, RunGroup};

use super::compare::{OF_EACH_RUN, OF_THE_MOMENT, bounds};
use super::table::{Style, Table};
use super::units::{self, NONE};
use super::words::shortened;

/// The maximum width of the name of a group in a heading.
const NAME_WIDTH: usize = 24;
/// More facts are only in JSON.
const FACTS_MAX: usize = 12;

/// Groups of runs as the user requested them.
pub struct FleetReport<'a> {
    pub experiment: &'a str,
    pub question: &'a str,
    /// `machine`, `kernel`.
    pub by: &'static str,
    pub groups: &'a [RunGroup],
    pub fleet: &'a Fleet,
}

/// Whether a fact is one of the machine or its system, and neither of a moment nor of a run.
pub fn is_lasting(fact: &str) -> bool {
    fact != "imported_from"
        && !fact.starts_with(OF_EACH_RUN)
        && !OF_THE_MOMENT.iter().any(|start| fact.starts_with(start))
}

/// A row for each group, and one for all; a column for each method, with its interval.
pub(crate) fn table(report: &FleetReport<'_>, point: &FleetPoint) -> Table {
    let mut heading = vec![report.by, "runs"];
    for method in &point.methods {
        heading.extend([method.method.as_str(), "95 %"]);
    }
    let mut table = Table::plain(&heading, false);
    for (at, group) in report.groups.iter().enumerate() {
        let mut cells = vec![shortened(&group.name, NAME_WIDTH), group.runs.len().to_string()];
        for method in &point.methods {
            cells.extend(of_group(method.groups[at].as_ref()));
        }
        let disagrees = point.disagreements.iter().any(|found| found.group == at);
        table.row(if disagrees { Style::Red } else { Style::Plain }, cells);
    }
    let runs: usize = report.groups.iter().map(|group| group.runs.len()).sum();
    let mut cells = vec!["all".to_owned(), runs.to_string()];
    let mut next = vec![format!("next {}", report.by), String::new()];
    let mut spread = vec!["I²".to_owned(), String::new()];
    for method in &point.methods {
        let pooled = method.pooled.as_ref();
        let ratio = pooled.map(|pooled| units::ratio(pooled.ratio, 3));
        let interval = pooled.map(|pooled| bounds(Some(pooled.low), Some(pooled.high)));
        cells.extend([ratio.unwrap_or(NONE.to_owned()), interval.unwrap_or_default()]);
        let prediction = pooled.map(|pooled| bounds(pooled.prediction_low, pooled.prediction_high));
        next.extend([String::new(), prediction.unwrap_or_default()]);
        let share = pooled.map(|pooled| format!("{:.0} %", 100.0 * pooled.i_squared));
        spread.extend([share.unwrap_or(NONE.to_owned()), String::new()]);
    }
    table.row(Style::Bold, cells);
    table.row(Style::Plain, next);
    table.row(Style::Dim, spread);
    table
}

fn of_group(found: Option<&GroupRatio>) -> [String; 2] {
    match found {
        Some(found) => [units::ratio(found.ratio, 3), bounds(found.low, found.high)],
        None => [NONE.to_owned(), String::new()],
    }
}

/// The caption of the ratios of a point.
pub(crate) fn caption(report: &FleetReport<'_>, point: &FleetPoint) -> String {
    format!("{} of each method / {}, by {}", point.metric, point.reference, report.by)
}

/// The results of a point, in sentences.
pub(crate) fn sentences(report: &FleetReport<'_>, point: &FleetPoint) -> Vec<String> {
    let by = report.by;
    let mut said: Vec<String> = point
        .methods
        .iter()
        .filter_map(|method| prediction(by, &point.reference, method))
        .collect();
    if said.is_empty() {
        said.push(format!(
            "no prediction for the next {by}: it takes {GROUPS_PREDICTED} with five sessions or more"
        ));
    }
    for found in &point.disagreements {
        said.push(format!(
            "{} disagrees: {} is best there, in {} of the time of {} ({}), which is best over all",
            report.groups[found.group].name,
            found.best,
            units::ratio(found.ratio, 3),
            point.best,
            bounds(Some(found.low), Some(found.high)),
        ));
    }
    if point.disagreements.is_empty() {
        said.push(format!("no {by} is shown to disagree with {} as the best", point.best));
    }
    if !point.shared_facts.is_empty() {
        let mut facts: Vec<&str> = point.shared_facts.iter().map(String::as_str).collect();
        let more = facts.len().saturating_sub(FACTS_MAX);
        facts.truncate(FACTS_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        said.push(format!(
            "only where they disagree: {}{more} (listed, not tested, below {GROUPS_TESTED} groups; \
             what goes together need not be a cause)",
            facts.join(", ")
        ));
    }
    said.extend(point.methods.iter().filter_map(goes_with));
    if !point.same_answers {
        said.push("the answers differ between runs: they read other data".to_owned());
    }
    said
}

fn prediction(by: &str, reference: &str, method: &FleetMethod) -> Option<String> {
    let pooled = method.pooled.as_ref()?;
    let (low, high) = (pooled.prediction_low?, pooled.prediction_high?);
    Some(format!(
        "on the next {by} {} takes {} of {reference} (95 %, from {} groups, tau {:.3})",
        method.method,
        bounds(Some(low), Some(high)),
        pooled.groups,
        pooled.tau,
    ))
}

fn goes_with(method: &FleetMethod) -> Option<String> {
    let known = method.facts.iter().map(|fact| {
        let names = shortened(&fact.facts.join(", "), 60);
        format!("{names} ({:.0} %, p {:.3})", 100.0 * fact.explained, fact.p)
    });
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| {
        format!(
            "what goes with the differences of {}, by the share that it explains: {} (a correlation, \
             which need not be a cause)",
            method.method,
            known.join("; ")
        )
    })
}

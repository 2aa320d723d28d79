//! Which page an address names, and the runs that it needs.

use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::{Result, ensure};
use hyper::StatusCode;
use lab::analyze::{Analysis, analyze, series};
use lab::run::{Listed, Run};

use crate::commands::context::Context;
use crate::commands::limits::metric_named;
use crate::commands::report::ensure_same_experiment;
use crate::commands::same_job::places;
use crate::pattern;
use crate::report::served::{self, Filter, RunList};
use crate::report::{self, Layout, clean};
use crate::store::{self, Store, is_machine};

/// Rows of a page of the list.
const ROWS: usize = 200;
/// Runs that are drawn together: the page has all their samples.
const SHOWN_MAX: usize = 20;
/// Runs of a history, the newest ones.
const HISTORY_MAX: usize = 500;
/// The longest query that is read, in bytes.
const QUERY_MAX: usize = 8 << 10;
const HISTORY_LAYOUT: Layout = Layout { width: 120, colour: false };

/// What is needed to make any page.
pub(super) struct Pages {
    store: Option<OsString>,
    /// The params of each experiment in which two sides may differ.
    places: BTreeMap<String, Vec<&'static str>>,
}

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) is_page: bool,
    pub(super) text: String,
}

impl Answer {
    /// One line of text.
    pub(super) fn line(status: StatusCode, text: &str) -> Answer {
        Answer { status, is_page: false, text: format!("{}\n", clean(text)) }
    }

    fn page(text: String) -> Answer {
        Answer { status: StatusCode::OK, is_page: true, text }
    }
}

type Query = Vec<(String, String)>;

impl Pages {
    pub(super) fn new(context: &Context) -> Pages {
        let all = &context.experiments.experiments;
        let known = all.iter().map(|known| (known.name.to_owned(), places(all, known.name)));
        Pages { store: context.store.clone(), places: known.collect() }
    }

    /// The answer to a request of this path with this query.
    pub(super) fn answer(&self, path: &str, query: &str) -> Answer {
        if query.len() > QUERY_MAX {
            return Answer::line(StatusCode::URI_TOO_LONG, "the address is too long");
        }
        // What is no UTF-8 becomes U+FFFD, which no name has.
        let query: Query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let steps: Vec<&str> = path.split('/').skip(1).collect();
        let made = match steps.as_slice() {
            [""] => self.list(&query),
            ["run", id] => self.report(&[(*id).to_owned()]),
            ["compare"] => self.report(&all(&query, "run")),
            ["history"] => self.over_time(&query),
            _ => return Answer::line(StatusCode::NOT_FOUND, "no such page; / lists the runs"),
        };
        made.unwrap_or_else(|error| {
            Answer::line(StatusCode::BAD_REQUEST, &format!("{error:#}").replace('\n', " "))
        })
    }

    fn open(&self) -> Result<Box<dyn Store>> {
        store::open(self.store.clone())
    }

    fn list(&self, query: &Query) -> Result<Answer> {
        let filter = filter(query);
        let mut listed = newest_first(self.open()?.as_mut(), &filter)?;
        let page: usize = one(query, "page").parse().unwrap_or(0);
        let total = listed.len();
        let first = page.saturating_mul(ROWS).min(total);
        let runs: Vec<Listed> = listed.drain(first..total.min(first + ROWS)).collect();
        let has_older = first + runs.len() < total;
        let list = RunList { runs: &runs, first, total, page, has_older, filter: &filter };
        Ok(Answer::page(served::runs(&list)))
    }

    fn report(&self, ids: &[String]) -> Result<Answer> {
        ensure!(!ids.is_empty(), "no run is chosen: choose runs in the list");
        ensure!(ids.len() <= SHOWN_MAX, "{} runs are chosen, and {SHOWN_MAX} fit", ids.len());
        let mut store = self.open()?;
        let mut shown: Vec<(Run, Analysis)> = Vec::new();
        for id in ids {
            let run = match store::load(store.as_mut(), id) {
                Ok(run) => run,
                Err(error) => return Ok(not_loaded(store.as_mut(), id, &error)),
            };
            ensure_same_experiment(&shown, &run, id)?;
            ensure!(shown.iter().all(|(known, _)| known.id != run.id), "run {id} is named twice");
            let analysis = analyze(&run);
            shown.push((run, analysis));
        }
        let places = self.places.get(&shown[0].0.experiment);
        Ok(Answer::page(report::html(&shown, places.map_or(&[][..], Vec::as_slice))))
    }

    fn over_time(&self, query: &Query) -> Result<Answer> {
        let filter = filter(query);
        let (method, metric) = (one(query, "method"), one(query, "metric"));
        let metric = metric_named(if metric.is_empty() { "wall" } else { metric });
        ensure!(!method.is_empty(), "no method is named");
        let mut store = self.open()?;
        let mut listed = newest_first(store.as_mut(), &filter)?;
        listed.truncate(HISTORY_MAX);
        let load = |run: &Listed| store.load_method(&run.id, method, metric);
        let runs = listed.iter().rev().map(load).collect::<Result<Vec<Run>>>()?;
        let all = series(&runs, method, metric);
        if all.is_empty() {
            let text = format!("no value of {metric} of a method {method} in {} runs", runs.len());
            return Ok(Answer::line(StatusCode::NOT_FOUND, &text));
        }
        let drawn = report::over_time::text(method, metric, &all, &HISTORY_LAYOUT);
        Ok(Answer::page(served::over_time(method, metric, &drawn)))
    }
}

/// A run that is not there is another error than one that cannot be read.
fn not_loaded(store: &mut dyn Store, id: &str, error: &anyhow::Error) -> Answer {
    let is_listed = match store.list() {
        Ok(listed) => listed.iter().any(|run| run.id == id),
        Err(_) => true,
    };
    let status = if is_listed { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::NOT_FOUND };
    let text = if is_listed { format!("{error:#}") } else { format!("no run {id:?}") };
    Answer::line(status, &text.replace('\n', " "))
}

fn newest_first(store: &mut dyn Store, filter: &Filter) -> Result<Vec<Listed>> {
    let mut listed = store.list()?;
    listed.retain(|run| {
        (filter.experiment.is_empty() || run.experiment == filter.experiment)
            && (filter.label.is_empty()
                || pattern::matches(&filter.label, run.label.as_deref().unwrap_or_default()))
            && (filter.machine.is_empty() || is_machine(run, &filter.machine))
    });
    listed.sort_by(|a, b| b.started.cmp(&a.started));
    Ok(listed)
}

fn filter(query: &Query) -> Filter {
    let own = |name| one(query, name).to_owned();
    Filter { experiment: own("experiment"), label: own("label"), machine: own("machine") }
}

/// The first value with this name, or nothing.
fn one<'a>(query: &'a Query, name: &str) -> &'a str {
    query.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

fn all(query: &Query, name: &str) -> Vec<String> {
    let own = query.iter().filter(|(known, _)| known == name);
    own.map(|(_, value)| value.clone()).collect()
}

//! Which page an address names, and the runs that it needs.

use std::collections::BTreeMap;
use std::ffi::OsString;

use hyper::StatusCode;
use lab::analyze::{Analysis, analyze, series};
use lab::run::{Listed, Run};

use crate::commands::context::Context;
use crate::commands::limits::metric_named;
use crate::commands::report::ensure_same_experiment;
use crate::commands::same_job::places;
use crate::report::served::{self, Filter, RunList};
use crate::report::{self, Layout, clean};
use crate::store::{self, LeftOut, NoRun, Store, has_label, is_machine};

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
        let text = text.replace('\n', " ");
        Answer { status, is_page: false, text: format!("{}\n", clean(&text)) }
    }

    fn wrong_request(text: &str) -> Answer {
        Answer::line(StatusCode::BAD_REQUEST, text)
    }

    fn page(text: String) -> Answer {
        Answer { status: StatusCode::OK, is_page: true, text }
    }
}

/// What a store cannot read is not the client's mistake.
impl From<anyhow::Error> for Answer {
    fn from(error: anyhow::Error) -> Answer {
        Answer::line(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error:#}"))
    }
}

/// A page, or the answer that says why there is none.
type PageResult = Result<Answer, Answer>;
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
        made.unwrap_or_else(|answer| answer)
    }

    /// A store that was removed meanwhile is not made again: the pages change nothing.
    fn open(&self) -> Result<Box<dyn Store>, Answer> {
        let opened = store::open_existing(self.store.clone());
        opened.map_err(|error| Answer::line(StatusCode::SERVICE_UNAVAILABLE, &format!("{error:#}")))
    }

    fn list(&self, query: &Query) -> PageResult {
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

    fn report(&self, ids: &[String]) -> PageResult {
        if ids.is_empty() {
            return Err(Answer::wrong_request("no run is chosen: choose runs in the list"));
        }
        if ids.len() > SHOWN_MAX {
            let text = format!("{} runs are chosen, and {SHOWN_MAX} fit", ids.len());
            return Err(Answer::wrong_request(&text));
        }
        let mut store = self.open()?;
        let mut shown: Vec<(Run, Analysis)> = Vec::new();
        for id in ids {
            let loaded = store::load(store.as_mut(), id);
            let run = loaded.map_err(|error| not_loaded(id, error))?;
            if shown.iter().any(|(known, _)| known.id == run.id) {
                return Err(Answer::wrong_request(&format!("run {id} is named twice")));
            }
            ensure_same_experiment(&shown, &run, id)
                .map_err(|error| Answer::wrong_request(&error.to_string()))?;
            let analysis = analyze(&run);
            shown.push((run, analysis));
        }
        let places = self.places.get(&shown[0].0.experiment);
        Ok(Answer::page(report::html(&shown, places.map_or(&[][..], Vec::as_slice))))
    }

    fn over_time(&self, query: &Query) -> PageResult {
        let filter = filter(query);
        let (method, metric) = (one(query, "method"), one(query, "metric"));
        let metric = metric_named(if metric.is_empty() { "wall" } else { metric });
        if method.is_empty() {
            return Err(Answer::wrong_request("no method is named"));
        }
        let mut store = self.open()?;
        let mut listed = newest_first(store.as_mut(), &filter)?;
        listed.truncate(HISTORY_MAX);
        let mut left_out = LeftOut::default();
        let runs = left_out
            .readable(listed.iter().rev(), |run| store.load_method(&run.id, method, metric))?;
        let all = series(&runs, method, metric);
        if all.is_empty() {
            if let (true, Some(message)) = (runs.is_empty(), left_out.message()) {
                return Err(anyhow::anyhow!(message).into());
            }
            let text = format!("no value of {metric} of a method {method} in {} runs", runs.len());
            return Err(Answer::line(StatusCode::NOT_FOUND, &text));
        }
        let mut drawn = report::over_time::text(method, metric, &all, &HISTORY_LAYOUT);
        drawn +=
            &left_out.message().map(|text| format!("\n{}\n", clean(&text))).unwrap_or_default();
        Ok(Answer::page(served::over_time(method, metric, &drawn)))
    }
}

/// A run that is not there is another error than one that cannot be read.
fn not_loaded(id: &str, error: anyhow::Error) -> Answer {
    if error.is::<NoRun>() {
        let text = format!("no run {id:?}, or more than one: / lists all");
        return Answer::line(StatusCode::NOT_FOUND, &text);
    }
    error.into()
}

fn newest_first(store: &mut dyn Store, filter: &Filter) -> anyhow::Result<Vec<Listed>> {
    let mut listed = store.list()?;
    listed.retain(|run| {
        (filter.experiment.is_empty() || run.experiment == filter.experiment)
            && (filter.label.is_empty() || has_label(run, &filter.label))
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

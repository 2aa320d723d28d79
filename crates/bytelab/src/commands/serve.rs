//! `bytelab serve`: pages of the stored runs over HTTP. It changes nothing and keeps nothing: each
//! request opens the store.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::OsString;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use analysis::{Analysis, analyze, series};
use anyhow::{Context as _, Result};
use clap::Args;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use measure::launch::Stop;
use model::run::{Listed, Run};
use report::served::{self, Filter, RunList, policy};
use report::{PageLayout, escape_controls};
use store::{NoRun, OmittedRuns, Store, has_label, is_machine};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::comparing::{metric_named, path_params};
use super::exit;
use super::history::{ParamsByExperiment, lines, params};
use super::report::ensure_same_experiment;
use super::{Context, load_run};
use crate::console;

#[derive(Args)]
#[command(
    after_help = "It runs until a signal ends it (status 130 or 143). Anybody who reaches the address \
                  may read all runs of the store: keep it on this machine, or behind a proxy that requires \
                  a password."
)]
pub(crate) struct ServeArgs {
    /// The address to listen on; with port 0 a free port is chosen
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
}

/// One more ends the oldest of those that wait for their clients.
const CONNECTIONS_MAX: usize = 64;
/// The head of a request, with all that a browser sends in it, is shorter.
const HEAD_MAX: usize = 64 << 10;
const HEAD_TIME: Duration = Duration::from_secs(20);
/// How often the signals are looked at, and how long a failed `accept` is left alone.
const STEP: Duration = Duration::from_millis(100);
/// Pages that are made at the same time: each has its runs in memory.
const PAGES_MAX: usize = 4;

/// The state that all connections share.
struct ServerState {
    pages: PageContext,
    /// A page whose client has gone before its turn is not made.
    turns: Arc<Semaphore>,
    local_only: bool,
}

struct Connection {
    task: JoinHandle<()>,
    /// Whether a page is made for it. Otherwise it waits for its client, who may never send a
    /// request or read an answer.
    is_answering: Arc<AtomicBool>,
}

pub(crate) fn run(args: &ServeArgs, context: &Context) -> Result<ExitCode> {
    let stop = Stop::on_signals()?;
    // A store that cannot be opened is an error before the first request.
    context.open_store()?;
    let pages = PageContext::new(context);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the server")?;
    runtime.block_on(serve(args.listen, pages, &stop))?;
    // A page that is being made is not waited for.
    runtime.shutdown_background();
    Ok(exit::of_signal(&stop).unwrap_or(ExitCode::SUCCESS))
}

async fn serve(listen: SocketAddr, pages: PageContext, stop: &Stop) -> Result<()> {
    let listener = TcpListener::bind(listen).await.with_context(|| format!("--listen {listen}"))?;
    let address = listener.local_addr()?;
    let mut out = console::stdout();
    writeln!(out, "http://{address}/")?;
    out.flush()?;
    let turns = Arc::new(Semaphore::new(PAGES_MAX));
    let local_only = address.ip().to_canonical().is_loopback();
    let shared = Arc::new(ServerState { pages, turns, local_only });
    let mut open: Vec<Connection> = Vec::new();
    while stop.signal().is_none() {
        match timeout(STEP, listener.accept()).await {
            Ok(Ok((stream, _))) => {
                while !make_room(&mut open) && stop.signal().is_none() {
                    sleep(STEP).await;
                }
                open.push(Connection::start(stream, Arc::clone(&shared)));
            }
            // For example too many open files; a client that is gone already.
            Ok(Err(_)) => sleep(STEP).await,
            Err(_) => {}
        }
    }
    Ok(())
}

/// Whether there is room for one more connection; if there are as many as there may be, the oldest
/// that waits for its client is ended.
fn make_room(open: &mut Vec<Connection>) -> bool {
    open.retain(|connection| !connection.task.is_finished());
    if open.len() < CONNECTIONS_MAX {
        return true;
    }
    let waits = |connection: &Connection| !connection.is_answering.load(Ordering::Relaxed);
    let oldest = open.iter().position(waits);
    oldest.map(|oldest| open.remove(oldest).task.abort()).is_some()
}

impl Connection {
    fn start(stream: TcpStream, shared: Arc<ServerState>) -> Connection {
        let is_answering = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_answering);
        let service = service_fn(move |request: Request<Incoming>| {
            let (shared, flag) = (Arc::clone(&shared), Arc::clone(&flag));
            async move {
                flag.store(true, Ordering::Relaxed);
                let response = respond(&request, shared).await;
                flag.store(false, Ordering::Relaxed);
                Ok::<_, Infallible>(response)
            }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_MAX);
        let served = http.serve_connection(TokioIo::new(stream), service);
        // An error ends only the connection of this client.
        let task = tokio::spawn(async { drop(served.await) });
        Connection { task, is_answering }
    }
}

async fn respond(request: &Request<Incoming>, shared: Arc<ServerState>) -> Response<Full<Bytes>> {
    let answer = if request.method() != Method::GET && request.method() != Method::HEAD {
        PageResponse::line(
            StatusCode::METHOD_NOT_ALLOWED,
            "only GET and HEAD: the pages are read-only",
        )
    } else if shared.local_only && !is_of_this_machine(request) {
        PageResponse::line(
            StatusCode::FORBIDDEN,
            "this server listens on this machine only: open it as localhost or 127.0.0.1",
        )
    } else {
        page(request.uri().clone(), shared).await
    };
    let mut response = Response::new(Full::new(Bytes::from(answer.text)));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    let policy =
        format!("{}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'", policy());
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    let kind =
        if answer.is_page { "text/html; charset=utf-8" } else { "text/plain; charset=utf-8" };
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        // Pages of other sites cannot load them, not even to see whether they are there.
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if answer.status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

async fn page(uri: Uri, shared: Arc<ServerState>) -> PageResponse {
    let turn = Arc::clone(&shared.turns).acquire_owned().await;
    let made = spawn_blocking(move || {
        let answer = shared.pages.answer(uri.path(), uri.query().unwrap_or_default());
        drop(turn);
        answer
    });
    made.await.unwrap_or_else(|_| {
        PageResponse::line(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made")
    })
}

/// Whether the client knows the server by an address or as `localhost`. A page of another site,
/// whose name was made to lead to this machine, would be shown as that site's otherwise.
fn is_of_this_machine(request: &Request<Incoming>) -> bool {
    let Some(host) = request.headers().get(header::HOST) else { return true };
    let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    authority.is_some_and(|authority| {
        let host = authority.host();
        let ip = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost") || ip.parse::<std::net::IpAddr>().is_ok()
    })
}

// Which page an address names, and the runs that it needs.

/// Rows of a page of the list, for each of which a run is analysed.
const ROWS: usize = 50;
/// Runs that are drawn together: the page has all their samples.
const SHOWN_MAX: usize = 20;
/// Runs of a history, the newest ones.
const HISTORY_MAX: usize = 500;
/// The longest query that is read, in bytes.
const QUERY_MAX: usize = 8 << 10;
const HISTORY_LAYOUT: PageLayout = PageLayout { width: 120, colour: false };

/// The data from which any page is made.
struct PageContext {
    store: Option<OsString>,
    /// The params of each experiment in which two sides may differ.
    path_params: BTreeMap<String, Vec<&'static str>>,
    params: ParamsByExperiment,
}

struct PageResponse {
    status: StatusCode,
    is_page: bool,
    text: String,
}

impl PageResponse {
    /// One line of text.
    fn line(status: StatusCode, text: &str) -> PageResponse {
        let text = text.replace('\n', " ");
        PageResponse { status, is_page: false, text: format!("{}\n", escape_controls(&text)) }
    }

    fn wrong_request(text: &str) -> PageResponse {
        PageResponse::line(StatusCode::BAD_REQUEST, text)
    }

    fn page(text: String) -> PageResponse {
        PageResponse { status: StatusCode::OK, is_page: true, text }
    }
}

/// An error of the store is not the client's mistake.
impl From<anyhow::Error> for PageResponse {
    fn from(error: anyhow::Error) -> PageResponse {
        PageResponse::line(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error:#}"))
    }
}

/// A page, or the answer that says why there is none.
type PageResult = Result<PageResponse, PageResponse>;
type UrlQuery = Vec<(String, String)>;

impl PageContext {
    fn new(context: &Context) -> PageContext {
        let all = &context.experiments.experiments;
        let known = all.iter().map(|known| (known.name.to_owned(), path_params(all, known.name)));
        let (store, path_params) = (context.store.clone(), known.collect());
        PageContext { store, path_params, params: params(all) }
    }

    /// The answer to a request of this path with this query.
    fn answer(&self, path: &str, query: &str) -> PageResponse {
        if query.len() > QUERY_MAX {
            return PageResponse::line(StatusCode::URI_TOO_LONG, "the address is too long");
        }
        // Bytes that are not UTF-8 become U+FFFD, which no name has.
        let query: UrlQuery = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let steps: Vec<&str> = path.split('/').skip(1).collect();
        let made = match steps.as_slice() {
            [""] => self.list(&query),
            ["run", id] => self.report(&[(*id).to_owned()]),
            ["compare"] => self.report(&all(&query, "run")),
            ["history"] => self.over_time(&query),
            _ => {
                return PageResponse::line(StatusCode::NOT_FOUND, "no such page; / lists the runs");
            }
        };
        made.unwrap_or_else(|answer| answer)
    }

    /// A store that was removed meanwhile is not made again: the pages change nothing.
    fn open(&self) -> Result<Box<dyn Store>, PageResponse> {
        let opened = store::open_existing(self.store.clone());
        opened.map_err(|error| {
            PageResponse::line(StatusCode::SERVICE_UNAVAILABLE, &format!("{error:#}"))
        })
    }

    fn list(&self, query: &UrlQuery) -> PageResult {
        let filter = filter(query);
        let mut store = self.open()?;
        let mut listed = newest_first(store.as_mut(), &filter)?;
        let page: usize = one(query, "page").parse().unwrap_or(0);
        let total = listed.len();
        let first = page.saturating_mul(ROWS).min(total);
        let runs: Vec<Listed> = listed.drain(first..total.min(first + ROWS)).collect();
        let has_older = first + runs.len() < total;
        let (runs, _) = lines(runs, store.as_mut(), &self.params);
        let list = RunList { runs: &runs, first, total, page, has_older, filter: &filter };
        Ok(PageResponse::page(served::runs(&list)))
    }

    fn report(&self, ids: &[String]) -> PageResult {
        if ids.is_empty() {
            return Err(PageResponse::wrong_request("no run is chosen: choose runs in the list"));
        }
        if ids.len() > SHOWN_MAX {
            let text =
                format!("{} runs are chosen, but a page shows at most {SHOWN_MAX}", ids.len());
            return Err(PageResponse::wrong_request(&text));
        }
        let mut store = self.open()?;
        let mut shown: Vec<(Run, Analysis)> = Vec::new();
        for id in ids {
            let loaded = load_run(store.as_mut(), id);
            let run = loaded.map_err(|error| not_loaded(id, error))?;
            if shown.iter().any(|(known, _)| known.id == run.id) {
                return Err(PageResponse::wrong_request(&format!("run {id} is named twice")));
            }
            ensure_same_experiment(&shown, &run, id)
                .map_err(|error| PageResponse::wrong_request(&error.to_string()))?;
            let analysis = analyze(&run);
            shown.push((run, analysis));
        }
        let path_params = self.path_params.get(&shown[0].0.experiment);
        Ok(PageResponse::page(report::html(&shown, path_params.map_or(&[][..], Vec::as_slice))))
    }

    fn over_time(&self, query: &UrlQuery) -> PageResult {
        let filter = filter(query);
        let (method, metric) = (one(query, "method"), one(query, "metric"));
        let metric = metric_named(if metric.is_empty() { "wall" } else { metric });
        if method.is_empty() {
            return Err(PageResponse::wrong_request("no method is named"));
        }
        let mut store = self.open()?;
        let mut listed = newest_first(store.as_mut(), &filter)?;
        listed.truncate(HISTORY_MAX);
        let mut left_out = OmittedRuns::default();
        let runs = left_out
            .readable(listed.iter().rev(), |run| store.load_method(&run.id, method, metric))?;
        let all = series(&runs, method, metric);
        if all.is_empty() {
            if let (true, Some(message)) = (runs.is_empty(), left_out.message()) {
                return Err(anyhow::anyhow!(message).into());
            }
            let text = format!("no value of {metric} of a method {method} in {} runs", runs.len());
            return Err(PageResponse::line(StatusCode::NOT_FOUND, &text));
        }
        let mut drawn = report::over_time::text(method, metric, &all, &HISTORY_LAYOUT);
        drawn += &left_out
            .message()
            .map(|text| format!("\n{}\n", escape_controls(&text)))
            .unwrap_or_default();
        Ok(PageResponse::page(served::over_time(method, metric, &drawn)))
    }
}

/// A run that is not there is another error than one that cannot be read.
fn not_loaded(id: &str, error: anyhow::Error) -> PageResponse {
    if error.is::<NoRun>() {
        let text = format!("no run {id:?}, or more than one: / lists all");
        return PageResponse::line(StatusCode::NOT_FOUND, &text);
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

fn filter(query: &UrlQuery) -> Filter {
    let own = |name| one(query, name).to_owned();
    Filter { experiment: own("experiment"), label: own("label"), machine: own("machine") }
}

/// The first value with this name, or nothing.
fn one<'a>(query: &'a UrlQuery, name: &str) -> &'a str {
    query.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

fn all(query: &UrlQuery, name: &str) -> Vec<String> {
    let own = query.iter().filter(|(known, _)| known == name);
    own.map(|(_, value)| value.clone()).collect()
}

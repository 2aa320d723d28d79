//! `bytelab serve`: pages of the stored runs over HTTP. It changes nothing and keeps nothing: each
//! request opens the store.

mod pages;

use std::convert::Infallible;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
use lab::launch::Stop;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};

use self::pages::{Answer, Pages};
use super::context::Context;
use super::exit;
use crate::console;
use crate::report::served::policy;

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

/// What all connections need.
struct ServerState {
    pages: Pages,
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
    let pages = Pages::new(context);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the server")?;
    runtime.block_on(serve(args.listen, pages, &stop))?;
    // A page that is being made is not waited for.
    runtime.shutdown_background();
    Ok(exit::of_signal(&stop).unwrap_or(ExitCode::SUCCESS))
}

async fn serve(listen: SocketAddr, pages: Pages, stop: &Stop) -> Result<()> {
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
        // What breaks is the connection of this client.
        let task = tokio::spawn(async { drop(served.await) });
        Connection { task, is_answering }
    }
}

async fn respond(request: &Request<Incoming>, shared: Arc<ServerState>) -> Response<Full<Bytes>> {
    let answer = if request.method() != Method::GET && request.method() != Method::HEAD {
        Answer::line(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD: the pages are read-only")
    } else if shared.local_only && !is_of_this_machine(request) {
        Answer::line(
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

async fn page(uri: Uri, shared: Arc<ServerState>) -> Answer {
    let turn = Arc::clone(&shared.turns).acquire_owned().await;
    let made = spawn_blocking(move || {
        let answer = shared.pages.answer(uri.path(), uri.query().unwrap_or_default());
        drop(turn);
        answer
    });
    made.await.unwrap_or_else(|_| {
        Answer::line(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made")
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

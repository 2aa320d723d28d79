//! The sources `http` and `https`: the server that is started, and the clients that are compared.

mod client;
pub mod serve;

use measure::experiment::{Command, Execution, Method};

use self::client::contender;
pub(super) use self::serve::start;

/// The first one is the reference.
pub(super) fn methods() -> Vec<Method> {
    [client::methods(), of_others(), client::limits()].concat()
}

/// The worker, the way that it is given, what it does, and whether it reads by TLS as well.
const LANGUAGES: &[(&str, &str, &str, bool)] = &[
    ("c/http", "curl", "C: libcurl, which calls back for each piece", true),
    ("go/http", "http", "Go: net/http, read into a reused buffer", true),
    ("java", "http-client", "Java: java.net.http.HttpClient, an InputStream", true),
    ("java", "url-connection", "Java: HttpURLConnection, an InputStream", true),
    ("python", "urlopen", "Python: urllib.request, added up in C by zlib.adler32", true),
    ("node", "http-get", "Node: http.get, for await of the response", true),
    ("node", "fetch", "Node: fetch, for await of the body", false),
    ("haskell/http", "http-client", "Haskell: http-client, a strict ByteString each", false),
];

/// Clients of others: Rust libraries in a worker that is built on demand, those of other languages,
/// and the command curl.
fn of_others() -> Vec<Method> {
    let mut methods = libraries();
    methods.extend(LANGUAGES.iter().map(|(worker, name, about, by_tls)| {
        let language = worker.split('/').next().unwrap_or_default();
        let execution = Execution::worker([&format!("{{workers/{worker}}}"), "reading", name]);
        let method = contender(&format!("{language}-{name}"), about, &["buffer"], execution);
        let jobs = if *by_tls { "http|https" } else { "http" };
        // They add as much time to a run again; `--language` selects them.
        Method { default: false, ..method }.job(jobs)
    }));
    methods
}

fn libraries() -> Vec<Method> {
    vec![
        worker("attohttpc", "attohttpc: read into a reused buffer; plain HTTP only"),
        worker("hyper", "hyper: chunks, asynchronous"),
        worker("reqwest", "reqwest: chunks, asynchronous"),
        worker("reqwest-blocking", "reqwest, blocking: read into a reused buffer"),
        worker("reqwest-bytes", "reqwest, a byte per await"),
        worker("reqwest-whole", "reqwest: bytes(), the whole"),
        worker("ureq", "ureq: read into a reused buffer"),
        worker("ureq-whole", "ureq: read_to_end, the whole in a new Vec"),
        Method {
            // One curl reads one resource, whatever the value of `parallel`.
            reads: vec!["source", "server", "size", "file"],
            ..contender("curl", "the command curl, to /dev/null", &[], curl()).as_yardstick()
        },
    ]
}

/// A method of `workers/rust/http`.
fn worker(name: &str, about: &str) -> Method {
    let execution = Execution::worker(["{workers/rust/http}", "reading", name]);
    contender(name, about, &["buffer"], execution)
}

fn curl() -> Execution {
    // The certificate is not verified: its file name would become a part of what is read.
    let fixed = ["curl", "--silent", "--show-error", "--fail", "--insecure", "--noproxy", "*"];
    let rest = ["--output", "/dev/null", "{url}"];
    Execution::Command(Command::plain([fixed.as_slice(), &rest].concat()))
}

//! An HTTP server for tests on 127.0.0.1: each connection brings one request to a closure, which
//! does to the socket whatever it likes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What came in.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The first line.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// How many came before.
    pub(crate) n: usize,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The first requested byte, if a part is requested.
    pub(crate) fn from(&self) -> Option<u64> {
        self.range().map(|(from, _)| from)
    }

    /// The first requested byte, and the last one if it is given.
    pub(crate) fn range(&self) -> Option<(u64, Option<u64>)> {
        let (from, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((from.parse().ok()?, last.parse().ok()))
    }

    /// The same, but for the whole.
    pub(crate) fn for_whole(&self) -> Request {
        Request { headers: Vec::new(), ..self.clone() }
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

pub(crate) fn read_request(socket: &mut impl Read, n: usize) -> io::Result<Request> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().to_owned();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers =
        headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    Ok(Request { line, headers, n })
}

impl Server {
    /// Calls `serve` for each request, in a thread of its own.
    pub(crate) fn new(
        serve: impl Fn(&Request, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> Server {
        Server::raw(move |n, mut socket, requests| {
            let request = read_request(&mut socket, n)?;
            requests.lock().unwrap().push(request.clone());
            serve(&request, &mut socket)?;
            socket.shutdown(Shutdown::Write)
        })
    }

    /// The same without reading anything.
    pub(crate) fn raw(
        serve: impl Fn(usize, TcpStream, &Mutex<Vec<Request>>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (seen, stopped) = (requests.clone(), stop.clone());
        let (serve, count) = (Arc::new(serve), Arc::new(AtomicUsize::new(0)));
        let thread = std::thread::spawn(move || {
            for socket in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(socket) = socket else { continue };
                let n = count.fetch_add(1, Ordering::SeqCst);
                let (serve, seen) = (serve.clone(), seen.clone());
                // The client may go away at any time.
                std::thread::spawn(move || drop(serve(n, socket, &seen)));
            }
        });
        Server { address, requests, stop, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/file", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A head with these lines.
pub(crate) fn head(socket: &mut impl Write, status: &str, lines: &[&str]) -> io::Result<()> {
    let mut text = format!("HTTP/1.1 {status}\r\n");
    for line in lines {
        text.extend([line, "\r\n"]);
    }
    socket.write_all((text + "\r\n").as_bytes())
}

/// A good answer, the whole, or the requested part if it is of this version.
pub(crate) fn good(
    request: &Request,
    socket: &mut impl Write,
    body: &[u8],
    etag: &str,
) -> io::Result<()> {
    partial(request, socket, body, etag, usize::MAX)
}

/// The same, but the connection ends after this many bytes of the body.
pub(crate) fn partial(
    request: &Request,
    socket: &mut impl Write,
    body: &[u8],
    etag: &str,
    cut: usize,
) -> io::Result<()> {
    let same = request.header("if-range").is_none_or(|tag| tag == etag);
    let tag = format!("ETag: {etag}");
    match request.range().filter(|_| same) {
        Some((from, _)) if from >= body.len() as u64 => {
            let range = format!("Content-Range: bytes */{}", body.len());
            head(socket, "416 Range Not Satisfiable", &[&range, &tag, "Content-Length: 0"])
        }
        Some((from, last)) => {
            let last = last.map_or(body.len() - 1, |last| (body.len() - 1).min(last as usize));
            let part = &body[from as usize..=last];
            let range = format!("Content-Range: bytes {from}-{last}/{}", body.len());
            let length = format!("Content-Length: {}", part.len());
            head(socket, "206 Partial Content", &[&range, &length, &tag, "Connection: close"])?;
            socket.write_all(&part[..part.len().min(cut)])
        }
        None => {
            let length = format!("Content-Length: {}", body.len());
            head(socket, "200 OK", &[&length, &tag, "Connection: close"])?;
            socket.write_all(&body[..body.len().min(cut)])
        }
    }
}

pub(crate) fn chunk(socket: &mut impl Write, size: usize, data: &[u8]) -> io::Result<()> {
    socket.write_all(format!("{size:x}\r\n").as_bytes())?;
    socket.write_all(data)?;
    socket.write_all(b"\r\n")
}

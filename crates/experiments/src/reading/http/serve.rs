//! The server of the sources `http` and `https`: a process of this program, or nginx, which ends
//! with the run. That of this program is small: it serves files by their number, whole or in part,
//! with one thread for each connection, plain or TLS. It is not meant for untrusted clients.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use measure::launch::{RunError, ServerProcess, become_program, end_with_the_lab};
use measure::stop::Stop;
use model::param::Point;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::super::source::numbered;
use crate::shared::locked_folder::TemporaryFolder;

/// The hidden command that starts it.
pub const COMMAND: &str = "__serve";

const HEAD_LIMIT: usize = 16 << 10;

/// The main function of the process: it serves until the lab ends it.
pub fn run(kind: &str, directory: &str) -> Result<()> {
    if kind == "nginx" {
        let program = nginx().context("nginx is not installed")?;
        let program = program.to_str().context("its path is not UTF-8")?;
        let error = become_program(&[program, "-p", directory, "-e", "stderr", "-c", "nginx.conf"]);
        bail!("{program}: {error}");
    }
    end_with_the_lab()?;
    let files = ServedFiles::from_directory(Path::new(directory))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listening")?;
    let port = listener.local_addr().context("its own address")?.port();
    writeln!(io::stdout(), "{port}")?;
    files.serve(&listener)
}

/// The path of nginx: its directory is not always in the PATH.
fn nginx() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).map(|dir| dir.join("nginx")).find(|it| it.is_file())
}

#[derive(Clone)]
pub(in super::super) struct ServedFiles {
    root: PathBuf,
    tls: Option<Arc<ServerConfig>>,
}

/// An answer: its head, and the part of a file that follows it.
struct FileResponse {
    head: String,
    body: Option<(File, u64, u64)>,
    closes: bool,
}

impl ServedFiles {
    /// The files in the directory's `www`; by TLS if there is a key.
    pub(in super::super) fn from_directory(directory: &Path) -> Result<ServedFiles> {
        let key = key_of(directory);
        let tls = if key.exists() {
            let chain = CertificateDer::pem_file_iter(certificate_of(directory))?;
            let chain = chain.collect::<Result<Vec<_>, _>>()?;
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = ServerConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()?
                .with_no_client_auth()
                .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
            Some(Arc::new(config))
        } else {
            None
        };
        Ok(ServedFiles { root: directory.join("www"), tls })
    }

    pub(in super::super) fn serve(&self, listener: &TcpListener) -> Result<()> {
        for socket in listener.incoming() {
            let socket = socket.context("accepting")?;
            let files = self.clone();
            std::thread::Builder::new()
                // An error that a client causes by disconnecting is ignored.
                .spawn(move || drop(files.talk(socket)))
                .context("a thread for a connection")?;
        }
        Ok(())
    }

    fn talk(&self, mut socket: TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        let Some(config) = &self.tls else {
            return self.answer_all(&mut socket, |socket, mut file, offset, len| {
                file.seek(SeekFrom::Start(offset))?;
                // Uses sendfile(2) if it exists.
                if io::copy(&mut file.take(len), socket)? < len {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(())
            });
        };
        let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        let mut tls = StreamOwned::new(connection, socket);
        let mut buffer = vec![0; 128 << 10];
        self.answer_all(&mut tls, |tls, file, mut offset, len| {
            let end = offset + len;
            while offset < end {
                let n = (end - offset).min(buffer.len() as u64) as usize;
                std::os::unix::fs::FileExt::read_exact_at(file, &mut buffer[..n], offset)?;
                tls.write_all(&buffer[..n])?;
                offset += n as u64;
            }
            Ok(())
        })?;
        tls.conn.send_close_notify();
        tls.flush()
    }

    fn answer_all<S: Read + Write>(
        &self,
        stream: &mut S,
        mut send: impl FnMut(&mut S, &File, u64, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        while let Some(request) = read_head(stream)? {
            let answer = self.answer(&request);
            stream.write_all(answer.head.as_bytes())?;
            if let Some((file, offset, len)) = answer.body {
                send(stream, &file, offset, len)?;
            }
            stream.flush()?;
            if answer.closes {
                break;
            }
        }
        Ok(())
    }

    fn answer(&self, request: &str) -> FileResponse {
        let header = |name: &str| {
            let lines = request.lines().skip(1).filter_map(|line| line.split_once(':'));
            let mut named = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
            named.next().map(|(_, value)| value.trim())
        };
        let closes = header("connection").is_some_and(|it| it.eq_ignore_ascii_case("close"));
        let refused = |status: &str| FileResponse {
            head: format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
            body: None,
            closes: true,
        };
        let number = request.strip_prefix("GET /").and_then(|rest| rest.split(' ').next());
        let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) else {
            return refused("404 Not Found");
        };
        let opened = File::open(self.root.join(number.to_string()))
            .and_then(|file| Ok((file.metadata()?, file)));
        let Ok((metadata, file)) = opened else { return refused("404 Not Found") };
        let size = metadata.len();
        let tag = format!("\"{size:x}-{:x}-{:x}\"", metadata.mtime(), metadata.mtime_nsec());
        let same = header("if-range").is_none_or(|validator| validator == tag);
        let part = header("range").filter(|_| same).and_then(|range| part(range, size));
        let (status, range, start, len) = match part {
            Some((first, last)) => {
                let range = format!("Content-Range: bytes {first}-{last}/{size}\r\n");
                ("206 Partial Content", range, first, last - first + 1)
            }
            None => ("200 OK", String::new(), 0, size),
        };
        let close = if closes { "Connection: close\r\n" } else { "" };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {len}\r\n{range}ETag: {tag}\r\n\
             Accept-Ranges: bytes\r\nContent-Type: application/octet-stream\r\n{close}\r\n"
        );
        FileResponse { head, body: Some((file, start, len)), closes }
    }
}

/// The first and last byte of `bytes=5-9` or `bytes=5-`; for any other form, the whole file is
/// sent.
fn part(range: &str, size: u64) -> Option<(u64, u64)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let first: u64 = first.parse().ok()?;
    let last = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
    (first <= last && first < size).then(|| (first, last.min(size - 1)))
}

/// `None` if the client has disconnected.
fn read_head(stream: &mut impl Read) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    let mut buffer = [0; 4 << 10];
    while !head.ends_with(b"\r\n\r\n") {
        let n = stream.read(&mut buffer)?;
        head.extend_from_slice(&buffer[..n]);
        if n == 0 || head.len() > HEAD_LIMIT {
            return Ok(None);
        }
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

/// The time limit for its start.
const LIMIT_NS: u64 = 30_000_000_000;

pub(in super::super) struct FileServer {
    /// Dropped first, which ends the process.
    _helper: ServerProcess,
    directory: TemporaryFolder,
    secure: bool,
    port: u16,
}

/// Starts the server that the point names, with these files: `/0`, `/1` …
pub(in super::super) fn start(point: &Point, files: &[PathBuf], stop: &Stop) -> Result<FileServer> {
    let directory = TemporaryFolder::new_in(&std::env::temp_dir())?;
    let root = directory.path.join("www");
    fs::create_dir(&root).with_context(|| format!("making {}", root.display()))?;
    for (index, file) in files.iter().enumerate() {
        symlink(file, root.join(index.to_string()))
            .with_context(|| format!("a link to {}", file.display()))?;
    }
    let secure = point.text("source")? == "https";
    if secure {
        make_certificate(&directory.path)?;
    }
    let kind = point.text("server")?;
    let started = if kind == "nginx" {
        start_nginx(&directory.path, secure, stop)?
    } else {
        start_own(&directory.path, stop)
    };
    let (helper, port) = started.map_err(|ended| match ended {
        RunError::Skipped(reason) | RunError::Failed(reason) => {
            anyhow!("the server {kind}: {reason}")
        }
        RunError::Stopped => anyhow!("stopped by a signal"),
    })?;
    Ok(FileServer { _helper: helper, directory, secure, port })
}

impl FileServer {
    /// Passes the addresses of the resources to the methods.
    pub(in super::super) fn add_arguments(&self, arguments: &mut Point, parallel: u64) {
        let scheme = if self.secure { "https" } else { "http" };
        for index in 0..parallel {
            let url = format!("{scheme}://127.0.0.1:{}/{index}", self.port);
            arguments.set(numbered("url", index), url.as_str());
        }
        if self.secure {
            arguments.set("certificates", certificate_of(&self.directory.path));
        }
    }
}

type StartedServer = Result<(ServerProcess, u16), RunError>;

fn argv(kind: &str, directory: &Path) -> Result<Vec<String>, RunError> {
    let failed = |what: &str| RunError::Failed(what.to_owned());
    let program = std::env::current_exe().map_err(|_| failed("this program is not to be found"))?;
    let program = program.to_str().ok_or_else(|| failed("this program's path is not UTF-8"))?;
    let directory = directory.to_str().ok_or_else(|| failed("its directory is not UTF-8"))?;
    Ok([program, COMMAND, kind, directory].map(str::to_owned).to_vec())
}

fn start_own(directory: &Path, stop: &Stop) -> StartedServer {
    let mut helper = ServerProcess::start(&argv("own", directory)?, LIMIT_NS, stop)?;
    let line = helper.line()?;
    let port =
        line.parse().map_err(|_| RunError::Failed(format!("said {line} instead of a port")))?;
    Ok((helper, port))
}

fn start_nginx(directory: &Path, secure: bool, stop: &Stop) -> Result<StartedServer> {
    ensure!(
        nginx().is_some(),
        "--server nginx: it is not installed; install it, or take --server own"
    );
    // nginx needs the number of a port. Another process may take it in between; then nginx reports
    // it.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("a port for nginx")?;
    let port = listener.local_addr().context("a port for nginx")?.port();
    drop(listener);
    let path = directory.join("nginx.conf");
    let text = configuration(directory, port, secure);
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    let start = || {
        let mut helper = ServerProcess::start(&argv("nginx", directory)?, LIMIT_NS, stop)?;
        helper.until(|| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok())?;
        Ok((helper, port))
    };
    Ok(start())
}

/// The configuration of a distribution, but with one process that writes only to its own directory.
fn configuration(directory: &Path, port: u16, secure: bool) -> String {
    let place = directory.display();
    let tls = if secure {
        let (certificate, key) = (certificate_of(directory), key_of(directory));
        format!(
            "ssl_certificate \"{}\";\nssl_certificate_key \"{}\";\n",
            certificate.display(),
            key.display()
        )
    } else {
        String::new()
    };
    let ssl = if secure { " ssl" } else { "" };
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path \"{place}/{kind}\";\n"))
        .concat();
    format!(
        "daemon off;\nmaster_process off;\npid \"{place}/pid\";\nevents {{}}\nhttp {{\naccess_log off;\n\
         sendfile on;\ntcp_nopush on;\n{temporary}server {{\nlisten 127.0.0.1:{port}{ssl};\n{tls}\
         root \"{place}/www\";\n}}\n}}\n"
    )
}

pub(in super::super) fn certificate_of(directory: &Path) -> PathBuf {
    directory.join("certificate.pem")
}

fn key_of(directory: &Path) -> PathBuf {
    directory.join("key.pem")
}

/// Makes a certificate for this run: for this machine, self-signed, with a key that is used for
/// nothing else. Both files are in a directory that only the user can read.
pub(in super::super) fn make_certificate(directory: &Path) -> Result<()> {
    let names = ["localhost", "127.0.0.1"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names).context("making a certificate")?;
    let write = |path: PathBuf, text: String| {
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
    };
    write(certificate_of(directory), made.cert.pem())?;
    write(key_of(directory), made.signing_key.serialize_pem())
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn a_range_is_a_part_of_what_there_is() {
        let check = |range: &str, expected| assert_eq!(part(range, 10), expected, "{range}");
        check("bytes=0-3", Some((0, 3)));
        check("bytes=9-", Some((9, 9)));
        check("bytes=5-99", Some((5, 9)));
        for whole in ["bytes=10-", "bytes=4-3", "bytes=-3", "lines=0-3", "bytes=0-3,5-6"] {
            check(whole, None);
        }
    }
}

//! Starts the server: a process of this program, or nginx. The server ends with the run.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use lab::launch::{RunError, ServerProcess};
use lab::param::Point;
use lab::stop::Stop;

use super::super::source::numbered;
use super::certificate::{self, certificate_of, key_of};
use super::serve::{self, COMMAND};
use crate::experiments::shared::locked_folder::TemporaryFolder;

/// The time limit for its start.
const LIMIT_NS: u64 = 30_000_000_000;

pub(in super::super) struct Server {
    /// Dropped first, which ends the process.
    _helper: ServerProcess,
    directory: TemporaryFolder,
    secure: bool,
    port: u16,
}

/// Starts the server that the point names, with these files: `/0`, `/1` …
pub(in super::super) fn start(point: &Point, files: &[PathBuf], stop: &Stop) -> Result<Server> {
    let directory = TemporaryFolder::new_in(&std::env::temp_dir())?;
    let root = directory.path.join("www");
    fs::create_dir(&root).with_context(|| format!("making {}", root.display()))?;
    for (index, file) in files.iter().enumerate() {
        symlink(file, root.join(index.to_string()))
            .with_context(|| format!("a link to {}", file.display()))?;
    }
    let secure = point.text("source")? == "https";
    if secure {
        certificate::make(&directory.path)?;
    }
    let kind = point.text("server")?;
    let started = if kind == "nginx" {
        nginx(&directory.path, secure, stop)?
    } else {
        own(&directory.path, stop)
    };
    let (helper, port) = started.map_err(|ended| match ended {
        RunError::Skipped(reason) | RunError::Failed(reason) => {
            anyhow!("the server {kind}: {reason}")
        }
        RunError::Stopped => anyhow!("stopped by a signal"),
    })?;
    Ok(Server { _helper: helper, directory, secure, port })
}

impl Server {
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

fn own(directory: &Path, stop: &Stop) -> StartedServer {
    let mut helper = ServerProcess::start(&argv("own", directory)?, LIMIT_NS, stop)?;
    let line = helper.line()?;
    let port =
        line.parse().map_err(|_| RunError::Failed(format!("said {line} instead of a port")))?;
    Ok((helper, port))
}

fn nginx(directory: &Path, secure: bool, stop: &Stop) -> Result<StartedServer> {
    ensure!(
        serve::nginx().is_some(),
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

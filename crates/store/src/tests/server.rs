//! A PostgreSQL server of a test's own, on a socket in a temporary directory, or over TLS on a
//! loopback address.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

pub(crate) struct TestServer {
    directory: TempDir,
    programs: PathBuf,
    /// Of its socket, and of 127.0.0.1 where it has TLS.
    port: u16,
    /// The certificate of the authority that it is known by.
    authority: Option<PathBuf>,
    process: Child,
    /// Kept for the servers that start while this one lives.
    _cluster: Arc<TempDir>,
}

impl TestServer {
    /// None, with a message, where PostgreSQL 15 or newer is not installed.
    #[allow(clippy::print_stdout, reason = "a test says why it is skipped")]
    pub(crate) fn start() -> Option<TestServer> {
        TestServer::start_at(5432, false)
    }

    /// It listens on 127.0.0.1 as well, over TLS, with a certificate for the name `localhost`.
    pub(crate) fn start_with_tls() -> Option<TestServer> {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        TestServer::start_at(port, true)
    }

    #[allow(clippy::print_stdout, reason = "a test says why it is skipped")]
    fn start_at(port: u16, has_tls: bool) -> Option<TestServer> {
        let Some(programs) = programs() else {
            println!("skipped: PostgreSQL 15 or newer is not installed");
            return None;
        };
        let (cluster, directory) = (cluster(&programs), directory());
        let copied = as_user(Path::new("cp"))
            .arg("-a")
            .args([cluster.path(), directory.path()].map(|directory| directory.join("data")))
            .output()
            .unwrap();
        assert!(copied.status.success(), "{copied:?}");
        let authority = has_tls.then(|| make_certificates(directory.path()));
        let process = start(&programs, directory.path(), port, has_tls);
        let server =
            TestServer { directory, programs, port, authority, process, _cluster: cluster };
        server.wait();
        server.sql("postgres", "CREATE DATABASE runs");
        Some(server)
    }

    pub(crate) fn url(&self) -> String {
        self.url_of("postgres")
    }

    pub(crate) fn url_of(&self, user: &str) -> String {
        let (directory, port) = (self.directory.path().display(), self.port);
        format!("postgres:///runs?user={user}&host={directory}&port={port}")
    }

    #[allow(dead_code, reason = "the tests of the program use it")]
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join(format!(".s.PGSQL.{}", self.port))
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn authority(&self) -> &Path {
        self.authority.as_deref().unwrap()
    }

    /// What the server has written to its log.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    /// The result of these statements as unaligned text.
    pub(crate) fn sql(&self, database: &str, text: &str) -> String {
        let Output { status, stdout, stderr } = self.psql(database, text);
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap().trim_end().to_owned()
    }

    /// None if the server does not answer.
    pub(crate) fn try_sql(&self, database: &str, text: &str) -> Option<String> {
        let output = self.psql(database, text);
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    fn psql(&self, database: &str, text: &str) -> Output {
        command(&self.programs.join("psql"))
            .args([
                "-X",
                "-q",
                "-A",
                "-t",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "postgres",
                "-d",
                database,
            ])
            .args(["-c", text])
            .arg("-h")
            .arg(self.directory.path())
            .args(["-p", &self.port.to_string()])
            .output()
            .unwrap()
    }

    /// Makes the rule of `pg_hba.conf` the first one.
    pub(crate) fn allow_first(&self, rule: &str) {
        let path = self.directory.path().join("data/pg_hba.conf");
        let rules = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("{rule}\n{rules}")).unwrap();
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// Kills the server (SIGKILL), and starts it again.
    pub(crate) fn kill_and_restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // The processes of its sessions end when they notice it; until then it does not start.
        for _ in 0..600 {
            let has_tls = self.authority.is_some();
            self.process = start(&self.programs, self.directory.path(), self.port, has_tls);
            thread::sleep(Duration::from_millis(100));
            if self.process.try_wait().unwrap().is_none() {
                break;
            }
        }
        self.wait();
    }

    fn wait(&self) {
        for _ in 0..600 {
            if self.psql("postgres", "SELECT 1").status.success() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not start: {}", self.log());
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        // Its other processes may still write.
        thread::sleep(Duration::from_millis(100));
    }
}

/// A directory in which the user of the server may write. The path of a socket has 107 characters
/// at most.
fn directory() -> TempDir {
    let directory = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    directory
}

/// The files of a server that has no databases yet. To make them takes most of a start, so servers
/// that live at the same time have copies of the same.
fn cluster(programs: &Path) -> Arc<TempDir> {
    static LAST: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(cluster) = last.upgrade() {
        return cluster;
    }
    let directory = directory();
    let made = as_user(&programs.join("initdb"))
        .args(["-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C", "-D"])
        .arg(directory.path().join("data"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let cluster = Arc::new(directory);
    *last = Arc::downgrade(&cluster);
    cluster
}

/// Makes an authority and a certificate of it for the server; returns the certificate of the
/// authority.
fn make_certificates(directory: &Path) -> PathBuf {
    let mut authority = rcgen::CertificateParams::default();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let of_authority = authority.self_signed(&key).unwrap();
    let issuer = rcgen::Issuer::new(authority, key);
    let own_key = rcgen::KeyPair::generate().unwrap();
    let own = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let own = own.signed_by(&own_key, &issuer).unwrap();
    fs::write(directory.join("server.crt"), own.pem()).unwrap();
    fs::write(directory.join("server.pem"), own_key.serialize_pem()).unwrap();
    // The server wants to own its key.
    let copied = as_user(Path::new("install"))
        .args(["-m", "600"])
        .args([directory.join("server.pem"), directory.join("server.key")])
        .output()
        .unwrap();
    assert!(copied.status.success(), "{copied:?}");
    let path = directory.join("authority.crt");
    fs::write(&path, of_authority.pem()).unwrap();
    path
}

fn start(programs: &Path, directory: &Path, port: u16, has_tls: bool) -> Child {
    let log = fs::File::options().create(true).append(true).open(directory.join("log")).unwrap();
    as_user(&programs.join("postgres"))
        .arg("-D")
        .arg(directory.join("data"))
        .arg("-k")
        .arg(directory)
        .args(["-p", &port.to_string()])
        .args(["-c", if has_tls { "listen_addresses=127.0.0.1" } else { "listen_addresses=" }])
        .args(["-c", if has_tls { "ssl=on" } else { "ssl=off" }])
        .args(["-c", &format!("ssl_cert_file={}", directory.join("server.crt").display())])
        .args(["-c", &format!("ssl_key_file={}", directory.join("server.key").display())])
        .args(["-c", "fsync=off", "-c", "max_connections=300"])
        .args(["-c", "log_line_prefix=%m %p %x "])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

/// The directory of the newest installed server.
fn programs() -> Option<PathBuf> {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let installed = installed.map(|entry| entry.path()).filter_map(|path| {
        let version = version(&path).filter(|version| *version >= 15)?;
        path.join("bin/initdb").exists().then(|| (version, path.join("bin")))
    });
    installed.max().map(|(_, path)| path)
}

/// The server does not run as root.
fn as_user(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return command(program);
    }
    let mut other = command(Path::new("setpriv"));
    other.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(program);
    other.current_dir("/tmp");
    other
}

#[expect(clippy::disallowed_methods, reason = "the server is not what is measured")]
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/bin:/bin");
    command
}

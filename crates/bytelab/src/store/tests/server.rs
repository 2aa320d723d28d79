//! A PostgreSQL server of a test's own, on a socket in a temporary directory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

pub(crate) struct TestServer {
    directory: TempDir,
    programs: PathBuf,
    process: Child,
}

impl TestServer {
    /// None, with a message, where PostgreSQL 15 or newer is not installed.
    #[allow(clippy::print_stdout, reason = "a test says why it is skipped")]
    pub(crate) fn start() -> Option<TestServer> {
        let Some(programs) = programs() else {
            println!("skipped: PostgreSQL 15 or newer is not installed");
            return None;
        };
        // The path of a socket has 107 characters at most.
        let directory = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let data = directory.path().join("data");
        let made = as_user(&programs.join("initdb"))
            .args(["-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let process = start(&programs, directory.path());
        let server = TestServer { directory, programs, process };
        server.wait();
        server.sql("postgres", "CREATE DATABASE runs");
        Some(server)
    }

    pub(crate) fn url(&self) -> String {
        self.url_of("postgres")
    }

    pub(crate) fn url_of(&self, user: &str) -> String {
        format!("postgres:///runs?user={user}&host={}", self.directory.path().display())
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join(".s.PGSQL.5432")
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
            self.process = start(&self.programs, self.directory.path());
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

fn start(programs: &Path, directory: &Path) -> Child {
    let log = fs::File::options().create(true).append(true).open(directory.join("log")).unwrap();
    as_user(&programs.join("postgres"))
        .arg("-D")
        .arg(directory.join("data"))
        .arg("-k")
        .arg(directory)
        .args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=300"])
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

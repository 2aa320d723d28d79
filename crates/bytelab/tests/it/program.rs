//! Starts the program in its own environment: home, store, data, and workers as shell scripts.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A temporary home directory, which is removed on drop.
pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
}

/// The result of a run of the program.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn new(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {} {}{}", self.code, self.stdout, self.stderr))
    }
}

/// Measures as little as possible to save time: the values are not meaningful. Other languages have
/// their own tests.
pub(crate) const SMALL: &[&str] = &["--size", "64KiB", "--rounds", "3", "--language", "rust"];

/// A run of `read` and a worker in ten sessions, without an effective time limit.
pub(crate) fn long_run<'a>(size: &'a str, rounds: &'a str, worker: &'a str) -> Vec<&'a str> {
    let fixed = "run reading --method read --sessions 10 --time 1h".split(' ');
    fixed.chain(["--size", size, "--rounds", rounds, "--worker", worker]).collect()
}

/// Of signals 2 and 3 in the masks of `/proc`.
const SIGINT_AND_SIGQUIT: u64 = 0b110;

/// Whether this process ignores SIGINT or SIGQUIT: a shell makes those ignore both that it starts
/// with `&`. The programs that the tests start and interrupt would inherit that, and never end.
fn ignores_sigint_or_sigquit() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & SIGINT_AND_SIGQUIT != 0)
}

impl World {
    pub(crate) fn new() -> World {
        World { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes a file with this text, and returns its path.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.in_world(env!("CARGO_BIN_EXE_bytelab"), args)
    }

    /// Starts another program, which gets the command as its arguments.
    pub(crate) fn command_by(&self, program: &str, args: &[&str]) -> Command {
        self.in_world(program, &[&[env!("CARGO_BIN_EXE_bytelab")], args].concat())
    }

    pub(crate) fn in_world(&self, program: &str, args: &[&str]) -> Command {
        #[expect(
            clippy::disallowed_methods,
            reason = "the program under test is started as a user would"
        )]
        let mut command = if ignores_sigint_or_sigquit() {
            let mut command = Command::new("/usr/bin/env");
            command.args(["--default-signal=INT,QUIT", program]);
            command
        } else {
            Command::new(program)
        };
        command
            .args(args)
            .env("HOME", self.dir.path())
            .env("TMPDIR", self.dir.path())
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CACHE_HOME")
            .env_remove("BYTELAB_STORE")
            .env_remove("BYTELAB_OPTIONS")
            .env_remove("BYTELAB_DATA_DIR")
            .env_remove("COLUMNS");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::new(self.command(args).output().unwrap())
    }

    /// `run`, with the temporary home as the current directory.
    pub(crate) fn run_in_home(&self, args: &[&str]) -> Ran {
        Ran::new(self.command(args).current_dir(self.dir.path()).output().unwrap())
    }

    /// Wrong use: exit status 2, nothing on standard output, and this on standard error.
    #[track_caller]
    pub(crate) fn refused(&self, args: &[&str], expected: &str) -> Ran {
        let ran = self.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        ran
    }

    /// `run` as another user, without any capabilities, who then owns the temporary home. Prints
    /// the reason and returns `None` if that is not possible.
    #[expect(clippy::print_stdout, reason = "a test says why it is skipped")]
    pub(crate) fn run_as_nobody(&self, args: &[&str]) -> Option<Output> {
        const NOBODY: u32 = 65_534;
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can become another user; all tests run as this one");
            return None;
        }
        let program = self.path("bytelab");
        install(env!("CARGO_BIN_EXE_bytelab"), &program);
        std::fs::set_permissions(self.dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        chown(self.dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        #[expect(
            clippy::disallowed_methods,
            reason = "the program is started as another user would"
        )]
        let mut command = Command::new("setpriv");
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"];
        command.args(user).arg(&program).args(args).env("HOME", self.dir.path());
        command.env("TMPDIR", self.dir.path()).env_remove("BYTELAB_STORE");
        command.env_remove("XDG_DATA_HOME").env_remove("XDG_CACHE_HOME");
        let Ok(ran) = command.env_remove("BYTELAB_DATA_DIR").output() else {
            println!("skipped: setpriv is not installed");
            return None;
        };
        if matches!(ran.status.code(), Some(126 | 127)) {
            println!("skipped: {}", String::from_utf8_lossy(&ran.stderr));
            return None;
        }
        Some(ran)
    }

    /// `run reading` on little data, with these arguments, as JSON.
    pub(crate) fn reading(&self, args: &[&str]) -> (i32, Value) {
        let all = [&["run", "reading", "--json"], SMALL, args].concat();
        let ran = self.run(&all);
        (ran.code, ran.json())
    }

    /// A worker that reports each requested sample, and the FIFO to which it writes: its process
    /// id, and the number of the sample. When a sample is requested, all earlier ones are complete.
    pub(crate) fn reporting_worker(&self, bytes: u64) -> (String, PathBuf) {
        let fifo = self.path("samples");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
        let go = format!("echo \"$$ $n\" >&3; echo \"done $n wall=5000000 bytes={bytes}\"");
        let script = format!("exec 3>{}; {}", fifo.display(), on_go(&go));
        (self.worker("reporting", &script), fifo)
    }

    /// A shell script as a worker; returns its argument for `--worker`.
    pub(crate) fn worker(&self, name: &str, script: &str) -> String {
        let path = self.path(&format!("{name}.sh"));
        std::fs::write(&path, script).unwrap();
        format!("{name}=/bin/sh {}", path.display())
    }
}

/// What the program does with this on its standard input, which it may leave.
pub(crate) fn fed(command: &mut Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

/// A worker that does this when a sample is requested, whose number is `$n`.
pub(crate) fn on_go(go: &str) -> String {
    format!(
        "echo hello 1
         while read -r verb n rest; do case $verb in
             prepare) echo ready;;
             go) {go};;
             bye) exit;;
         esac; done"
    )
}

/// Copies a file, so that it can be executed. A process of its own does it: a file that this one
/// has open for writing is open, too, in each program that another test starts meanwhile, until
/// that is executed, and cannot be executed itself before ("Text file busy").
pub(crate) fn install(from: impl AsRef<Path>, to: &Path) {
    #[expect(clippy::disallowed_methods, reason = "no other process may inherit the open file")]
    let mut command = Command::new("install");
    let done = command.args(["-m", "755"]).arg(from.as_ref()).arg(to).status().unwrap();
    assert!(done.success(), "{done}");
}

/// Makes a file with this text that can be executed.
pub(crate) fn script(path: &Path, text: &str) {
    let source = path.with_extension("text");
    std::fs::write(&source, text).unwrap();
    install(&source, path);
    std::fs::remove_file(source).unwrap();
}

/// The cell of a method in a JSON document.
pub(crate) fn cell<'a>(json: &'a Value, method: &str) -> &'a Value {
    let cells = json["cells"].as_array().unwrap();
    cells.iter().find(|cell| cell["method"] == method).unwrap_or_else(|| panic!("no {method}"))
}

/// Every file below a directory, except generated data.
pub(crate) fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

/// Starts an HTTP server that answers one request of each connection, by its head; returns its URL.
pub(crate) fn http_server(mut answer: impl FnMut(String) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let Some(head) = request_head(&mut socket) else { continue };
            // The program may have ended.
            let _ = socket.write_all(&answer(head));
        }
    });
    url
}

/// The head of the next HTTP request on a connection, if it is not closed before the head's end.
pub(crate) fn request_head(connection: &mut impl Read) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8(head).unwrap())
}

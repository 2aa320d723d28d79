//! Commands beside those that are measured: run to their end, as hooks around samples, as a part of
//! a method, and as servers.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use model::param::Point;
use model::path_text::to_os;

use super::expanded::{ExpandedCommand, input};
use super::process::{ChildStdio, Process, describe, new_command};
use super::{
    Child, CountedSample, CountingRunner, Limits, RawSample, Ready, RunError, Runner, Stop,
    TracedRunner, TracedSample,
};
use crate::clock::{self, Cpu};
use crate::experiment::{Command, Hooks};

// Commands that are run to their end and not measured: those that build a worker, and hooks.

/// Runs it and discards its standard output; an error includes the end of its standard error.
pub fn run_to_end(argv: &[String], limit_ns: u64, stop: &Stop) -> Result<(), RunError> {
    let limits = Limits::new(limit_ns, stop);
    run(argv, ChildStdio::Null, &[], &limits)
}

/// The prefix of the reason where a hook failed.
pub const HOOK: &str = "hook ";

/// A command around the measuring, such as one that makes the data.
pub struct Hook<'a> {
    /// The name of the hook in errors.
    pub name: &'a str,
    pub command: &'a Command,
    /// Its working directory; none: that of the lab.
    pub dir: Option<PathBuf>,
    pub limit_ns: u64,
    /// The number of the sample around which it is run; 0 for other hooks.
    pub n: u64,
}

/// Runs a hook with the values of a point.
pub fn hook(hook: &Hook<'_>, arguments: &Point, stop: &Stop) -> Result<(), RunError> {
    let expanded = ExpandedCommand::new(hook.command, arguments);
    let limits = Limits { dir: hook.dir.clone(), ..Limits::new(hook.limit_ns, stop) };
    let output = std::fs::File::options().write(true).open("/dev/null");
    let output = output.map_err(|error| RunError::Failed(format!("/dev/null: {error}")));
    let input = input(expanded.input.as_deref(), &limits);
    let ran = input.and_then(|input| Ok(ChildStdio::Given(input, output?.into())));
    let variables = expanded.variables(hook.n);
    ran.and_then(|stdio| run(&expanded.argv, stdio, &variables, &limits)).map_err(|ended| {
        match ended {
            RunError::Skipped(why) => RunError::Skipped(format!("{HOOK}{}: {why}", hook.name)),
            RunError::Failed(why) => RunError::Failed(format!("{HOOK}{}: {why}", hook.name)),
            RunError::Stopped => RunError::Stopped,
        }
    })
}

pub(super) fn run(
    argv: &[String],
    stdio: ChildStdio,
    variables: &[(&str, String)],
    limits: &Limits,
) -> Result<(), RunError> {
    let mut process = Process::spawn(argv, stdio, variables, limits)?;
    let failed = |error: &dyn std::fmt::Display| RunError::Failed(format!("{}: {error}", argv[0]));
    process.wait_for_exit(limits, clock::now_ns().saturating_add(limits.answer_ns))?;
    let status = process.end().map_err(|error| failed(&error))?;
    if status.success() {
        return Ok(());
    }
    let (how, tail) = (describe(status), process.quoted_tail());
    Err(RunError::Failed(format!("{} {how}{tail}", argv[0])))
}

/// Output beyond this is discarded.
const OUTPUT_BYTES: u64 = 64 << 10;

/// Runs it to its end without input, and returns its standard output.
pub fn output(argv: &[String], limit_ns: u64, stop: &Stop) -> Result<String, RunError> {
    PendingOutput::start(argv, limit_ns, stop)?.read()
}

/// The standard output of a program that runs while other work is done. Dropping it ends the
/// program.
pub struct PendingOutput {
    process: Process,
    reader: PipeReader,
    name: String,
    limits: Limits,
}

impl PendingOutput {
    /// Starts the program without input. Reading waits for its end no longer than `limit_ns`.
    pub fn start(argv: &[String], limit_ns: u64, stop: &Stop) -> Result<PendingOutput, RunError> {
        let limits = Limits::new(limit_ns, stop);
        let ends = || -> io::Result<_> { Ok((File::open("/dev/null")?, io::pipe()?)) };
        let name = argv.first().cloned().unwrap_or_default();
        let (input, (reader, writer)) =
            ends().map_err(|error| RunError::Failed(format!("{name}: {error}")))?;
        let stdio = ChildStdio::Given(input.into(), writer.into());
        let process = Process::spawn(argv, stdio, &[], &limits)?;
        Ok(PendingOutput { process, reader, name, limits })
    }

    /// Waits for the end of the program, and returns what it has printed.
    pub fn read(self) -> Result<String, RunError> {
        let PendingOutput { mut process, reader, name, limits } = self;
        let deadline_ns = clock::now_ns().saturating_add(limits.answer_ns);
        let text = receive(&reader, &mut process, &limits, deadline_ns)?;
        let status = process.end().map_err(|error| RunError::Failed(format!("{name}: {error}")))?;
        if status.success() {
            return Ok(text);
        }
        let (how, tail) = (describe(status), process.quoted_tail());
        Err(RunError::Failed(format!("{name} {how}{tail}")))
    }
}

fn receive(
    mut reader: &PipeReader,
    process: &mut Process,
    limits: &Limits,
    deadline_ns: u64,
) -> Result<String, RunError> {
    let mut text = Vec::new();
    loop {
        process.wait_for(reader.as_fd(), limits, deadline_ns)?;
        let mut buffer = [0; 4 << 10];
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) if (text.len() as u64) < OUTPUT_BYTES => text.extend_from_slice(&buffer[..n]),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(RunError::Failed(format!("reading its output: {error}"))),
        }
    }
    // A process closes its output before it ends or when it ends.
    if !process.wait_until_exit(deadline_ns) {
        return Err(RunError::Failed("closed its output and did not end; killed".to_owned()));
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

// A method with commands around its samples, which are not timed.

pub(super) struct WithHooks<R: ?Sized> {
    inner: Box<R>,
    hooks: Hooks,
    method: String,
    limits: Limits,
    arguments: Point,
}

impl<R: ?Sized> WithHooks<R> {
    pub(super) fn new(inner: Box<R>, hooks: &Hooks, method: &str, limits: Limits) -> WithHooks<R> {
        let (hooks, method) = (hooks.clone(), method.to_owned());
        WithHooks { inner, hooks, method, limits, arguments: Point::default() }
    }

    /// Passes the sample on after the hook that follows it.
    fn concluded<T>(&self, n: u64, taken: T) -> Result<T, RunError> {
        self.run("conclude", self.hooks.conclude.as_ref(), n)?;
        Ok(taken)
    }

    fn run(&self, name: &str, command: Option<&Command>, n: u64) -> Result<(), RunError> {
        let Some(command) = command else { return Ok(()) };
        let Limits { answer_ns, dir, stop, .. } = &self.limits;
        let this = Hook { name, command, dir: dir.clone(), limit_ns: *answer_ns, n };
        hook(&this, &self.arguments, stop)
    }
}

impl<R: Child + ?Sized> Child for WithHooks<R> {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.arguments = arguments.clone();
        self.arguments.set("method", self.method.as_str());
        self.run("setup", self.hooks.setup.as_ref(), 0)?;
        self.inner.prepare(arguments)
    }

    fn before(&mut self, n: u64) -> Result<(), RunError> {
        self.inner.before(n)?;
        self.run("prepare", self.hooks.prepare.as_ref(), n)
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        self.inner.missing()
    }

    fn bye(&mut self) {
        self.inner.bye();
    }
}

impl Runner for WithHooks<dyn Runner> {
    fn started(&mut self) -> Result<(), RunError> {
        self.inner.started()
    }

    fn fill(&mut self, files: &[PathBuf]) -> Result<(), RunError> {
        self.inner.fill(files)
    }

    fn go(&mut self, n: u64, ops: u64) -> Result<RawSample, RunError> {
        let taken = self.inner.go(n, ops)?;
        self.concluded(n, taken)
    }

    fn noop_ns(&mut self) -> Result<Option<u64>, RunError> {
        self.inner.noop_ns()
    }

    fn has_died(&self) -> bool {
        self.inner.has_died()
    }
}

impl CountingRunner for WithHooks<dyn CountingRunner> {
    fn count(&mut self, n: u64, ops: u64) -> Result<CountedSample, RunError> {
        let counted = self.inner.count(n, ops)?;
        self.concluded(n, counted)
    }

    fn allocations(&mut self, n: u64, ops: u64) -> Result<Vec<(&'static str, u64)>, RunError> {
        let counts = self.inner.allocations(n, ops)?;
        self.concluded(n, counts)
    }

    fn trace(&mut self, n: u64, ops: u64, untraced_ns: u64) -> Result<TracedSample, RunError> {
        let traced = self.inner.trace(n, ops, untraced_ns)?;
        self.concluded(n, traced)
    }
}

impl TracedRunner for WithHooks<dyn TracedRunner> {
    fn pid(&self) -> Option<u32> {
        self.inner.pid()
    }

    fn go(
        &mut self,
        n: u64,
        ops: u64,
        started: &mut dyn FnMut(u32),
    ) -> Result<RawSample, RunError> {
        let taken = self.inner.go(n, ops, started)?;
        self.concluded(n, taken)
    }
}

// A plain command between two descriptors, for a method that creates these itself.

/// Runs a command with these variables in its environment, from `input` to `output`, which it
/// closes, and waits for its end. Returns what the command and all processes that it waited for
/// used, including their start.
pub fn filter(
    argv: &[String],
    variables: &[(&str, String)],
    input: OwnedFd,
    output: OwnedFd,
) -> Result<Cpu, RunError> {
    // The lab, which waits for the method, sets the limit.
    let limits = Limits::new(u64::MAX, &Stop::default());
    let mut process = Process::spawn(argv, ChildStdio::Given(input, output), variables, &limits)?;
    let failed = |error: &dyn std::fmt::Display| RunError::Failed(format!("{}: {error}", argv[0]));
    process.wait_for_exit(&limits, clock::now_ns().saturating_add(u64::MAX >> 1))?;
    let (status, used) = process.end_with_usage().map_err(|error| failed(&error))?;
    if !status.success() {
        let tail = process.quoted_tail();
        return Err(RunError::Failed(format!("{} {}{tail}", argv[0], describe(status))));
    }
    Ok(used.cpu)
}

// A process that methods need, such as the server that they read from. It is ended
// on drop, and when the lab ends.

/// A helper process that has started but is not necessarily ready.
pub struct ServerProcess {
    process: Process,
    limits: Limits,
}

impl ServerProcess {
    /// Starts the process; `limit_ns` is the time limit of each later request.
    pub fn start(argv: &[String], limit_ns: u64, stop: &Stop) -> Result<ServerProcess, RunError> {
        let limits = Limits::new(limit_ns, stop);
        Ok(ServerProcess {
            process: Process::spawn(argv, ChildStdio::Pipes, &[], &limits)?,
            limits,
        })
    }

    /// The first line of its standard output.
    pub fn line(&mut self) -> Result<String, RunError> {
        let Some(output) = self.process.child.stdout.take() else {
            return Err(RunError::Failed("its standard output is not a pipe".to_owned()));
        };
        let deadline_ns = clock::now_ns().saturating_add(self.limits.answer_ns);
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            self.process.wait_for(output.as_fd(), &self.limits, deadline_ns)?;
            let mut byte = [0];
            match rustix::io::read(&output, &mut byte) {
                Ok(0) => return Err(RunError::Failed(self.process.died())),
                Ok(_) => line.push(byte[0]),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(RunError::Failed(format!("reading its output: {error}"))),
            }
        }
        self.process.child.stdout = Some(output);
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    /// Repeats `ready` until it returns a value; an error if the process dies or the limit passes.
    pub fn until<T>(&mut self, mut ready: impl FnMut() -> Option<T>) -> Result<T, RunError> {
        let deadline_ns = clock::now_ns().saturating_add(self.limits.answer_ns);
        loop {
            if let Some(found) = ready() {
                return Ok(found);
            }
            if self.limits.stop.signal().is_some() {
                return Err(RunError::Stopped);
            }
            let now_ns = clock::now_ns();
            if now_ns >= deadline_ns {
                return Err(RunError::Failed("it is not ready in time".to_owned()));
            }
            // Waits for a millisecond while the process lives.
            if self.process.wait_until_exit(now_ns + 1_000_000) {
                return Err(RunError::Failed(self.process.died()));
            }
        }
    }
}

/// Makes this process end when the process that started it ends.
pub fn end_with_the_lab() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

/// Replaces this process by another program, which also ends with the lab. Returns only on failure.
pub fn become_program(argv: &[&str]) -> std::io::Error {
    if let Err(error) = end_with_the_lab() {
        return error;
    }
    let Some((name, arguments)) = argv.split_first() else {
        return std::io::ErrorKind::InvalidInput.into();
    };
    let mut command = new_command(&to_os(name));
    command.args(arguments.iter().map(|word| to_os(word))).exec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(argv: &[&str], expected: Result<&str, &str>) {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        match (output(&argv, 60_000_000_000, &Stop::default()), expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected),
            (Err(RunError::Failed(text) | RunError::Skipped(text)), Err(expected)) => {
                assert!(text.contains(expected), "{text}");
            }
            (other, _) => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_output_of_a_command_is_read_to_its_end() {
        check(&["echo", "version 1"], Ok("version 1\n"));
        check(&["sh", "-c", "cat; echo no input"], Ok("no input\n"));
        check(
            &["sh", "-c", "echo why >&2; exit 3"],
            Err("ended with exit status 3; stderr of sh: why"),
        );
        check(&["/no/such"], Err("/no/such is not installed"));
        check(&[], Err("an empty command"));
        let much = ["head", "-c", "1M", "/dev/zero"].map(str::to_owned);
        let kept = output(&much, 60_000_000_000, &Stop::default()).unwrap();
        // The last part that is kept ends beyond the limit.
        assert!((64 << 10..68 << 10).contains(&kept.len()), "{}", kept.len());
    }

    #[test]
    fn an_output_is_read_after_other_work() {
        let start = |script: &str| {
            let argv = ["sh", "-c", script].map(str::to_owned);
            PendingOutput::start(&argv, 60_000_000_000, &Stop::default()).unwrap()
        };
        // Each end of a FIFO is opened only when the other one is.
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo").display().to_string();
        check(&["mkfifo", &fifo], Ok(""));
        let (first, second) = (start(&format!("cat {fifo}")), start(&format!("echo 1 > {fifo}")));
        assert_eq!(second.read(), Ok(String::new()));
        assert_eq!(first.read(), Ok("1\n".to_owned()));
        let unread = start("exec sleep 60");
        let pid = unread.process.pid();
        drop(unread);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }
}

#[cfg(test)]
mod filter_tests {
    use std::io::{Read, Seek, Write};

    use super::*;

    #[test]
    fn a_command_gets_its_input_and_output() {
        let mut input = tempfile::tempfile().unwrap();
        input.write_all(b"hello").unwrap();
        input.rewind().unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        let used = filter(&["cat".to_owned()], &[], input.into(), writer.into()).unwrap();
        assert!(used.all_ns > 0);
        let mut text = String::new();
        // This returns only if no other process has the other end of the pipe.
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn what_the_processes_of_a_command_used_is_its_own() {
        let null = || std::fs::File::options().read(true).write(true).open("/dev/null").unwrap();
        let burn = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done";
        let script = format!("sh -c '{burn}'; true");
        let argv = ["sh", "-c", &script].map(str::to_owned);
        let used = filter(&argv, &[], null().into(), null().into()).unwrap();
        // The shell only starts another shell, which computes for longer than it takes to start
        // both.
        let nothing = filter(&argv[..1], &[], null().into(), null().into()).unwrap();
        assert!(used.all_ns > 4 * nothing.all_ns, "{used:?} {nothing:?}");
    }

    #[test]
    fn a_command_that_fails_or_is_not_there_says_so() {
        let run = |argv: &[&str]| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            let null = || std::fs::File::open("/dev/null").unwrap().into();
            filter(&argv, &[], null(), null()).unwrap_err()
        };
        assert_eq!(run(&["/no/such"]), RunError::Skipped("/no/such is not installed".to_owned()));
        let failed = run(&["sh", "-c", "echo reason >&2; exit 3"]);
        assert!(matches!(&failed, RunError::Failed(text) if text.contains("reason")), "{failed:?}");
    }
}

#[cfg(test)]
mod server_process_tests {
    use super::*;

    fn start(script: &str) -> ServerProcess {
        let argv = ["sh", "-c", script].map(str::to_owned);
        ServerProcess::start(&argv, 20_000_000_000, &Stop::default()).unwrap()
    }

    #[test]
    fn a_helper_says_a_line_and_is_there_until_it_is_dropped() {
        let mut helper = start("echo $$; exec cat");
        let pid: i32 = helper.line().unwrap().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        assert_eq!(helper.until(|| Some(7)), Ok(7));
        rustix::process::test_kill_process(pid).unwrap();
        drop(helper);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }

    #[test]
    fn a_helper_that_dies_says_why() {
        let died = |ended: RunError| match ended {
            RunError::Failed(text) => text,
            other => panic!("{other:?}"),
        };
        let text = died(start("echo reason >&2; exit 3").line().unwrap_err());
        assert!(text.contains("exit status 3") && text.contains("reason"), "{text}");
        let mut silent = start("echo reason >&2; exit 3");
        let text = died(silent.until(|| None::<()>).unwrap_err());
        assert!(text.contains("exit status 3") && text.contains("reason"), "{text}");
    }
}

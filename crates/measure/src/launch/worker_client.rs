//! A method in a process that speaks the line protocol: one that lasts, or a new one for each
//! sample.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{ChildStdin, ChildStdout};

use model::metric;
use model::param::Point;

use super::process::{ChildStdio, Process, set_nonblocking};
use super::{BUILT_IN, Child, ColdStart, Limits, RawSample, Ready, RunError, Runner, TracedRunner};
use crate::clock;
use crate::counters::{Counters, Reading};
use crate::protocol::{Done, FRESH_VARIABLE, LINE_LIMIT_BYTES, Order, PhaseMark, Reply, quote};

/// The step of the coarsest clocks that languages offer, with a margin.
const COARSE_CLOCK_NS: u64 = 20_000_000;

/// A process that has written nothing after this time is no worker, whatever the limit of a sample
/// is.
const HELLO_NS: u64 = 60_000_000_000;

/// More phases of one sample are a mistake.
const MARKS_MAX: usize = 10_000;

/// The whole numbers up to this one can each be represented as a double.
const COUNT_MAX: f64 = 9_007_199_254_740_992.0;

pub(super) struct WorkerClient {
    process: Process,
    orders: Option<ChildStdin>,
    replies: ChildStdout,
    /// Bytes that were read and not yet parsed.
    buffer: Vec<u8>,
    counters: Counters,
    language: Option<String>,
    /// 0 until its hello was received.
    hello_ns: u64,
    limits: Limits,
    is_built_in: bool,
    /// Whether it has begun to prepare.
    is_preparing: bool,
    /// The phases of the last sample, which only a recorded one has.
    marks: Vec<PhaseMark>,
    /// Whether its last sample came with the totals that it had read itself. A built-in method of
    /// another version of this program may not do so.
    reads_itself: bool,
}

impl WorkerClient {
    /// Starts the process and waits for its hello.
    pub(super) fn start(
        argv: &[String],
        variables: &[(&str, String)],
        limits: Limits,
    ) -> Result<WorkerClient, RunError> {
        let mut worker = WorkerClient::spawn(argv, variables, limits)?;
        worker.started()?;
        Ok(worker)
    }

    /// Starts the process, whose hello is awaited later.
    pub(super) fn spawn(
        argv: &[String],
        variables: &[(&str, String)],
        limits: Limits,
    ) -> Result<WorkerClient, RunError> {
        let mut process = Process::spawn(argv, ChildStdio::Pipes, variables, &limits)?;
        let orders = process.child.stdin.take();
        let Some(replies) = process.child.stdout.take() else {
            return Err(RunError::Failed("its standard output is not a pipe".to_owned()));
        };
        set_nonblocking(&replies)
            .map_err(|error| RunError::Failed(format!("its output: {error}")))?;
        let counters = Counters::open(process.child.id());
        Ok(WorkerClient {
            process,
            orders,
            replies,
            buffer: Vec::new(),
            counters,
            language: None,
            hello_ns: 0,
            limits,
            marks: Vec::new(),
            is_built_in: argv.get(1).is_some_and(|word| word == BUILT_IN),
            is_preparing: false,
            reads_itself: false,
        })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Takes one sample and no other action. A child that reports impossible values takes no more
    /// samples.
    pub(super) fn ask(&mut self, n: u64, ops: u64, marked: bool) -> Result<Done, RunError> {
        let failed = |reason: String| Err(RunError::Failed(reason));
        if !self.buffer.is_empty() {
            let early = String::from_utf8_lossy(&self.buffer).into_owned();
            return failed(format!("protocol: {} was not asked for", quote(early.trim_end())));
        }
        self.marks.clear();
        let start_ns = clock::now_ns();
        self.send(&Order::Go { n, ops, marked })?;
        let done = loop {
            match self.receive()? {
                Reply::Done(done) => break done,
                Reply::Mark(mark) if self.marks.len() < MARKS_MAX => {
                    let at_ns = mark.at_ns.or_else(|| Some(clock::now_ns()));
                    self.marks.push(PhaseMark { at_ns, ..mark });
                }
                Reply::Mark(_) => {
                    return failed(format!("protocol: more than {MARKS_MAX} marks in a sample"));
                }
                other => return Err(out_of_turn("done", &other)),
            }
        };
        let elapsed_ns = clock::now_ns() - start_ns;
        if done.wall_ns > elapsed_ns + COARSE_CLOCK_NS {
            let claimed_ns = done.wall_ns;
            return failed(format!(
                "says that it took {claimed_ns} ns, but answered after {elapsed_ns} ns"
            ));
        }
        // A built-in method may have a minimum, such as a number of round trips between two
        // threads.
        let most = if self.is_built_in { u64::MAX } else { ops };
        match impossible(&done, n, most) {
            Some(reason) => failed(reason),
            None => Ok(done),
        }
    }

    /// The phases that the last sample reported.
    pub(super) fn take_marks(&mut self) -> Vec<PhaseMark> {
        std::mem::take(&mut self.marks)
    }

    /// The time of its hello.
    pub(super) fn hello_ns(&self) -> u64 {
        self.hello_ns
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.child.id()
    }

    /// The pipes of the orders and of the replies.
    pub(super) fn pipes(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [self.orders.as_ref().map(AsFd::as_fd), Some(self.replies.as_fd())]
    }

    fn send(&mut self, order: &Order) -> Result<(), RunError> {
        let line = order.to_string();
        let sent = match &mut self.orders {
            Some(orders) => orders.write_all(line.as_bytes()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        sent.map_err(|_| RunError::Failed(self.process.died()))
    }

    /// The next reply; a `skip` or a `fail` ends the method.
    fn receive(&mut self) -> Result<Reply, RunError> {
        let is_started = self.hello_ns > 0;
        let most_ns = if is_started { u64::MAX } else { HELLO_NS };
        let limits =
            Limits { answer_ns: self.limits.answer_ns.min(most_ns), ..self.limits.clone() };
        let deadline_ns = clock::now_ns().saturating_add(limits.answer_ns);
        let line = loop {
            if let Some(end) = self.buffer.iter().position(|b| *b == b'\n') {
                break self.buffer.drain(..=end).collect::<Vec<u8>>();
            }
            if self.buffer.len() > LINE_LIMIT_BYTES {
                let start = String::from_utf8_lossy(&self.buffer[..64]).into_owned();
                let limit = model::param::bytes(LINE_LIMIT_BYTES as u64);
                return Err(RunError::Failed(format!("a line over {limit}: {}", quote(&start))));
            }
            self.process.wait_for(self.replies.as_fd(), &limits, deadline_ns)?;
            let mut buffer = [0; 4 << 10];
            match rustix::io::read(&self.replies, &mut buffer) {
                Ok(0) => return Err(RunError::Failed(self.process.died())),
                Ok(n) => self.buffer.extend_from_slice(&buffer[..n]),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(RunError::Failed(format!("reading its output: {error}"))),
            }
        };
        let line = String::from_utf8_lossy(&line);
        match Reply::parse(&line) {
            Ok(Reply::Skip(reason)) => Err(RunError::Skipped(reason)),
            Ok(Reply::Fail(reason)) => Err(RunError::Failed(reason)),
            Ok(reply) => Ok(reply),
            Err(reason) => {
                Err(RunError::Failed(format!("protocol: {reason}{}", self.process.quoted_tail())))
            }
        }
    }
}

impl Child for WorkerClient {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        if !std::mem::take(&mut self.is_preparing) {
            self.started()?;
            self.send(&Order::prepare(arguments))?;
        }
        match self.receive()? {
            Reply::Ready { digest } => Ok(Ready { language: self.language.clone(), digest }),
            other => Err(out_of_turn("ready", &other)),
        }
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        self.counters.why().iter().map(|(metric, why)| (*metric, why.clone())).collect()
    }

    fn bye(&mut self) {
        let _ = self.send(&Order::Bye);
        self.orders = None;
    }
}

impl Runner for WorkerClient {
    fn started(&mut self) -> Result<(), RunError> {
        if self.hello_ns > 0 {
            return Ok(());
        }
        match self.receive()? {
            Reply::Hello { language, .. } => self.language = language,
            other => return Err(out_of_turn("hello", &other)),
        }
        self.hello_ns = clock::now_ns();
        // Some counters of a process do not exist before its first turn on a CPU.
        self.counters = Counters::open(self.pid());
        Ok(())
    }

    fn begin_to_prepare(&mut self, arguments: &Point) -> Result<(), RunError> {
        self.started()?;
        self.send(&Order::prepare(arguments))?;
        self.is_preparing = true;
        Ok(())
    }

    fn go(&mut self, n: u64, ops: u64) -> Result<RawSample, RunError> {
        let before = if self.reads_itself {
            // Where that is not possible the peak is unknown; see `Counters::why`.
            let _ = self.counters.reset_peak();
            Reading::default()
        } else {
            // The reading after the last sample cannot be used: runtimes compile, collect and
            // write between samples.
            self.counters.start()
        };
        let done = self.ask(n, ops, false)?;
        let totals = done.totals.filter(|_| self.is_built_in);
        self.reads_itself = totals.is_some();
        let used = match &totals {
            Some(totals) => self.counters.complete(totals),
            None => self.counters.read().since(&before),
        };
        Ok(RawSample { done, used, ..RawSample::default() })
    }

    fn has_died(&self) -> bool {
        self.process.is_reaped()
    }
}

impl Drop for WorkerClient {
    /// A process that was requested to end gets a short time to do so; then its group is killed.
    fn drop(&mut self) {
        if self.orders.is_none() {
            self.process.wait_until_exit(clock::now_ns() + 1_000_000_000);
        }
    }
}

/// The values of an answer that are impossible, whatever the method did.
fn impossible(done: &Done, n: u64, most: u64) -> Option<String> {
    if let Some((name, _)) = done.metrics.iter().find(|(name, _)| metric::is_the_labs_own(name)) {
        return Some(format!("protocol: a method may not report {name}"));
    }
    // Only the method knows the range of its own metrics.
    let negative = |(name, value): &&(String, f64)| metric::is_known(name) && *value < 0.0;
    if let Some((name, value)) = done.metrics.iter().find(negative) {
        return Some(format!("protocol: {name}={value} is below 0"));
    }
    let uncountable = |(name, value): &&(String, f64)| metric::is_known(name) && *value > COUNT_MAX;
    if let Some((name, value)) = done.metrics.iter().find(uncountable) {
        return Some(format!(
            "protocol: {name}={value} is more than can be counted exactly (2^53)"
        ));
    }
    if done.n != n {
        return Some(format!("answered sample {} when asked for {n}", done.n));
    }
    let claimed = done.ops;
    (claimed > most)
        .then(|| format!("protocol: says that it did {claimed} operations when asked for {most}"))
}

fn out_of_turn(expected: &str, reply: &Reply) -> RunError {
    let said = reply.to_string();
    RunError::Failed(format!("protocol: said {} instead of {expected}", quote(said.trim_end())))
}

// A method whose every sample is taken in a new process, as the first one of that process.

pub(super) struct FreshRunner {
    argv: Vec<String>,
    limits: Limits,
    arguments: Point,
    missing: Vec<(&'static str, String)>,
    has_died: bool,
}

impl FreshRunner {
    pub(super) fn new(argv: Vec<String>, limits: Limits) -> FreshRunner {
        FreshRunner {
            argv,
            limits,
            arguments: Point::default(),
            missing: Vec::new(),
            has_died: false,
        }
    }
}

impl Child for FreshRunner {
    /// The first process determines what applies to all: whether the method is available, and its
    /// digest.
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        let mut worker = WorkerClient::start(&self.argv, &[], self.limits.clone())?;
        let ready = worker.prepare(arguments)?;
        self.missing = worker.missing();
        self.arguments = arguments.clone();
        worker.bye();
        Ok(ready)
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        self.missing.clone()
    }
}

impl Runner for FreshRunner {
    /// Does one operation, whatever number is requested: a second one would not be the first
    /// access.
    fn go(&mut self, n: u64, _ops: u64) -> Result<RawSample, RunError> {
        let fresh = [(FRESH_VARIABLE, "yes".to_owned())];
        let start_ns = clock::now_ns();
        let mut worker = WorkerClient::start(&self.argv, &fresh, self.limits.clone())?;
        let hello_ns = worker.hello_ns();
        let prepare_ns = clock::now_ns();
        worker.prepare(&self.arguments)?;
        let fresh =
            ColdStart { startup_ns: hello_ns - start_ns, prepare_ns: clock::now_ns() - prepare_ns };
        let taken = worker.go(n, 1);
        self.has_died = worker.has_died();
        let taken = taken?;
        worker.bye();
        Ok(RawSample { fresh: Some(fresh), ..taken })
    }

    fn has_died(&self) -> bool {
        self.has_died
    }
}

// The processes of the methods in the recorded round: their ids must be known while they run.

/// A method in a long-lived process.
pub(super) struct TracedWorker {
    pub(super) worker: WorkerClient,
}

impl Child for TracedWorker {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.worker.prepare(arguments)
    }

    fn bye(&mut self) {
        self.worker.bye();
    }
}

impl TracedRunner for TracedWorker {
    fn pid(&self) -> Option<u32> {
        Some(self.worker.pid())
    }

    fn go(
        &mut self,
        n: u64,
        ops: u64,
        _started: &mut dyn FnMut(u32),
    ) -> Result<RawSample, RunError> {
        let done = self.worker.ask(n, ops, true)?;
        Ok(RawSample { done, marks: self.worker.take_marks(), ..RawSample::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Stop;

    #[test]
    fn what_is_missing_of_the_first_process_is_missing_of_all() {
        let limits = Limits::new(0, &Stop::default());
        let missing = vec![("cpu_ns", "it has no CPU".to_owned())];
        let mut runner = FreshRunner::new(Vec::new(), limits);
        assert_eq!(runner.missing(), []);
        runner.missing.clone_from(&missing);
        assert_eq!(runner.missing(), missing);
    }
}

//! A timeline of one round: the orders to each child, and what its threads did meanwhile. It is
//! recorded from perf events where the rights allow that, else by polling, and written as Chrome
//! trace events.

mod json;
pub(crate) mod perf;
mod poll;
pub(crate) mod ring;
mod spans;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use model::run::{Pass, Run, Status};
use model::warning::TIMELINE;

use self::perf::PerfRecorder;
use self::poll::RecorderState;
pub use self::poll::TimelineSources;
pub use self::spans::{Category, Thread, Timeline};
pub use self::spans::{ProcessTimeline, Span};
use self::spans::{RecordedChild, Recording};
use crate::clock;
use crate::experiment::Data;
use crate::launch::{Launch, RawSample, RunError, Stop, TracedRunner};
use crate::protocol::JOB_START;
use crate::{Interrupted, MeasureContext, MeasureJob, Record, RunProgress, order, unless_stopped};

// The recorded round: after all times and counts are taken, every method runs once more in a
// fresh process, while the activity of its threads is recorded. None of it is a sample of the
// run.

/// The orders of the timing pass and of the counting pass use other numbers.
const ROUND: u32 = u32::MAX;

/// One round as a timeline. The reason for a missing part becomes a note of the run. None if a
/// signal stopped it.
pub fn trace(
    job: &MeasureJob<'_>,
    run: &mut Run,
    data: &[Data],
    launch: &mut dyn Launch,
    record: &mut dyn Record,
    stop: &Stop,
) -> Result<Option<Timeline>> {
    let start_ns = clock::now_ns();
    let recorder = Recorder::start().context("starting the recorder of the timeline")?;
    let sources = recorder.sources.clone();
    let mut context = MeasureContext { job, run, data, launch, record, stop };
    let mut round = Round { context: &mut context, recorder: &recorder, children: Vec::new() };
    let ended = round.run();
    let children = std::mem::take(&mut round.children);
    let recording = recorder.finish();
    if unless_stopped(ended)?.is_none() {
        return Ok(None);
    }
    explain(&mut context, &sources, recording.lost);
    let facts = facts(context.run, &sources, recording.lost);
    context.record.finish(context.run)?;
    Ok(Some(Timeline::from_recording(&recording, children, start_ns, facts)))
}

struct Round<'a, 'b> {
    context: &'a mut MeasureContext<'b>,
    recorder: &'a Recorder,
    children: Vec<RecordedChild>,
}

struct TracedMethod {
    runner: Box<dyn TracedRunner>,
    ops: u64,
    point: usize,
}

impl Round<'_, '_> {
    fn run(&mut self) -> Result<(), Interrupted> {
        let of = self.context.run.cells.len();
        let mut cells: Vec<Option<TracedMethod>> = Vec::new();
        for cell in 0..of {
            let method = &self.context.run.cells[cell].method;
            self.context
                .record
                .progress(self.context.run, &RunProgress::Tracing { method, done: cell, of });
            let traced = self.known(cell, |round| round.prepare(cell))?.flatten();
            cells.push(traced);
        }
        for cell in order(self.context.run.plan.seed, ROUND, ROUND, of) {
            let Some(traced) = &mut cells[cell] else { continue };
            if self.known(cell, |round| round.sample(cell, traced, 2, "sample"))?.is_none() {
                cells[cell] = None;
            }
        }
        cells.iter_mut().flatten().for_each(|traced| traced.runner.bye());
        Ok(())
    }

    /// The failure of a method becomes a note.
    fn known<T>(
        &mut self,
        cell: usize,
        job: impl FnOnce(&mut Self) -> Result<T, RunError>,
    ) -> Result<Option<T>, Interrupted> {
        self.context.check_stop()?;
        let ended = job(self);
        self.context.or_missing(cell, TIMELINE, ended)
    }

    /// Starts and prepares a method and lets it do the job once; none if it was not measured in the
    /// run.
    fn prepare(&mut self, index: usize) -> Result<Option<TracedMethod>, RunError> {
        let cell = &self.context.run.cells[index];
        if cell.status != Status::Measured || cell.n(Pass::Timing) == 0 {
            return Ok(None);
        }
        let (method, point) = self.context.method(index)?;
        let ops = self.context.ops(index);
        let start_ns = clock::now_ns();
        let mut runner =
            self.context.launch.start_traced(self.context.job.experiment.name, method)?;
        let started_ns = clock::now_ns();
        if let Some(pid) = runner.pid() {
            self.recorder.watch(pid);
            let phases = vec![phase("start", start_ns, started_ns)];
            let name = self.name(index);
            self.children.push(RecordedChild { pid, name, phases, jobs: Vec::new() });
        }
        runner.prepare(&self.context.arguments(method, point))?;
        if let Some(child) = self.children.last_mut().filter(|c| Some(c.pid) == runner.pid()) {
            child.phases.push(phase("prepare", started_ns, clock::now_ns()));
        }
        let mut traced = TracedMethod { runner, ops, point };
        self.sample(index, &mut traced, 1, "warm-up")?;
        Ok(Some(traced))
    }

    fn sample(
        &mut self,
        index: usize,
        traced: &mut TracedMethod,
        n: u64,
        name: &str,
    ) -> Result<(), RunError> {
        traced.runner.before(n)?;
        self.context.evict(traced.point);
        let mut pid = traced.runner.pid();
        let start_ns = clock::now_ns();
        let taken = traced.runner.go(n, traced.ops, &mut |started| {
            self.recorder.watch(started);
            pid = Some(started);
        })?;
        let end_ns = clock::now_ns();
        let Some(pid) = pid else { return Ok(()) };
        if !self.children.iter().any(|child| child.pid == pid) {
            let name = self.name(index);
            self.children.push(RecordedChild { pid, name, phases: Vec::new(), jobs: Vec::new() });
        }
        let Some(child) = self.children.iter_mut().find(|child| child.pid == pid) else {
            return Ok(());
        };
        let mut sample = phase(name, start_ns, end_ns);
        sample.arguments = BTreeMap::from([
            ("ops", taken.done.ops.into()),
            ("bytes", taken.done.bytes.into()),
            ("wall_ns", taken.done.wall_ns.into()),
        ]);
        child.phases.push(sample);
        child.phases.extend(phases_of(&taken, start_ns, end_ns));
        let startup = taken.startup_ns.map(|ns| phase("start", start_ns, start_ns + ns));
        child.phases.extend(startup);
        child.jobs.extend(job_of(&taken));
        Ok(())
    }

    /// The name of the method, with what distinguishes its cells where there are several.
    fn name(&self, index: usize) -> String {
        let cell = &self.context.run.cells[index];
        let others = || self.context.run.cells.iter().filter(|other| other.method == cell.method);
        let varies = |name: &str| others().any(|o| o.point.get(name) != cell.point.get(name));
        let mut words = vec![cell.method.clone()];
        let values = cell.point.iter().filter(|(name, _)| varies(name));
        words.extend(values.map(|(name, value)| format!("{name}={value}")));
        words.join(" ")
    }
}

fn phase(name: &str, start_ns: u64, end_ns: u64) -> Span {
    let (name, category) = (name.to_owned(), Category::Phase);
    Span { name, category, start_ns, end_ns, arguments: BTreeMap::new() }
}

/// The phases of the job: each ends where the next one begins, the last one with the job.
fn phases_of(taken: &RawSample, start_ns: u64, end_ns: u64) -> Vec<Span> {
    let job = job_of(taken);
    let mut end_ns = job.map_or(end_ns, |job| job.end_ns.min(end_ns));
    let mut phases = Vec::new();
    for mark in taken.marks.iter().rev() {
        let at_ns = mark.at_ns.unwrap_or(start_ns).clamp(start_ns, end_ns);
        phases.push(phase(&mark.name, at_ns, end_ns));
        end_ns = at_ns;
    }
    phases.reverse();
    phases
}

/// The timed interval, where the method reports when it began.
fn job_of(taken: &RawSample) -> Option<Span> {
    let (_, start_ns) = taken.done.metrics.iter().find(|(name, _)| name == JOB_START)?;
    let start_ns = *start_ns as u64;
    Some(Span {
        name: "job".to_owned(),
        category: Category::Job,
        start_ns,
        end_ns: start_ns + taken.done.wall_ns,
        arguments: BTreeMap::from([("wall_ns", taken.done.wall_ns.into())]),
    })
}

fn explain(context: &mut MeasureContext<'_>, sources: &TimelineSources, lost: u64) {
    if let Some(why) = &sources.sampled {
        let text = format!(
            "scheduling was polled about every millisecond, and system calls and page faults are \
             missing: {why}"
        );
        context.note_missing(None, TIMELINE, &text);
    } else if let Some(why) = &sources.no_calls {
        context.note_missing(None, TIMELINE, &format!("system calls are missing: {why}"));
    }
    if lost > 0 {
        context.note_missing(None, TIMELINE, &format!("{lost} events were lost; it has gaps"));
    }
}

fn facts(run: &Run, sources: &TimelineSources, lost: u64) -> BTreeMap<String, serde_json::Value> {
    let missing = |why: &Option<String>, source: &str| match why {
        Some(why) => format!("missing: {why}"),
        None => source.to_owned(),
    };
    let scheduling = match &sources.sampled {
        Some(why) => format!("sampled from /proc/PID/task and schedstat, every ms or more: {why}"),
        None => "every switch and wake-up, by the tracepoints of sched".to_owned(),
    };
    let calls =
        missing(&sources.no_calls, "those of 10 µs or more, by the tracepoints of raw_syscalls");
    let faults =
        missing(&sources.no_faults, "every one, by perf event; together where 10 µs or less apart");
    let texts = [
        ("run", run.id.clone()),
        ("experiment", run.experiment.clone()),
        (
            "what",
            "one round after the timing and the counting pass; no sample of the run".to_owned(),
        ),
        ("scheduling", scheduling),
        ("system_calls", calls),
        ("page_faults", faults),
    ];
    let mut facts: BTreeMap<String, serde_json::Value> =
        texts.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect();
    facts.insert("lost_events".to_owned(), lost.into());
    facts
}

// Records what the threads of the children do, in a separate thread: every event from the kernel
// where the rights allow that, else by polling.

impl TimelineSources {
    /// Tries which sources are available.
    pub fn look() -> TimelineSources {
        match PerfRecorder::open() {
            Ok(recorder) => recorder.sources().clone(),
            Err(why) => TimelineSources::sampled(&why),
        }
    }
}

pub struct Recorder {
    thread: Option<JoinHandle<Recording>>,
    shared: Arc<RecorderState>,
    pub sources: TimelineSources,
}

impl Recorder {
    /// Must be called before the children are started.
    pub fn start() -> std::io::Result<Recorder> {
        let shared = Arc::new(RecorderState::default());
        let (ready, is_ready) = channel();
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || record(&of_thread, &ready))?;
        let sources = is_ready.recv().map_err(std::io::Error::other)?;
        Ok(Recorder { thread: Some(thread), shared, sources })
    }

    /// Called when a child has been started. Where threads are polled, the first poll is done here:
    /// on a busy machine the recording thread may not run before the child has ended.
    pub fn watch(&self, process: u32) {
        self.shared.add(process);
        if self.sources.sampled.is_some() {
            poll::poll_once(&self.shared);
        }
    }

    pub fn finish(mut self) -> Recording {
        self.shared.finish();
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.finish();
    }
}

/// The rings are opened here, because they belong to this thread.
fn record(shared: &RecorderState, ready: &Sender<TimelineSources>) -> Recording {
    let opened = PerfRecorder::open();
    let sources = match &opened {
        Ok(recorder) => recorder.sources().clone(),
        Err(why) => TimelineSources::sampled(why),
    };
    if ready.send(sources).is_err() {
        return Recording::default();
    }
    match opened {
        Ok(recorder) => recorder.record(shared),
        Err(_) => poll::record(shared),
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod recorder_tests {
    use super::*;

    #[test]
    fn a_child_is_seen_although_the_thread_has_no_turn_while_it_lives() {
        let (thread, shared) = (None, Arc::default());
        let recorder = Recorder { thread, shared, sources: TimelineSources::sampled("no rights") };
        let own = std::process::id();
        recorder.watch(own);
        let recording = recorder.shared.states().finish();
        assert!(recording.states.contains_key(&own), "{recording:?}");
    }
}

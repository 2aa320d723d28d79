//! Fetches a large resource in parts, several at once, and lends them in order. All parts are of
//! one version; otherwise it is an error.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::PollFlags;

#[cfg(feature = "async")]
pub(crate) use self::task::TaskRanges;
use super::client::Client;
use super::head::Response;
use super::raw::{Raw, ResourceVersion, changed};
use super::settings::Settings;
use crate::cancel::{self, Cancel};
use crate::choice::{Cached, Choice, SourceKind, Strategy};
use crate::wait::{WaitMode, now};
use crate::{Error, ErrorKind, Result};

pub(crate) struct Ranges {
    shared: Arc<PartQueue>,
    threads: Vec<JoinHandle<()>>,
    /// Becomes readable when a part was fetched.
    notify_rx: PipeReader,
    cancel: Option<Cancel>,
    /// The part that is lent.
    part: Vec<u8>,
    /// The index of the next part.
    index: u64,
}

/// The state that the threads share. There are never more parts in flight or waiting than
/// connections.
struct PartQueue {
    plan: RangePlan,
    state: Mutex<PartQueueState>,
    /// Signalled when the reader took a part, or when the work has ended.
    not_full: Condvar,
    /// Gets a byte for each fetched part.
    notify_tx: PipeWriter,
    stop: Cancel,
}

struct PartQueueState {
    /// The next part that is not claimed.
    next: u64,
    /// The number of parts that the reader has taken.
    taken: u64,
    /// Fetched parts, each at its index modulo the number of slots.
    slots: Vec<Option<Result<Vec<u8>>>>,
    /// Buffers of parts that were returned, for reuse.
    spare: Vec<Vec<u8>>,
}

/// The way in which a resource is received.
#[expect(clippy::large_enum_variant, reason = "it is moved once, into the body")]
pub(crate) enum OpenedResource {
    Threads(Ranges),
    #[cfg(feature = "async")]
    Task(TaskRanges),
    Whole(Raw),
}

/// The response to a first part shows whether the server supports ranges, and the version. If not,
/// the resource is read as one stream.
pub(crate) async fn open(
    url: &str,
    settings: &mut Settings,
    cancel: Option<&Cancel>,
    mode: WaitMode,
) -> Result<OpenedResource> {
    let (connections, part_bytes) = (settings.parallel, settings.part_bytes as u64);
    let (mut client, first, validator) = Raw::client_for(url, settings, cancel, mode)?;
    // Without a pool of the caller, the parts share one of their own.
    client.connections.get_or_insert_default();
    let single = client.clone();
    let until = first.saturating_add(part_bytes);
    let has_version = validator.is_some();
    let version = ResourceVersion { validator, ..ResourceVersion::default() };
    let mut raw = match Raw::part(client, first, until, version).await {
        // The range is not satisfiable: the resource is empty, or must be requested as a whole.
        Err(error) if error.kind() == ErrorKind::Changed && !has_version => {
            return Raw::whole(single, first).await.map(OpenedResource::Whole);
        }
        raw => raw?,
    };
    let version = raw.version().clone();
    match (raw.is_part(), version.size, raw.response().cloned()) {
        (true, Some(size), Some(response)) if version.validator.is_some() && size > until => {
            let plan = RangePlan { version, response, first, size, part_bytes, connections };
            match mode {
                WaitMode::Thread => {
                    Ranges::start(raw, plan, cancel.cloned()).map(OpenedResource::Threads)
                }
                #[cfg(feature = "async")]
                WaitMode::Task => Ok(OpenedResource::Task(TaskRanges::new(raw, plan))),
            }
        }
        (true, Some(_), _) if version.validator.is_some() => {
            raw.unbounded();
            Ok(OpenedResource::Whole(raw))
        }
        // Without a strong ETag, parts of two versions cannot be distinguished.
        (true, ..) => Raw::whole(single, first).await.map(OpenedResource::Whole),
        (false, ..) => {
            raw.unbounded();
            Ok(OpenedResource::Whole(raw))
        }
    }
}

impl Ranges {
    fn start(mut raw: Raw, plan: RangePlan, cancel: Option<Cancel>) -> Result<Ranges> {
        let connections = plan.connections;
        let (shared, notify_rx) = PartQueue::new(plan)?;
        let shared = Arc::new(shared);
        let mut ranges =
            Ranges { shared, threads: Vec::new(), notify_rx, cancel, part: Vec::new(), index: 0 };
        raw.obey(&ranges.shared.stop);
        let client = raw.client().clone();
        // The first thread continues the response that was opened.
        let mut first = Some(raw);
        for _ in 0..connections {
            let (shared, raw, client) = (ranges.shared.clone(), first.take(), client.clone());
            let thread = std::thread::Builder::new().name("range".to_owned()).stack_size(512 << 10);
            let work = move || shared.work(raw, &client);
            ranges.threads.push(thread.spawn(work).map_err(Error::io)?);
        }
        Ok(ranges)
    }

    pub(crate) fn chunk(&self) -> &[u8] {
        &self.part
    }

    pub(crate) fn advance(&mut self) -> Result<bool> {
        let plan = &self.shared.plan;
        if self.index == plan.parts() {
            self.part.clear();
            return Ok(false);
        }
        let old = std::mem::take(&mut self.part);
        self.shared.give_back(old);
        loop {
            // The pipe is drained before the check, so that a part that is stored later makes it
            // readable again.
            let _ = rustix::io::read(&self.notify_rx, &mut [0; 64]);
            if let Some(part) = self.shared.take(self.index) {
                self.part = part.inspect_err(|_| self.shared.end())?;
                self.index += 1;
                return Ok(true);
            }
            let notify_rx = Some(self.notify_rx.as_fd());
            // The threads enforce all other time limits.
            cancel::wait(notify_rx, PollFlags::IN, self.cancel.as_ref(), None)?;
        }
    }

    pub(crate) fn choice(&self) -> Choice {
        self.shared.plan.choice()
    }

    pub(crate) fn version(&self) -> &ResourceVersion {
        &self.shared.plan.version
    }

    pub(crate) fn response(&self) -> &Response {
        &self.shared.plan.response
    }
}

impl Drop for Ranges {
    fn drop(&mut self) {
        self.shared.end();
        for thread in self.threads.drain(..) {
            // A panic was reported as the error of its part.
            let _ = thread.join();
        }
    }
}

impl PartQueue {
    /// No part was fetched. Part 0 is claimed by the response that was opened.
    fn new(plan: RangePlan) -> Result<(PartQueue, PipeReader)> {
        let stop = Cancel::new().map_err(Error::io)?;
        let (notify_rx, notify_tx) = std::io::pipe().map_err(Error::io)?;
        rustix::io::ioctl_fionbio(&notify_rx, true).map_err(Error::io)?;
        rustix::io::ioctl_fionbio(&notify_tx, true).map_err(Error::io)?;
        let slots = (0..plan.connections).map(|_| None).collect();
        let spare = Vec::with_capacity(plan.connections + 1);
        let state = PartQueueState { next: 1, taken: 0, slots, spare };
        Ok((
            PartQueue { plan, state: state.into(), not_full: Condvar::new(), notify_tx, stop },
            notify_rx,
        ))
    }

    fn lock(&self) -> MutexGuard<'_, PartQueueState> {
        // The state is valid even after a panic, because every change is a single statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The body of a thread: fetches parts until there are no more or one fails.
    fn work(&self, mut raw: Option<Raw>, client: &Client) {
        let mut given = raw.is_some().then(|| (0, Vec::new()));
        while let Some((index, mut part)) = given.take().or_else(|| self.claim()) {
            // Without this, a panic would leave the reader waiting for this part.
            let fetch =
                AssertUnwindSafe(|| now(self.plan.fetch(&mut raw, client, index, &mut part)));
            let fetched = catch_unwind(fetch).unwrap_or_else(|_| {
                let text = "the thread that fetched a part has panicked";
                Err(Error::io(std::io::Error::other(text)))
            });
            let failed = fetched.is_err();
            self.put(index, fetched.map(|()| part));
            if failed {
                return;
            }
        }
    }

    /// Claims a part and returns its index and a buffer for it; waits while all slots are in use.
    fn claim(&self) -> Option<(u64, Vec<u8>)> {
        let mut state = self.lock();
        loop {
            if self.stop.is_cancelled() || state.next == self.plan.parts() {
                return None;
            }
            if state.next < state.taken + self.plan.connections as u64 {
                state.next += 1;
                return Some((state.next - 1, state.spare.pop().unwrap_or_default()));
            }
            state = self.not_full.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn slot(&self, index: u64) -> usize {
        (index % self.plan.connections as u64) as usize
    }

    fn put(&self, index: u64, part: Result<Vec<u8>>) {
        let slot = self.slot(index);
        self.lock().slots[slot] = Some(part);
        // The write fails if the pipe is full, and thus readable already, or if the reader is gone.
        let _ = rustix::io::write(&self.notify_tx, &[1]);
    }

    fn take(&self, index: u64) -> Option<Result<Vec<u8>>> {
        let slot = self.slot(index);
        let mut state = self.lock();
        let part = state.slots[slot].take()?;
        state.taken += 1;
        self.not_full.notify_all();
        Some(part)
    }

    fn give_back(&self, part: Vec<u8>) {
        if part.capacity() > 0 {
            self.lock().spare.push(part);
        }
    }

    /// Stops all threads.
    fn end(&self) {
        self.stop.cancel();
        // A thread that is about to wait holds the lock and has checked the flag; taking the lock
        // here orders the two.
        drop(self.lock());
        self.not_full.notify_all();
    }
}

/// The resource and its division into parts.
struct RangePlan {
    version: ResourceVersion,
    /// The answer to the request for the first part.
    response: Response,
    first: u64,
    size: u64,
    part_bytes: u64,
    connections: usize,
}

impl RangePlan {
    fn parts(&self) -> u64 {
        (self.size - self.first).div_ceil(self.part_bytes)
    }

    /// The first byte of a part, and the first byte behind it.
    fn part(&self, index: u64) -> (u64, u64) {
        let start = self.first + index * self.part_bytes;
        (start, self.size.min(start.saturating_add(self.part_bytes)))
    }

    fn choice(&self) -> Choice {
        let RangePlan { part_bytes, connections, size, first, .. } = *self;
        Choice {
            strategy: Strategy::Ranges { part_bytes: part_bytes as usize, connections },
            kind: SourceKind::Http,
            size_bytes: Some(size - first),
            cached: Cached::Unknown,
        }
    }

    /// Receives a part by a connection that may have received others.
    async fn fetch(
        &self,
        raw: &mut Option<Raw>,
        client: &Client,
        index: u64,
        part: &mut Vec<u8>,
    ) -> Result<()> {
        let (start, end) = self.part(index);
        let raw = match raw {
            // The request for part 0 was sent when the stream was opened.
            Some(raw) if index == 0 => raw,
            Some(raw) => {
                raw.go_on_with(start, end).await?;
                raw
            }
            None => {
                let opened = Raw::part(client.clone(), start, end, self.version.clone()).await?;
                raw.insert(opened)
            }
        };
        if *raw.version() != self.version {
            return Err(changed());
        }
        part.clear();
        part.reserve_exact((end - start) as usize);
        while raw.advance().await? {
            part.extend_from_slice(raw.chunk());
        }
        if part.len() as u64 != end - start {
            let text = "a part does not have the requested length";
            return Err(Error::new(ErrorKind::Protocol, text));
        }
        Ok(())
    }
}

/// The parts of a resource, fetched at once by one task and lent in order.
#[cfg(feature = "async")]
mod task {
    use std::collections::VecDeque;
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll};

    use super::super::client::Client;
    use super::super::head::Response;
    use super::super::raw::{Raw, ResourceVersion};
    use super::RangePlan;
    use crate::Result;
    use crate::choice::Choice;

    pub(crate) struct TaskRanges {
        plan: Arc<RangePlan>,
        client: Client,
        /// The parts behind the lent one, in order.
        parts: VecDeque<PartFetch>,
        /// Connections and buffers of parts that were fetched, for the next ones.
        raws: Vec<Raw>,
        spare: Vec<Vec<u8>>,
        /// The part that is lent.
        part: Vec<u8>,
        /// The index of the next part to fetch.
        next: u64,
    }

    type Fetched = Result<(Option<Raw>, Vec<u8>)>;

    #[expect(clippy::large_enum_variant, reason = "there are no more than connections")]
    enum PartFetch {
        Fetching(Pin<Box<dyn Future<Output = Fetched> + Send>>),
        Fetched(Fetched),
    }

    impl PartFetch {
        fn poll(&mut self, context: &mut Context<'_>) {
            if let PartFetch::Fetching(fetch) = self
                && let Poll::Ready(fetched) = fetch.as_mut().poll(context)
            {
                *self = PartFetch::Fetched(fetched);
            }
        }
    }

    impl TaskRanges {
        /// `raw` has requested the first part.
        pub(super) fn new(raw: Raw, plan: RangePlan) -> TaskRanges {
            TaskRanges {
                plan: Arc::new(plan),
                client: raw.client().clone(),
                parts: VecDeque::new(),
                raws: vec![raw],
                spare: Vec::new(),
                part: Vec::new(),
                next: 0,
            }
        }

        pub(crate) fn chunk(&self) -> &[u8] {
            &self.part
        }

        pub(crate) fn choice(&self) -> Choice {
            self.plan.choice()
        }

        pub(crate) fn version(&self) -> &ResourceVersion {
            &self.plan.version
        }

        pub(crate) fn response(&self) -> &Response {
            &self.plan.response
        }

        pub(crate) async fn advance(&mut self) -> Result<bool> {
            self.spare.push(std::mem::take(&mut self.part));
            self.start();
            let Some(fetched) = poll_fn(|context| self.poll_first(context)).await else {
                return Ok(false);
            };
            let (raw, part) = fetched?;
            self.raws.extend(raw);
            self.part = part;
            Ok(true)
        }

        /// Starts to fetch as many parts as there may be connections.
        fn start(&mut self) {
            while self.parts.len() < self.plan.connections && self.next < self.plan.parts() {
                let (plan, client, index) = (self.plan.clone(), self.client.clone(), self.next);
                let mut raw = self.raws.pop();
                let mut part = self.spare.pop().unwrap_or_default();
                self.next += 1;
                self.parts.push_back(PartFetch::Fetching(Box::pin(async move {
                    plan.fetch(&mut raw, &client, index, &mut part).await?;
                    Ok((raw, part))
                })));
            }
        }

        /// Polls all parts until the first one is fetched; `None` if there is none.
        fn poll_first(&mut self, context: &mut Context<'_>) -> Poll<Option<Fetched>> {
            for part in &mut self.parts {
                part.poll(context);
            }
            match self.parts.pop_front() {
                None => Poll::Ready(None),
                Some(PartFetch::Fetched(fetched)) => Poll::Ready(Some(fetched)),
                Some(part) => {
                    self.parts.push_front(part);
                    Poll::Pending
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

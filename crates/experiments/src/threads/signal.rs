//! The two ends of a counting signal: one thread signals, another waits. A method of `handover` is
//! a way to create such a pair, and is measured here; `uncontended` is the same with one thread.
//! The ways are those of the standard library and of tokio, descriptors, and no sleep at all;
//! semaphores have a module of their own.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result, ensure};
use measure::clock;
use measure::experiment::{Build, Method, Task, Work};
use model::param::Point;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use super::placement::{CpuPlacement, KeepAwake};
use crate::shared::window;

/// The end that signals.
pub(super) trait Signal: Send + 'static {
    fn signal(&mut self) -> Result<()>;
}

/// The end that waits for a signal.
pub(super) trait Wait: Send + 'static {
    fn wait(&mut self) -> Result<()>;
}

pub(super) fn handover(name: &str, about: &str, build: Build) -> Method {
    Method::built_in(name, about, build).job("handover").reads(&["job", "placement"])
}

pub(super) fn uncontended(name: &str, about: &str, build: Build) -> Method {
    Method::built_in(name, about, build).job("uncontended").reads(&["job"])
}

/// The minimum number of round trips in a sample, so that the first one, for which the partner must
/// be woken from a long sleep, has little influence.
const ROUND_TRIPS_MIN: u64 = 100;

/// Two threads that alternate; one operation is one hand-over.
struct Handover<G: Signal, T: Wait> {
    signal: G,
    wait: T,
    partner: Option<JoinHandle<Option<Result<()>>>>,
    end: Arc<AtomicBool>,
    /// The signals that the partner took, and those that it should have taken.
    taken: Arc<AtomicU64>,
    given: u64,
    awake: Option<KeepAwake>,
    /// The time of one hand-over in the last sample.
    one_ns: f64,
}

/// Prepares two threads with a signal in each direction.
pub(super) fn between_threads<G: Signal, T: Wait>(
    point: &Point,
    pair: impl Fn() -> Result<(G, T)>,
) -> Result<Box<dyn Task>> {
    let (there, back) = (pair()?, pair()?);
    ping_pong(point, there, back)
}

/// The same if both directions are created together, like those of a socket.
fn ping_pong<G: Signal, T: Wait>(
    point: &Point,
    (signal, mut partner_wait): (G, T),
    (mut partner_signal, wait): (G, T),
) -> Result<Box<dyn Task>> {
    let placement = CpuPlacement::from_point(point)?;
    let end = Arc::new(AtomicBool::new(false));
    let taken = Arc::new(AtomicU64::new(0));
    let (its_end, its_taken) = (Arc::clone(&end), Arc::clone(&taken));
    let partner = placement.partner(move || {
        loop {
            partner_wait.wait()?;
            if its_end.load(Ordering::Acquire) {
                return Ok(());
            }
            its_taken.fetch_add(1, Ordering::Relaxed);
            partner_signal.signal()?;
        }
    })?;
    let awake = placement.keep_awake()?;
    let partner = Some(partner);
    Ok(Box::new(Handover { signal, wait, partner, end, taken, given: 0, awake, one_ns: 0.0 }))
}

impl<G: Signal, T: Wait> Handover<G, T> {
    fn round_trips(&mut self, n: u64) -> Result<()> {
        for _ in 0..n {
            self.signal.signal()?;
            self.wait.wait()?;
        }
        Ok(())
    }
}

impl<G: Signal, T: Wait> Task for Handover<G, T> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let round_trips = ops.div_ceil(2).max(ROUND_TRIPS_MIN);
        if let Some(awake) = &self.awake {
            awake.start();
        }
        let start_ns = clock::now_ns();
        let outcome = self.round_trips(round_trips);
        let ns = clock::now_ns() - start_ns;
        if let Some(awake) = &self.awake {
            awake.rest();
        }
        outcome?;
        self.given += round_trips;
        let (given, taken) = (self.given, self.taken.load(Ordering::Relaxed));
        ensure!(given == taken, "of {given} signals {taken} were taken: it does not wait");
        self.one_ns = ns as f64 / (2 * round_trips) as f64;
        Ok(Work { ops: 2 * round_trips, bytes: 0, answer: None })
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        vec![("handover_ns", self.one_ns)]
    }
}

impl<G: Signal, T: Wait> Drop for Handover<G, T> {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Release);
        if self.signal.signal().is_ok()
            && let Some(partner) = self.partner.take()
        {
            let _ = partner.join();
        }
    }
}

/// One thread that signals itself, so that it never sleeps.
struct SelfSignalling<G, T>(G, T);

/// Prepares one thread with one signal; one operation is one `signal` and one `wait`.
pub(super) fn with_oneself<G: Signal, T: Wait>((signal, wait): (G, T)) -> Result<Box<dyn Task>> {
    window(Box::new(SelfSignalling(signal, wait)))
}

impl<G: Signal, T: Wait> Task for SelfSignalling<G, T> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            self.0.signal()?;
            self.1.wait()?;
        }
        Ok(Work { ops, bytes: 0, answer: None })
    }
}

/// The mutex and the condition variable of the standard library.
pub(super) fn condvar() -> Vec<Method> {
    let about = "std::sync::Mutex and Condvar";
    vec![
        handover("condvar", about, |point| between_threads(point, || Ok(condvar_pair()))),
        uncontended("condvar-alone", about, |_| with_oneself(condvar_pair())),
        uncontended("mutex-alone", "std::sync::Mutex: lock and unlock", |_| {
            window(Box::new(Lock(Mutex::new(0))))
        }),
    ]
}

#[derive(Default)]
struct CondvarCounter {
    signals: Mutex<u64>,
    more: Condvar,
}

fn condvar_pair() -> (Arc<CondvarCounter>, Arc<CondvarCounter>) {
    let counter = Arc::new(CondvarCounter::default());
    (Arc::clone(&counter), counter)
}

impl Signal for Arc<CondvarCounter> {
    fn signal(&mut self) -> Result<()> {
        *self.signals.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.more.notify_one();
        Ok(())
    }
}

impl Wait for Arc<CondvarCounter> {
    fn wait(&mut self) -> Result<()> {
        let signals = self.signals.lock().unwrap_or_else(PoisonError::into_inner);
        let none = |signals: &mut u64| *signals == 0;
        let signals = self.more.wait_while(signals, none);
        *signals.unwrap_or_else(PoisonError::into_inner) -= 1;
        Ok(())
    }
}

struct Lock(Mutex<u64>);

impl Task for Lock {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            // Prevents the compiler from merging the locks of several rounds.
            let lock = std::hint::black_box(&self.0);
            *lock.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        Ok(Work { ops, bytes: 0, answer: None })
    }
}

/// The channel of the standard library.
pub(super) fn channels() -> Vec<Method> {
    let about = "std::sync::mpsc: send and recv";
    vec![
        handover("channel", about, |point| between_threads(point, || Ok(channel()))),
        uncontended("channel-alone", about, |_| with_oneself(channel())),
    ]
}

impl Signal for Sender<()> {
    fn signal(&mut self) -> Result<()> {
        self.send(()).context("the other thread has ended")
    }
}

impl Wait for Receiver<()> {
    fn wait(&mut self) -> Result<()> {
        self.recv().context("the other thread has ended")
    }
}

/// A signal is a write to a descriptor, and waiting is a read from it: eventfd, pipe, sockets.
pub(super) fn descriptors() -> Vec<Method> {
    let mut methods = Vec::new();
    #[cfg(target_os = "linux")]
    methods.extend([
        handover("eventfd", "eventfd: write and read 8 bytes", |point| {
            between_threads(point, event::pair)
        }),
        uncontended("eventfd-alone", "eventfd: write and read 8 bytes", |_| {
            with_oneself(event::pair()?)
        }),
    ]);
    methods.extend([
        handover("pipe", "a byte through a pipe", |point| between_threads(point, pipe)),
        uncontended("pipe-alone", "a byte through a pipe", |_| with_oneself(pipe()?)),
        handover("unix-socket", "a byte through a pair of Unix stream sockets", |point| {
            sockets(point, UnixStream::pair().context("a pair of sockets")?)
        }),
        handover("tcp", "a byte through TCP over the loopback, TCP_NODELAY", |point| {
            sockets(point, tcp().context("a connection over the loopback")?)
        }),
    ]);
    methods
}

/// An end to which a byte is written.
struct ByteSignal<F>(F);

impl<F: Write + Send + 'static> Signal for ByteSignal<F> {
    fn signal(&mut self) -> Result<()> {
        self.0.write_all(&[1]).context("writing a byte")
    }
}

/// An end from which a byte is read.
struct ByteWait<F>(F);

impl<F: Read + Send + 'static> Wait for ByteWait<F> {
    fn wait(&mut self) -> Result<()> {
        self.0.read_exact(&mut [0]).context("reading a byte")
    }
}

fn pipe() -> Result<(ByteSignal<std::io::PipeWriter>, ByteWait<std::io::PipeReader>)> {
    let (reader, writer) = std::io::pipe().context("making a pipe")?;
    Ok((ByteSignal(writer), ByteWait(reader)))
}

/// A socket that can be duplicated, once for each direction.
trait Socket: Read + Write + Send + Sized + 'static {
    fn again(&self) -> std::io::Result<Self>;
}

impl Socket for UnixStream {
    fn again(&self) -> std::io::Result<Self> {
        self.try_clone()
    }
}

impl Socket for TcpStream {
    fn again(&self) -> std::io::Result<Self> {
        self.try_clone()
    }
}

fn sockets<S: Socket>(
    point: &Point,
    (own, other): (S, S),
) -> Result<Box<dyn measure::experiment::Task>> {
    let (own_read, other_read) = (own.again()?, other.again()?);
    ping_pong(
        point,
        (ByteSignal(own), ByteWait(other_read)),
        (ByteSignal(other), ByteWait(own_read)),
    )
}

fn tcp() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let own = TcpStream::connect(listener.local_addr()?)?;
    let (other, _) = listener.accept()?;
    own.set_nodelay(true)?;
    other.set_nodelay(true)?;
    Ok((own, other))
}

#[cfg(target_os = "linux")]
mod event {
    use std::os::fd::OwnedFd;
    use std::sync::Arc;

    use anyhow::{Context, Result};
    use rustix::event::{EventfdFlags, eventfd};
    use rustix::io::{read, retry_on_intr, write};

    use super::{Signal, Wait};

    pub(super) struct Event(Arc<OwnedFd>);

    pub(super) fn pair() -> Result<(Event, Event)> {
        // As a semaphore: a read decrements the counter by one, even if it is larger.
        let fd = eventfd(0, EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC);
        let fd = Arc::new(fd.context("making an eventfd")?);
        Ok((Event(Arc::clone(&fd)), Event(fd)))
    }

    impl Signal for Event {
        fn signal(&mut self) -> Result<()> {
            let one = 1u64.to_ne_bytes();
            retry_on_intr(|| write(&self.0, &one)).map(drop).context("writing to an eventfd")
        }
    }

    impl Wait for Event {
        fn wait(&mut self) -> Result<()> {
            let mut count = [0; 8];
            let read = retry_on_intr(|| read(&self.0, &mut count));
            read.map(drop).context("reading from an eventfd")
        }
    }
}

/// This many polls take a few hundred nanoseconds: longer than a signal needs from CPU to CPU.
const LOOKS: u32 = 100;

/// No sleep: a thread polls a counter until it changes.
pub(super) fn spinning() -> Vec<Method> {
    let about = "looks at a counter, sched_yield after 100 looks";
    vec![
        handover("spin", about, |point| between_threads(point, || Ok(spin_pair()))),
        uncontended("spin-alone", about, |_| with_oneself(spin_pair())),
    ]
}

/// Alone in its two cache lines, as adjacent lines are prefetched in pairs.
#[derive(Default)]
#[repr(align(128))]
struct CacheLine(AtomicU64);

struct SpinSignal(Arc<CacheLine>);

struct SpinWait {
    line: Arc<CacheLine>,
    taken: u64,
}

fn spin_pair() -> (SpinSignal, SpinWait) {
    let line = Arc::new(CacheLine::default());
    (SpinSignal(Arc::clone(&line)), SpinWait { line, taken: 0 })
}

impl Signal for SpinSignal {
    fn signal(&mut self) -> Result<()> {
        self.0.0.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

impl Wait for SpinWait {
    fn wait(&mut self) -> Result<()> {
        let mut looks = 0;
        while self.line.0.load(Ordering::Acquire) == self.taken {
            looks += 1;
            if looks % LOOKS == 0 {
                // The other thread may need this CPU.
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        self.taken += 1;
        Ok(())
    }
}

/// Asynchronous tasks that wake each other, on tokio runtimes of one thread.
pub(super) fn wakeups() -> Vec<Method> {
    let tasks = handover("tokio-tasks", "tokio Notify between two tasks of one thread", |_| {
        Ok(Box::new(TwoTasks::new()?))
    });
    vec![
        handover("tokio-notify", "tokio Notify between the runtimes of two threads", |point| {
            between_threads(point, notify_pair)
        }),
        // No other thread is woken: it shows the cost of the others without the kernel.
        Method { reads: vec!["job"], ..tasks }.as_yardstick(),
    ]
}

struct NotifySignal(Arc<Notify>);

struct NotifyWait {
    runtime: Runtime,
    notify: Arc<Notify>,
}

fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().build().context("starting tokio")
}

fn notify_pair() -> Result<(NotifySignal, NotifyWait)> {
    let notify = Arc::new(Notify::new());
    Ok((NotifySignal(Arc::clone(&notify)), NotifyWait { runtime: runtime()?, notify }))
}

impl Signal for NotifySignal {
    fn signal(&mut self) -> Result<()> {
        self.0.notify_one();
        Ok(())
    }
}

impl Wait for NotifyWait {
    fn wait(&mut self) -> Result<()> {
        self.runtime.block_on(self.notify.notified());
        Ok(())
    }
}

/// One operation is one wake-up; two operations are a round trip.
struct TwoTasks {
    runtime: Runtime,
    there: Arc<Notify>,
    back: Arc<Notify>,
    /// It ends with the runtime.
    _partner: tokio::task::JoinHandle<()>,
}

impl TwoTasks {
    fn new() -> Result<TwoTasks> {
        let runtime = runtime()?;
        let (there, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (its_there, its_back) = (Arc::clone(&there), Arc::clone(&back));
        let partner = runtime.spawn(async move {
            loop {
                its_there.notified().await;
                its_back.notify_one();
            }
        });
        Ok(TwoTasks { runtime, there, back, _partner: partner })
    }
}

impl Task for TwoTasks {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let round_trips = ops.div_ceil(2);
        self.runtime.block_on(async {
            for _ in 0..round_trips {
                self.there.notify_one();
                self.back.notified().await;
            }
        });
        Ok(Work { ops: 2 * round_trips, bytes: 0, answer: None })
    }
}

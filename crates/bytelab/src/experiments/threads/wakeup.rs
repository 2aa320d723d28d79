//! Asynchronous tasks that wake each other, on tokio runtimes of one thread.

use std::sync::Arc;

use anyhow::{Context, Result};
use lab::experiment::{Method, Task, Work};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::signal::{Give, Take, between_threads, handover};

pub(super) fn methods() -> Vec<Method> {
    let tasks = handover("tokio-tasks", "tokio Notify between two tasks of one thread", |_| {
        Ok(Box::new(TwoTasks::new()?))
    });
    vec![
        handover("tokio-notify", "tokio Notify between the runtimes of two threads", |point| {
            between_threads(point, pair)
        }),
        // No other thread is woken: it shows the cost of the others without the kernel.
        Method { reads: vec!["job"], ..tasks }.as_yardstick(),
    ]
}

struct Giver(Arc<Notify>);

struct Taker {
    runtime: Runtime,
    notify: Arc<Notify>,
}

fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().build().context("starting tokio")
}

fn pair() -> Result<(Giver, Taker)> {
    let notify = Arc::new(Notify::new());
    Ok((Giver(Arc::clone(&notify)), Taker { runtime: runtime()?, notify }))
}

impl Give for Giver {
    fn give(&mut self) -> Result<()> {
        self.0.notify_one();
        Ok(())
    }
}

impl Take for Taker {
    fn take(&mut self) -> Result<()> {
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
    _partner: JoinHandle<()>,
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

//! The mutex and the condition variable of the standard library.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use anyhow::Result;
use lab::experiment::{Method, Task, Work};

use crate::experiments::shared::window::window;

use super::signal::{Give, Take, between_threads, handover, uncontended, with_oneself};

pub(super) fn methods() -> Vec<Method> {
    let about = "std::sync::Mutex and Condvar";
    vec![
        handover("condvar", about, |point| between_threads(point, || Ok(pair()))),
        uncontended("condvar-alone", about, |_| with_oneself(pair())),
        uncontended("mutex-alone", "std::sync::Mutex: lock and unlock", |_| {
            window(Box::new(Lock(Mutex::new(0))))
        }),
    ]
}

#[derive(Default)]
struct Counter {
    signals: Mutex<u64>,
    more: Condvar,
}

fn pair() -> (Arc<Counter>, Arc<Counter>) {
    let counter = Arc::new(Counter::default());
    (Arc::clone(&counter), counter)
}

impl Give for Arc<Counter> {
    fn give(&mut self) -> Result<()> {
        *self.signals.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.more.notify_one();
        Ok(())
    }
}

impl Take for Arc<Counter> {
    fn take(&mut self) -> Result<()> {
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

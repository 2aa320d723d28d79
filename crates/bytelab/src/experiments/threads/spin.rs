//! No sleep: a thread polls a counter until it changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use lab::experiment::Method;

use super::signal::{Give, Take, between_threads, handover, uncontended, with_oneself};

/// This many polls take a few hundred nanoseconds: longer than a signal needs from CPU to CPU.
const LOOKS: u32 = 100;

pub(super) fn methods() -> Vec<Method> {
    let about = "looks at a counter, sched_yield after 100 looks";
    vec![
        handover("spin", about, |point| between_threads(point, || Ok(pair()))),
        uncontended("spin-alone", about, |_| with_oneself(pair())),
    ]
}

/// Alone in its two cache lines, as adjacent lines are prefetched in pairs.
#[derive(Default)]
#[repr(align(128))]
struct CacheLine(AtomicU64);

struct Giver(Arc<CacheLine>);

struct Taker {
    line: Arc<CacheLine>,
    taken: u64,
}

fn pair() -> (Giver, Taker) {
    let line = Arc::new(CacheLine::default());
    (Giver(Arc::clone(&line)), Taker { line, taken: 0 })
}

impl Give for Giver {
    fn give(&mut self) -> Result<()> {
        self.0.0.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

impl Take for Taker {
    fn take(&mut self) -> Result<()> {
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

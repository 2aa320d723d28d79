//! The latency of memory while other CPUs use its bandwidth: random dependent loads on one CPU, and
//! readers with pauses on all others.

use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use lab::clock::now_ns;
use lab::experiment::{Method, Task, Work, skip};
use lab::param::{Kind, Param, Point};

use super::caches;
use super::chain::{Chain, Order};
use super::kernel::{Kernel, Read};
use super::pages::Pages;
use crate::experiments::shared::cpus::{allowed, pin, start_on};

pub(super) const PAUSE: Param = Param::new("pause", Kind::Count(0, 1_000_000), "0,100,1000,10000")
    .help("how long the readers pause after each 4 KiB, in turns of an empty loop (loaded)");

pub(super) fn methods() -> Vec<Method> {
    let about = "a random chase while all other CPUs read";
    let loaded = Method::built_in("under-load", about, build);
    vec![loaded.job("loaded").reads(&["job", "pages", "pause"])]
}

struct Loaded {
    chain: Chain,
    shared: Arc<ReaderState>,
    readers: Vec<JoinHandle<Option<()>>>,
    load_bytes_per_s: f64,
}

#[derive(Default)]
struct ReaderState {
    running: AtomicBool,
    ended: AtomicBool,
    /// The bytes read, in units of 4 KiB.
    read: AtomicU64,
}

const BLOCK: usize = 1024;

fn build(point: &Point) -> Result<Box<dyn Task>> {
    let mut cpus = allowed()?;
    let own = cpus.pop().filter(|_| !cpus.is_empty());
    let own = own.ok_or_else(|| skip("needs two CPUs, and this process may use one only"))?;
    pin(own)?;
    let size = (4 * caches::last_bytes()).clamp(64 << 20, 256 << 20);
    let pages = Pages::new(size, point.text("pages")?)?;
    let lines = pages.len() / 128;
    let mut chain = Chain::new(pages, lines, |i| 128 * i, Order::Random)?;
    chain.find_loads();
    let shared = Arc::new(ReaderState::default());
    let pause = point.number("pause")?;
    let mut loaded = Loaded { chain, shared, readers: Vec::new(), load_bytes_per_s: 0.0 };
    for cpu in cpus {
        let mut pages = Pages::new(size / 2, point.text("pages")?)?;
        let shared = Arc::clone(&loaded.shared);
        loaded.readers.push(start_on(Some(cpu), move || reader(&shared, &mut pages, pause))?);
    }
    Ok(Box::new(loaded))
}

fn reader(shared: &ReaderState, pages: &mut Pages, pause: u64) {
    loop {
        for block in pages.elements_mut().chunks_mut(BLOCK) {
            while !shared.running.load(Acquire) {
                if shared.ended.load(Acquire) {
                    return;
                }
                std::thread::park();
            }
            black_box(Read::pass(block, &mut []));
            shared.read.fetch_add(1, Relaxed);
            (0..pause).for_each(|_| spin_loop());
        }
    }
}

impl Task for Loaded {
    fn before(&mut self) -> Result<()> {
        self.shared.running.store(true, Release);
        for reader in &self.readers {
            reader.thread().unpark();
        }
        // The load must be active before the timing begins: wait until all readers have certainly
        // read.
        let enough = self.shared.read.load(Relaxed) + 64 * self.readers.len() as u64;
        while self.shared.read.load(Relaxed) < enough {
            std::thread::yield_now();
            if self.readers.iter().any(JoinHandle::is_finished) {
                return Err(anyhow::anyhow!("a reader has ended"));
            }
        }
        Ok(())
    }

    fn run(&mut self, ops: u64) -> Result<Work> {
        let (start_ns, before) = (now_ns(), self.shared.read.load(Relaxed));
        let ops = self.chain.walk(ops.max(self.chain.loads));
        let blocks = self.shared.read.load(Relaxed) - before;
        let wall_ns = (now_ns() - start_ns).max(1);
        self.load_bytes_per_s = (4 * BLOCK as u64 * blocks) as f64 * 1e9 / wall_ns as f64;
        Ok(Work { ops, bytes: 0, answer: None })
    }

    fn between(&mut self) -> Result<()> {
        self.shared.running.store(false, Release);
        Ok(())
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        vec![("load_bytes_per_s", self.load_bytes_per_s)]
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.shared.ended.store(true, Release);
        self.shared.running.store(false, Release);
        for reader in self.readers.drain(..) {
            reader.thread().unpark();
            let _ = reader.join().ok().context("a reader ended wrongly");
        }
    }
}

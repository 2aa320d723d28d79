//! The latency of dependent loads: by the size of the set, the kind of its pages, and the order of
//! its lines.

use anyhow::Result;
use lab::experiment::{Build, Method, Task, Work};
use lab::param::Point;

use super::caches;
use super::chain::{Chain, Order};
use super::pages::Pages;

/// More than the distance that line prefetchers cover, and not a multiple of a page.
const STRIDE_LINES: usize = 67;

pub(super) fn methods() -> Vec<Method> {
    let latency = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build).job("latency").reads(&["job", "size", "pages"])
    };
    vec![
        latency("random", "each load leads to another line, in random order", |point| {
            chase(point, Order::Random)
        }),
        latency("sequential", "each load leads to the next line", |point| {
            chase(point, Order::Sequential)
        }),
        latency("strided", "each load leads 67 lines further", |point| {
            chase(point, Order::Strided(STRIDE_LINES))
        }),
    ]
}

/// Without it, 256 MiB in huge pages took half as long again after other processes ran. The cause
/// was not examined; a page walk at the first load of each page would explain it.
const WALK: u64 = 1 << 15;

struct Chase {
    chain: Chain,
    warm: Warm,
}

/// How a set is brought back into the caches after other processes have run.
enum Warm {
    /// It fits into the caches of the core: the cycle is walked twice.
    Rounds,
    /// It fits, or nearly fits, into the last-level cache: its lines are read in order.
    Sweep,
    /// It does not fit, but its page tables and TLB entries do.
    Walk,
}

fn chase(point: &Point, order: Order) -> Result<Box<dyn Task>> {
    let size = point.number("size")?;
    let line = caches::line_bytes() as usize;
    let pages = Pages::new(size, point.text("pages")?)?;
    let lines = pages.len() / line;
    let place = if line == 128 { |i| i * 128 } else { |i| i * 64 };
    let chain = Chain::new(pages, lines.max(1), place, order)?;
    let mut chase = Chase { chain, warm: Warm::from_size(size) };
    chase.before()?;
    chase.chain.find_loads();
    Ok(Box::new(chase))
}

impl Warm {
    fn from_size(size: u64) -> Warm {
        match size {
            size if size <= 1 << 20 => Warm::Rounds,
            size if size <= caches::last_bytes() * 3 / 2 => Warm::Sweep,
            _ => Warm::Walk,
        }
    }
}

impl Task for Chase {
    fn before(&mut self) -> Result<()> {
        match self.warm {
            Warm::Rounds => self.chain.rounds(),
            Warm::Sweep => self.chain.pages.sweep(),
            Warm::Walk => _ = self.chain.walk(WALK),
        }
        Ok(())
    }

    fn run(&mut self, ops: u64) -> Result<Work> {
        let ops = self.chain.walk(ops.max(self.chain.loads));
        Ok(Work { ops, bytes: 0, answer: None })
    }
}

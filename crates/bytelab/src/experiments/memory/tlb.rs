//! The reach of the TLB: the same number of lines, one in each page, or adjacent. If the first case
//! takes longer, the caches are not the reason.

use anyhow::Result;
use lab::experiment::{Build, Method, Task, Work};
use lab::param::Point;

use super::chain::{Chain, Order};
use super::pages::Pages;

const PAGE: usize = 4096;
const LINE: usize = 64;

pub(super) fn methods() -> Vec<Method> {
    let tlb = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build).job("tlb").reads(&["job", "span", "pages"])
    };
    vec![
        tlb("packed", "as many lines as the span has pages of 4 KiB, side by side", |point| {
            chase(point, |i| i * LINE)
        }),
        tlb("spread", "the same number of lines, one in each page", |point| {
            // Not at the same offset in each page: such lines would share a few cache sets.
            chase(point, |i| i * PAGE + i % (PAGE / LINE) * LINE)
        }),
    ]
}

struct Pair(Chain);

fn chase(point: &Point, place: fn(usize) -> usize) -> Result<Box<dyn Task>> {
    let pages = Pages::new(point.number("span")?, point.text("pages")?)?;
    let lines = pages.len() / PAGE;
    let mut chain = Chain::new(pages, lines.max(1), place, Order::Random)?;
    chain.rounds();
    chain.find_loads();
    Ok(Box::new(Pair(chain)))
}

impl Task for Pair {
    fn before(&mut self) -> Result<()> {
        self.0.rounds();
        Ok(())
    }

    fn run(&mut self, ops: u64) -> Result<Work> {
        Ok(Work { ops: self.0.walk(ops.max(self.0.loads)), bytes: 0, answer: None })
    }
}

//! A test that does not show the caches: an XOR over an array of growing size. The next addresses
//! are predictable, so the prefetchers load the data during the computation.

use std::hint::black_box;

use anyhow::Result;
use lab::clock::now_ns;
use lab::experiment::{Method, Task, Work};
use lab::param::Point;

use super::chain::WINDOW_NS;
use super::pages::Pages;

pub(super) fn methods() -> Vec<Method> {
    let xor = Method::built_in("xor", "x ^= p[i], per element of 4 bytes", build);
    vec![xor.job("naive").reads(&["job", "size", "pages"])]
}

struct Xor {
    pages: Pages,
    passes: u64,
}

fn build(point: &Point) -> Result<Box<dyn Task>> {
    let mut pages = Pages::new(point.number("size")?, point.text("pages")?)?;
    let mut shortest_ns = u64::MAX;
    for _ in 0..3 {
        let start_ns = now_ns();
        pass(&mut pages);
        shortest_ns = shortest_ns.min(now_ns() - start_ns);
    }
    Ok(Box::new(Xor { pages, passes: WINDOW_NS.div_ceil(shortest_ns.max(1)) }))
}

/// Returns the number of elements.
fn pass(pages: &mut Pages) -> u64 {
    let elements = black_box(pages.elements_mut());
    let mut sum = 0;
    for element in &*elements {
        // As in the original: one element after the other, without vectors.
        sum = black_box(sum ^ element);
    }
    elements.len() as u64
}

impl Task for Xor {
    fn before(&mut self) -> Result<()> {
        pass(&mut self.pages);
        Ok(())
    }

    fn run(&mut self, ops: u64) -> Result<Work> {
        let elements = self.pages.len() as u64 / 4;
        let passes = self.passes.max(ops.div_ceil(elements.max(1)));
        let ops = (0..passes).map(|_| pass(&mut self.pages)).sum();
        Ok(Work { ops, bytes: 4 * ops, answer: None })
    }
}

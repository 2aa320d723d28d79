//! The ways to iterate over a chunk byte by byte, each written in the usual form. The compiler
//! vectorizes some of them: that is part of the result.

use lab::experiment::Method;

use super::fold::Fold;
use super::read::{Style, build};
use super::source::contender;

pub(super) fn methods() -> Vec<Method> {
    let style = |name, about, build| contender(name, about, &["buffer"], build);
    vec![
        style("read-index", "read, then chunk[i]", build::<Index>),
        style("read-for", "read, then `for byte in chunk`", build::<For>),
        style("read-fold", "read, then chunk.iter().fold", build::<IteratorFold>),
        style("read-for-each", "read, then chunk.iter().for_each", build::<ForEach>),
        style("read-chunks", "read, then `for` in each of chunk.chunks(16)", build::<Chunks>),
    ]
}

struct Index;

impl Style for Index {
    #[expect(clippy::needless_range_loop, reason = "the indexed loop is what is measured")]
    fn hand_over<F: Fold>(chunk: &[u8], fold: &mut F) {
        for i in 0..chunk.len() {
            fold.byte(chunk[i]);
        }
    }
}

struct For;

impl Style for For {
    fn hand_over<F: Fold>(chunk: &[u8], fold: &mut F) {
        for byte in chunk {
            fold.byte(*byte);
        }
    }
}

struct IteratorFold;

impl Style for IteratorFold {
    fn hand_over<F: Fold>(chunk: &[u8], fold: &mut F) {
        chunk.iter().fold(fold, |fold, byte| {
            fold.byte(*byte);
            fold
        });
    }
}

struct ForEach;

impl Style for ForEach {
    #[expect(clippy::needless_for_each, reason = "for_each is what is measured")]
    fn hand_over<F: Fold>(chunk: &[u8], fold: &mut F) {
        chunk.iter().for_each(|byte| fold.byte(*byte));
    }
}

struct Chunks;

impl Style for Chunks {
    fn hand_over<F: Fold>(chunk: &[u8], fold: &mut F) {
        for part in chunk.chunks(16) {
            for byte in part {
                fold.byte(*byte);
            }
        }
    }
}

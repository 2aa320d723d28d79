//! The indexed loop without bounds checks.

#![expect(unsafe_code, reason = "unchecked indexing is what is measured")]

use lab::experiment::Method;

use super::fold::Fold;
use super::read::{Style, build};
use super::source::contender;

pub(super) fn method() -> Method {
    let about = "read, then chunk.get_unchecked(i)";
    contender("read-unchecked", about, &["buffer"], build::<Unchecked>)
}

struct Unchecked;

impl Style for Unchecked {
    fn hand_over<F: Fold>(chunk: &[u8], fold: &mut F) {
        for i in 0..chunk.len() {
            // SAFETY: i is less than the length.
            let byte = unsafe { chunk.get_unchecked(i) };
            fold.byte(*byte);
        }
    }
}

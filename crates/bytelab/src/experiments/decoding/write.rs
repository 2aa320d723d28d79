//! What the generated documents are written with.

use std::fmt::Write;

pub(super) fn list(out: &mut String, count: usize, mut item: impl FnMut(&mut String, usize)) {
    out.push('[');
    for index in 0..count {
        if index > 0 {
            out.push(',');
        }
        item(out, index);
    }
    out.push(']');
}

pub(super) fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes all");
}

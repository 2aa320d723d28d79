//! What an operation of the processor itself takes, beside which a load is fast or slow: a chain in
//! which each operation needs the result of the one before.
#![expect(unsafe_code, reason = "an empty assembly hides a sum from the optimiser, at no cost")]

use std::hint::black_box;

use anyhow::Result;
use lab::experiment::{Method, Task, Work};
use lab::param::{Kind, Param, Point};

/// How many operations fill about one window.
const STEPS: u64 = 200_000;

pub(super) const NUMBER: Param =
    Param::new("number", Kind::Word(&["integer", "double"]), "integer,double")
        .help("the kind of number, of 64 bits (arithmetic)");

pub(super) fn methods() -> Vec<Method> {
    let of = |name: &str, build: lab::experiment::Build| {
        let about = format!("{name} two numbers, the first of which is the result before");
        let method = Method::built_in(name, about, build);
        method.job("arithmetic").reads(&["job", "number"])
    };
    vec![
        of("add", |point| build(point, Operation::Add)),
        of("multiply", |point| build(point, Operation::Multiply)),
        of("divide", |point| build(point, Operation::Divide)),
    ]
}

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Multiply,
    Divide,
}

/// A loop of this many operations of one kind.
type Chain = fn(u64) -> u64;

struct Arithmetic(Chain);

fn build(point: &Point, operation: Operation) -> Result<Box<dyn Task>> {
    use Operation::{Add, Divide, Multiply};
    let chain: Chain = match (point.text("number")?, operation) {
        ("double", Add) => |steps| doubles(steps, |x, by| x + by),
        ("double", Multiply) => |steps| doubles(steps, |x, by| x * by),
        ("double", Divide) => |steps| doubles(steps, |x, by| by / x),
        (_, Add) => |steps| integers(steps, u64::wrapping_add),
        (_, Multiply) => |steps| integers(steps, u64::wrapping_mul),
        (_, Divide) => |steps| integers(steps, |x, by| by / x.max(1)),
    };
    Ok(Box::new(Arithmetic(chain)))
}

/// The operand is large, and odd: a quotient of it is large as well, and no product becomes 0.
#[inline]
fn integers(steps: u64, operation: impl Fn(u64, u64) -> u64) -> u64 {
    let by = black_box(0x7fff_ffff_ffff);
    let mut x = black_box(11_863_283);
    for _ in 0..steps {
        x = hidden(operation(x, by));
    }
    x
}

/// The same value, of which the optimiser knows nothing: it would make one multiplication of many
/// additions.
#[inline]
fn hidden(mut x: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: it has no instruction.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) x, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        x = black_box(x);
    }
    x
}

/// Operations of doubles are done one after the other without help: another order rounds otherwise.
#[inline]
fn doubles(steps: u64, operation: impl Fn(f64, f64) -> f64) -> u64 {
    let by = black_box(1.000_000_01);
    let mut x = black_box(1.7);
    for _ in 0..steps {
        x = operation(x, by);
    }
    x.to_bits()
}

impl Task for Arithmetic {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let ops = ops.max(STEPS);
        black_box((self.0)(ops));
        Ok(Work { ops, bytes: 0, answer: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_needs_each_result() {
        let by: u64 = 0x7fff_ffff_ffff;
        let sum = 11_863_283 + 3 * by;
        assert_eq!(integers(3, u64::wrapping_add), sum);
        assert_eq!(integers(2, u64::wrapping_mul), by.wrapping_mul(by).wrapping_mul(11_863_283));
        let quotient = by / 11_863_283;
        assert_eq!(integers(2, |x, by| by / x), by / quotient);
        // A chain of doubles neither overflows nor ends at 0.
        for operation in [|x: f64, by: f64| x + by, |x, by| x * by, |x, by| by / x] {
            let last = f64::from_bits(doubles(1_000_000, operation));
            assert!(last.is_normal() && last > 0.5, "{last}");
        }
    }
}

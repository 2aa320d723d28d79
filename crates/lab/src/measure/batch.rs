//! The number of operations per sample.

/// The number of operations that a method needs for a sample that is long enough for the clock.
pub(super) struct Batch {
    pub(super) cell: usize,
    pub(super) point: usize,
    pub(super) ops: u64,
    pub(super) op_ns: u64,
    pub(super) yardstick: bool,
}

/// The number of operations per sample of each method. The contenders of a point that must be
/// batched have the same number, so that the fixed cost of a sample has the same weight for all;
/// the number is limited so that no sample becomes long. An operation that is long enough is a
/// sample of its own, so that its percentiles are those of operations and not of means.
pub(super) fn shared_ops(batches: &[Batch]) -> Vec<u64> {
    let most = |point: usize| {
        let contenders = batches.iter().filter(|batch| batch.point == point && !batch.yardstick);
        contenders.map(|batch| batch.ops).max().unwrap_or(1)
    };
    let shared = |batch: &Batch| {
        if batch.ops == 1 {
            return 1;
        }
        let bearable = (LONG_NS / batch.op_ns.max(1)).max(batch.ops);
        most(batch.point).max(batch.ops).min(bearable)
    };
    batches.iter().map(shared).collect()
}

/// Operations are batched until a sample is this many times the step of the clock.
pub(super) const STEPS_PER_SAMPLE: u64 = 1000;
/// A sample that takes longer holds no more operations than necessary.
pub(super) const LONG_NS: u64 = 10_000_000;

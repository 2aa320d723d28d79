//! What a schedule knows of each cell: what was found of it once, and in which rounds and warm-ups
//! it takes part.

/// A cell takes one sample per session if its samples take more than 1/`SLOW_PART` of the time
/// limit and more than `SLOW_TIMES` times the median of all cells.
const SLOW_PART: u64 = 30;
const SLOW_TIMES: u64 = 10;

/// The cells of a run.
#[derive(Default)]
pub(crate) struct Roster {
    /// The number of operations per sample: determined once, so that all samples are equal.
    pub(crate) ops: Vec<Option<u64>>,
    /// Whether one of its processes has provided its digest.
    pub(crate) digests: Vec<bool>,
    /// Whether it has left: it takes part in no later session.
    left: Vec<bool>,
    /// Once known, how long a sample takes, and whether the cell takes part in only one round per
    /// session.
    pub(super) samples_ns: Vec<u64>,
    pub(super) slow: Vec<bool>,
    /// Whether later sessions skip its warm-up.
    skips_warm_up: Vec<bool>,
    /// Whether every sample is a process of its own: the cell is then started and warmed up only
    /// once.
    pub(super) process_per_sample: Vec<bool>,
}

impl Roster {
    pub(super) fn new(process_per_sample: Vec<bool>) -> Roster {
        let n = process_per_sample.len();
        Roster {
            ops: vec![None; n],
            digests: vec![false; n],
            left: vec![false; n],
            skips_warm_up: vec![false; n],
            process_per_sample,
            ..Roster::default()
        }
    }

    pub(crate) fn is_process_per_sample(&self, cell: usize) -> bool {
        is_set(&self.process_per_sample, cell)
    }

    pub(crate) fn all_process_per_sample(&self) -> bool {
        self.process_per_sample.iter().all(|is_one| *is_one)
    }

    pub(super) fn is_slow(&self, cell: usize) -> bool {
        is_set(&self.slow, cell)
    }

    /// By cell, whether it has left.
    pub(crate) fn left(&self) -> &[bool] {
        &self.left
    }

    pub(crate) fn has_left(&self, cell: usize) -> bool {
        is_set(&self.left, cell)
    }

    /// Records how long the samples of each cell take, and which cells belong to the reference.
    pub(super) fn learn(&mut self, samples_ns: &[u64], reference: &[bool], limit_ns: u64) {
        self.slow = slow(samples_ns, reference, limit_ns);
        self.samples_ns = samples_ns.to_vec();
    }

    /// These cells take part in no later session. A cell that has left does not return.
    pub(crate) fn leave(&mut self, leaves: &[bool]) {
        set(&mut self.left, leaves);
    }

    /// Later sessions skip the warm-ups of these cells, so that more sessions fit into the time.
    pub(crate) fn skip_warm_ups(&mut self, skips_warm_up: &[bool]) {
        set(&mut self.skips_warm_up, skips_warm_up);
    }

    /// Whether sessions after the first warm the cell up.
    pub(super) fn is_warmed_up_again(&self, cell: usize) -> bool {
        !self.is_process_per_sample(cell) && !is_set(&self.skips_warm_up, cell)
    }

    /// The total sample time of the slow cells that have not left.
    pub(super) fn slow_ns(&self) -> u64 {
        let of_cell =
            |(cell, ns): (usize, &u64)| (self.is_slow(cell) && !self.has_left(cell)).then_some(*ns);
        self.samples_ns.iter().enumerate().filter_map(of_cell).sum()
    }

    /// The cost of a warm-up round of a session after the first, as a fraction of a round of all
    /// cells that take part in all rounds.
    pub(super) fn warm_share(&self) -> f64 {
        let (mut all_ns, mut warmed_ns) = (0, 0);
        for (cell, ns) in self.samples_ns.iter().enumerate() {
            if !self.has_left(cell) && !self.is_slow(cell) {
                all_ns += ns;
                warmed_ns += if self.is_warmed_up_again(cell) { *ns } else { 0 };
            }
        }
        match all_ns {
            0 if self.all_process_per_sample() => 0.0,
            0 => 1.0,
            _ => warmed_ns as f64 / all_ns as f64,
        }
    }
}

/// Whether the flag of the cell is set; one that is not known yet is not.
fn is_set(flags: &[bool], cell: usize) -> bool {
    flags.get(cell).is_some_and(|is_set| *is_set)
}

/// Sets the flags of these cells, and keeps those of the others.
fn set(flags: &mut [bool], cells: &[bool]) {
    for (flag, is_set) in flags.iter_mut().zip(cells) {
        *flag |= is_set;
    }
}

/// By cell, whether it is slow: the slow cells share the time of the run with the others and must
/// not use all of it. The reference, with which all others are compared, is never slow.
pub(crate) fn slow(samples_ns: &[u64], reference: &[bool], limit_ns: u64) -> Vec<bool> {
    let mut sorted: Vec<u64> = samples_ns.iter().copied().filter(|ns| *ns > 0).collect();
    sorted.sort_unstable();
    let median_ns = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let bearable_ns = (limit_ns / SLOW_PART).max(median_ns.saturating_mul(SLOW_TIMES)).max(1);
    let is_slow = |(ns, is_reference): (&u64, &bool)| !is_reference && *ns > bearable_ns;
    samples_ns.iter().zip(reference).map(is_slow).collect()
}

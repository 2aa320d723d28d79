//! The profile of a run (`--why`): what its methods did in jobs of their own, which are no samples.

use serde::{Deserialize, Serialize};

/// The jobs of several methods, taken in rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// CPU time between two samples of a thread.
    pub period_ns: u64,
    /// Whether there are samples in the kernel.
    pub has_kernel: bool,
    /// How long it took.
    pub took_ns: u64,
    /// Records that did not fit into the rings.
    pub lost: u64,
    /// Where perf events are not permitted, the functions are system calls, which are traced: how
    /// many times as long as an untraced job such a job takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced_slowdown: Option<f64>,
    /// The functions that the rest names by their index.
    pub names: Vec<String>,
    pub cells: Vec<CellProfile>,
}

/// The jobs of one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellProfile {
    /// The index of the cell in the run.
    pub cell: usize,
    /// In the order of the rounds.
    pub jobs: Vec<ProfiledJob>,
    /// The means over all jobs, the longest first; not those of less than a thousandth.
    pub stacks: Vec<FoldedStack>,
}

/// The time of a job in each function itself, without what it calls, in ns per operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfiledJob {
    pub wall_ns: f64,
    pub self_ns: Vec<(u32, f64)>,
}

/// A call chain, the outermost function first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoldedStack {
    pub frames: Vec<u32>,
    /// Per operation.
    pub ns: f64,
}

/// The beginning of the name of what no function does: the time in which no thread of the job was
/// on a CPU.
pub const BLOCKED: &str = "blocked";

/// The end of the name of a function of the kernel.
pub const KERNEL: &str = " [kernel]";

/// What functions that take too little to be stored take together.
pub const OTHERS: &str = "[all other functions]";

impl Profile {
    /// The function of this index.
    pub fn name(&self, index: u32) -> &str {
        self.names.get(index as usize).map_or("?", String::as_str)
    }

    pub fn of_cell(&self, cell: usize) -> Option<&CellProfile> {
        self.cells.iter().find(|profile| profile.cell == cell)
    }
}

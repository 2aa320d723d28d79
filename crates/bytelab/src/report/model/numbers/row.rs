//! The content of a cell of `numbers`: the percentiles of its row, and how reliable they are.

use lab::analyze::latency::{Figures, MachineLoad, figures};
use lab::run::{Cell, Run};

use crate::numbers::{Row, row};

/// One measured row of the table. All values are in ns.
pub(crate) struct Number {
    pub(crate) row: &'static Row,
    pub(crate) figures: Result<Figures, String>,
    /// The size that was used, if it depends on the machine.
    pub(crate) size_bytes: Option<f64>,
}

/// The rows of a run, in its order.
pub(crate) fn numbers(run: &Run) -> Vec<Number> {
    let load = MachineLoad::from_run(run);
    run.cells.iter().filter_map(|cell| number(cell, &load)).collect()
}

fn number(cell: &Cell, load: &MachineLoad) -> Option<Number> {
    let row = row(cell.point.text("row").ok()?)?;
    let figures = match &cell.status {
        status if !cell.has_figures() => {
            Err(format!("{}: {}", status.word(), status.reason().unwrap_or_default()))
        }
        _ => figures(cell, row.quantity, load).ok_or_else(|| "no sample that counts".to_owned()),
    };
    let size_bytes = cell.counted("size_bytes").map(|(_, bytes)| bytes).next();
    Some(Number { row, figures, size_bytes })
}

//! Converts findings in cells to warnings.

use crate::run::{Cells, Run, Warning, WarningKind};

/// Cells with what was found in each.
pub(super) type Findings = Vec<(usize, String)>;

/// Up to this number of cells, there is a warning for each.
const SINGLE_MAX: usize = 3;

/// One warning per cell, or a single one if there are many cells.
pub(super) fn warn(
    run: &Run,
    kind: &WarningKind,
    advice: &str,
    findings: Findings,
    warnings: &mut Vec<Warning>,
) {
    let new = |detail| Warning { advice: advice.to_owned(), ..Warning::new(kind.clone(), detail) };
    if findings.len() > SINGLE_MAX {
        let mut methods: Vec<String> = Vec::new();
        for (cell, _) in &findings {
            let name = &run.cells[*cell].method;
            if !methods.contains(name) {
                methods.push(name.clone());
            }
        }
        let cells = Some(Cells { n: findings.len(), methods });
        warnings.push(Warning { cells, ..new(String::new()) });
        return;
    }
    for (index, detail) in findings {
        let cell = &run.cells[index];
        let several = run.cells.iter().filter(|other| other.method == cell.method).count() > 1;
        let point = several.then(|| cell.point.clone());
        warnings.push(Warning { point, ..new(detail).of_method(&cell.method) });
    }
}

pub(super) fn percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", 100.0 * share) } else { format!("{:.0} %", 100.0 * share) }
}

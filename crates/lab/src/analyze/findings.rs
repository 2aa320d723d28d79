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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::tests::{cell, point, run};

    #[test]
    fn a_point_is_shown_where_the_method_has_several() {
        let mut run = run(["a", "a", "b"].map(|name| cell(name, [])).to_vec());
        run.cells[1].point = point(&[("size", 1)]);
        let found = |cells: &[usize]| {
            let findings = cells.iter().map(|cell| (*cell, "slow".to_owned())).collect();
            let mut warnings = Vec::new();
            warn(&run, &WarningKind::Drift, "", findings, &mut warnings);
            let of = |found: Warning| (found.method.unwrap(), found.point, found.detail);
            warnings.into_iter().map(of).collect::<Vec<_>>()
        };
        let expected = |method: &str, point| (method.to_owned(), point, "slow".to_owned());
        let at = Some(point(&[("size", 1)]));
        assert_eq!(found(&[1, 2]), [expected("a", at), expected("b", None)]);
    }

    #[test]
    fn a_share_has_two_digits() {
        let shares = [0.004, 0.012, 0.0999, 0.1, 0.25].map(percent);
        assert_eq!(shares, ["0.4 %", "1.2 %", "10.0 %", "10 %", "25 %"]);
    }
}

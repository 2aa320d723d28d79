//! Compares the methods of each point in the metrics that they report themselves. Whether more or
//! less of these is better is not known, so that the verdict says only which it is.

use std::collections::BTreeSet;

use super::compare::Pair;
use super::{ALPHA, Change, Family, OwnComparison, Verdict};
use crate::metric::is_known;
use crate::run::{Cell, Run};

/// By point, metric and method.
pub(super) fn compare_all(run: &Run, families: &[Family]) -> Vec<OwnComparison> {
    let mut all = Vec::new();
    let mut known = BTreeSet::new();
    for family in families {
        let Some(reference) = family.reference else { continue };
        let cells: Vec<usize> =
            family.compared.iter().copied().filter(|cell| *cell != reference).collect();
        for metric in own_metrics(&run.cells[reference]) {
            let has_it = |cell: &&usize| run.cells[**cell].counted(metric).next().is_some();
            let having: Vec<usize> = cells.iter().filter(has_it).copied().collect();
            let alpha = ALPHA / having.len().max(1) as f64;
            for cell in having {
                // A pair that is in several families is compared in the first of them.
                if known.insert((metric, cell, reference)) {
                    let pair = Pair { run, point: &family.point, cell, reference, alpha };
                    all.push(compare(&pair, metric));
                }
            }
        }
    }
    all
}

fn own_metrics(cell: &Cell) -> impl Iterator<Item = &str> {
    let own = cell.values.keys().map(String::as_str).filter(|name| !is_known(name));
    own.filter(|name| cell.counted(name).next().is_some())
}

fn compare(pair: &Pair<'_>, metric: &str) -> OwnComparison {
    let found = pair.compare(metric);
    OwnComparison {
        change: match found.verdict {
            Verdict::Faster => Change::Less,
            Verdict::Slower => Change::More,
            Verdict::Same => Change::Same,
            _ => Change::Undecided,
        },
        method: found.method,
        reference: found.reference,
        point: found.point,
        metric: found.metric,
        sessions: found.sessions,
        ratio: found.ratio,
        low: found.low,
        high: found.high,
        level: found.level,
        reason: found.reason,
    }
}

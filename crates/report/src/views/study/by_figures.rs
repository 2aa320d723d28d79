//! The verdict on each claim of a study by the figures that its author published, without any run.

use crate::published::{AcrossMachines, Claim, Published, Study, Test};

/// A claim held against the author's own figures.
pub(crate) struct ClaimByFigures<'a> {
    pub claim: &'a Claim,
    /// The machines of which there are figures, in the author's order.
    pub machines: Vec<MachineByFigures<'a>>,
}

/// What the figures of a machine show.
pub(crate) struct MachineByFigures<'a> {
    pub machine: String,
    pub found: Vec<FigureTest<'a>>,
}

/// A test of a claim on published figures.
pub(crate) struct FigureTest<'a> {
    pub test: &'a Test,
    /// The labels of the rows, or the name of what the first one is divided by.
    pub names: [String; 2],
    pub value: f64,
    pub holds: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FiguresVerdict {
    Holds,
    /// On this many of these machines.
    HoldsOn(usize, usize),
    Fails,
    NoFigure,
}

impl ClaimByFigures<'_> {
    pub(crate) fn verdict(&self) -> FiguresVerdict {
        let all = self.machines.len();
        match self.machines.iter().filter(|machine| machine.holds()).count() {
            _ if all == 0 => FiguresVerdict::NoFigure,
            0 => FiguresVerdict::Fails,
            n if n == all => FiguresVerdict::Holds,
            n => FiguresVerdict::HoldsOn(n, all),
        }
    }
}

impl MachineByFigures<'_> {
    /// Whether all of the tests do.
    pub(crate) fn holds(&self) -> bool {
        self.found.iter().all(|test| test.holds)
    }
}

/// Of all claims of a study, in their order.
pub(crate) fn by_figures<'a>(study: &'a Study, published: &[Published]) -> Vec<ClaimByFigures<'a>> {
    let of_claim = |claim: &'a Claim| {
        let tests = claim.by_figures.as_ref().unwrap_or(&claim.tests);
        let mut machines: Vec<MachineByFigures<'a>> = Vec::new();
        for test in tests.iter().filter(|test| !test.beside) {
            for (machine, found) in found(study, published, test) {
                match machines.iter_mut().find(|known| known.machine == machine) {
                    Some(known) => known.found.push(found),
                    None => machines.push(MachineByFigures { machine, found: vec![found] }),
                }
            }
        }
        ClaimByFigures { claim, machines }
    };
    study.claims.iter().map(of_claim).collect()
}

/// The machines whose figures allow a test, each with its result.
fn found<'a>(
    study: &'a Study,
    published: &[Published],
    test: &'a Test,
) -> Vec<(String, FigureTest<'a>)> {
    let is_meant = |one: &&Published| test.only.is_empty() || test.only.contains(&one.name);
    let meant: Vec<&Published> = published.iter().filter(is_meant).collect();
    let result = |machine: String, names: [String; 2], value: f64| {
        let [min, max] = test.range();
        let holds = (min..=max).contains(&value);
        (machine, FigureTest { test, names, value, holds })
    };
    if let Some(across) = test.across {
        let [first, second, ..] = meant.as_slice() else { return Vec::new() };
        let value = across_machines(study, [first, second], &test.metric, across);
        let machine = format!("{} and {}", first.machine, second.machine);
        let names = [second.machine.clone(), first.machine.clone()];
        return value.map(|value| result(machine, names, value)).into_iter().collect();
    }
    let same = meant.iter().filter_map(|one| {
        let (names, value) = value(study, [one, one], test)?;
        Some(result(one.machine.clone(), names, value))
    });
    let same: Vec<(String, FigureTest<'a>)> = same.collect();
    if !same.is_empty() {
        return same;
    }
    // The quantities of no machine are both published: each first one, and the only second one.
    let pairs = meant.iter().filter_map(|one| {
        let (other, (names, value)) =
            meant.iter().find_map(|other| Some((*other, value(study, [one, other], test)?)))?;
        let machine = format!("{}, to {}", one.machine, other.machine);
        Some(result(machine, names, value))
    });
    pairs.collect()
}

/// The names of a test and its value, by the figures of one machine, or of one for each quantity.
fn value(
    study: &Study,
    [first, second]: [&Published; 2],
    test: &Test,
) -> Option<([String; 2], f64)> {
    let row = study.row(&test.of)?;
    let of = row.figure(first, &test.metric)?;
    let name = row.label().to_owned();
    let amount = || match &test.to_param {
        Some(param) => study.theirs(row, param),
        None => Some(1.0),
    };
    if let Some(less) = &test.less {
        let less = study.row(less)?;
        let difference = of - less.figure(second, &test.metric)?;
        return Some(([name, less.label().to_owned()], difference / amount()?));
    }
    match &test.to {
        Some(to) => {
            let to = study.row(to)?;
            let metric = test.to_metric.as_ref().unwrap_or(&test.metric);
            let basis = to.figure(second, metric)?;
            Some(([name, to.label().to_owned()], of / basis))
        }
        None => Some(([name, test.to_param.clone().unwrap_or_default()], of / amount()?)),
    }
}

fn across_machines(
    study: &Study,
    [first, second]: [&Published; 2],
    metric: &str,
    across: AcrossMachines,
) -> Option<f64> {
    let pairs = study.rows.iter().filter_map(|row| {
        let [a, b] = [first, second].map(|one| row.figure(one, metric));
        Some((a?, b?))
    });
    let (of_first, of_second): (Vec<f64>, Vec<f64>) = pairs.unzip();
    match across {
        AcrossMachines::Order => rank_correlation(&of_first, &of_second),
        AcrossMachines::Greatest => {
            let ratios = of_first.iter().zip(&of_second).map(|(a, b)| b / a);
            ratios.reduce(f64::max).filter(|ratio| ratio.is_finite())
        }
    }
}

/// Spearman's rank correlation, with the mean rank of equal values. None of fewer than two values.
fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (ranks(a), ranks(b));
    let mean = f64::midpoint(a.len() as f64, 1.0);
    let sum = |values: &[f64], others: &[f64]| -> f64 {
        values.iter().zip(others).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let correlation = sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt();
    Some(correlation).filter(|correlation| correlation.is_finite())
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| other.total_cmp(value).is_eq()).count();
        below as f64 + f64::midpoint(equal as f64, 1.0)
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{find, studies, study};

    fn published(study: &Study) -> Vec<Published> {
        study.published.iter().filter_map(|name| find(name)).collect()
    }

    /// The verdicts that the stored tables give, held against the CSV files.
    #[test]
    fn each_claim_has_the_verdict_of_its_author_s_own_figures() {
        use FiguresVerdict::{Fails, Holds, HoldsOn, NoFigure};
        let expected = [
            ("U1", Holds),
            ("U2", HoldsOn(1, 2)),
            ("U3", HoldsOn(1, 2)),
            ("U4", Fails),
            ("U5", Holds),
            ("U6", Holds),
            ("U7", Holds),
            ("U8", Fails),
            ("U9", NoFigure),
            ("U10", NoFigure),
            ("U11", NoFigure),
            ("L1", HoldsOn(1, 4)),
            ("L2", Holds),
            ("L3", NoFigure),
            ("L4", Holds),
            ("L5", Fails),
            ("L6", Holds),
            ("L7", NoFigure),
            ("L8", Holds),
            ("L9", NoFigure),
            ("L10", NoFigure),
            ("L11", NoFigure),
            ("L12", NoFigure),
            ("L13", NoFigure),
            ("L14", NoFigure),
            ("B1", Holds),
            ("B2", Holds),
            ("B3", NoFigure),
            ("B4", Holds),
            ("B5", Holds),
            ("B6", NoFigure),
            ("F1", Holds),
            ("F2", Holds),
            ("F3", Holds),
            ("F4", Holds),
            ("F5", Holds),
            ("F6", NoFigure),
            ("S1", NoFigure),
            ("S2", NoFigure),
            ("S3", NoFigure),
            ("S4", NoFigure),
        ];
        let mut got = Vec::new();
        for study in studies() {
            let published = published(study);
            let all = by_figures(study, &published);
            got.extend(all.iter().map(|one| (one.claim.id.as_str(), one.verdict())));
        }
        assert_eq!(got, expected);
    }

    #[test]
    fn the_values_are_those_of_the_tables() {
        let check = |name: &str, id: &str, machine: &str, expected: &[f64]| {
            let study = study(name).unwrap();
            let published = published(study);
            let all = by_figures(study, &published);
            let claim = all.iter().find(|one| one.claim.id == id).unwrap();
            let found = claim.machines.iter().find(|one| one.machine == machine).unwrap();
            let values: Vec<f64> = found.found.iter().map(|test| test.value).collect();
            assert_eq!(values.len(), expected.len(), "{id} {machine}: {values:?}");
            for (value, expected) in values.iter().zip(expected) {
                assert!((value - expected).abs() < 0.006, "{id} {machine}: {values:?}");
            }
        };
        let both = "M2 MacBook Air and 10-core iMac Pro";
        check("urlsession", "U7", both, &[0.967]);
        check("urlsession", "U8", both, &[2.40]);
        // The second copy of U4 would be one of 134 MB: +73, +62 and −27; +87, +216 and −17.
        check("urlsession", "U4", "M2 MacBook Air", &[0.54, 0.46, -0.20]);
        check("urlsession", "U4", "10-core iMac Pro", &[0.65, 1.61, -0.13]);
        check("latency", "L1", "iPhone 5s", &[240.0 / 7.0]);
        check("latency", "L1", "iPhone 6s Plus", &[40.0]);
        check("latency", "L1", "iPhone X", &[73.0]);
        check("latency", "L5", "iPhone 5s", &[28.75]);
        check("latency", "L5", "iPhone 6s Plus", &[10.0]);
        // The mutex of 2012 and the semaphore of a telephone are of two machines.
        check("latency", "L6", "iPhone X, to Latency numbers (2012)", &[128.0]);
        check("bytestring", "B1", "machine not stated", &[2.747 / 2.1]);
        check("fleece", "F5", "MacBook Pro, 2.3 GHz Core i7", &[17.0 / 6.4]);
    }

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        let check = |a: &[f64], b: &[f64], expected: Option<f64>| {
            let found = rank_correlation(a, b);
            let close = found.zip(expected).is_none_or(|(a, b)| (a - b).abs() < 1e-9);
            assert!(found.is_some() == expected.is_some() && close, "{found:?} {expected:?}");
        };
        check(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0], Some(1.0));
        check(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0], Some(-1.0));
        // Of ranks 1, 2, 3, 4 and 2, 1, 4, 3.
        check(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 4.0, 3.0], Some(0.6));
        check(&[], &[], None);
        check(&[1.0, 1.0], &[1.0, 2.0], None);
    }
}

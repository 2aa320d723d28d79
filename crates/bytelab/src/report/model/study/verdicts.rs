//! The verdict on each claim of a study: by the methods that its author measured, and where these
//! cannot be measured, by those that stand in their place.

use lab::analyze::{Basis, CellMetric, Claimed, Ratio, judge_claim};

use super::{CellIndex, NOT_IN_THE_RUN, StudyReport};
use crate::reference::{Claim, Row, Test};

/// The probability that any verdict of a study is wrong.
const ALPHA: f64 = 0.05;

pub(crate) struct Judgement<'a> {
    pub(crate) claim: &'a Claim,
    pub(crate) own: Outcome<'a>,
    /// By methods in the place of the author's; none where the author's own were measured.
    pub(crate) in_their_place: Option<Outcome<'a>>,
}

pub(crate) enum Outcome<'a> {
    /// The reason.
    NotHere(String),
    Judged {
        verdict: Claimed,
        tests: Vec<Tested<'a>>,
        missing: Vec<String>,
    },
}

/// A test of a claim with its result.
pub(crate) struct Tested<'a> {
    pub(crate) test: &'a Test,
    /// The methods that were measured, or the name of what the first one is divided by.
    pub(crate) names: [String; 2],
    pub(crate) verdict: Claimed,
    pub(crate) found: Ratio,
}

/// Which methods of the rows are meant.
#[derive(Clone, Copy)]
enum Kind {
    Own,
    InTheirPlace,
}

/// A test whose cells were found.
struct MeasuredTest<'a> {
    test: &'a Test,
    names: [String; 2],
    run: usize,
    of: CellMetric<'a>,
    to: Basis<'a>,
}

impl MeasuredTest<'_> {
    fn is_same(&self, other: &MeasuredTest<'_>) -> bool {
        (self.run, self.of, self.to) == (other.run, other.of, other.to)
    }
}

/// The tests of a claim, and why the others cannot be made.
struct Plan<'a> {
    found: Vec<MeasuredTest<'a>>,
    missing: Vec<String>,
}

impl<'a> StudyReport<'a> {
    pub(crate) fn judgements(&self) -> Vec<Judgement<'a>> {
        let claims = self.study.claims.iter();
        let plans = claims.map(|claim| (claim, self.plans(claim))).collect::<Vec<_>>();
        let all = plans.iter().flat_map(|(_, (own, other))| own.iter().chain(other));
        let tests: usize = all.map(|plan| plan.found.len()).sum();
        let alpha = ALPHA / tests.max(1) as f64;
        let judged = plans.into_iter().map(|(claim, (own, other))| Judgement {
            claim,
            own: own.map_or_else(
                || Outcome::NotHere(claim.not_here.clone()),
                |plan| self.outcome(claim, plan, alpha),
            ),
            in_their_place: other.map(|plan| self.outcome(claim, plan, alpha)),
        });
        judged.collect()
    }

    /// By the author's methods, and by those in their place where none of those tests can be made.
    fn plans(&self, claim: &'a Claim) -> (Option<Plan<'a>>, Option<Plan<'a>>) {
        if !claim.not_here.is_empty() {
            return (None, None);
        }
        let own = self.plan(&claim.tests, Kind::Own);
        let tests = claim.stand_in_tests.as_ref().unwrap_or(&claim.tests);
        let other = own.found.is_empty().then(|| self.plan(tests, Kind::InTheirPlace));
        // What has nothing in its place is named once.
        let other = other.filter(|plan| !plan.found.is_empty());
        (Some(own), other)
    }

    fn plan(&self, tests: &'a [Test], kind: Kind) -> Plan<'a> {
        let mut plan = Plan { found: Vec::new(), missing: Vec::new() };
        for test in tests {
            match self.found(test, kind) {
                // Two ways of the author may have one method in their place.
                Ok(found) if plan.found.iter().any(|known| known.is_same(&found)) => {}
                Ok(found) => plan.found.push(found),
                Err(reason) if plan.missing.contains(&reason) => {}
                Err(reason) => plan.missing.push(reason),
            }
        }
        plan
    }

    fn found(&self, test: &'a Test, kind: Kind) -> Result<MeasuredTest<'a>, String> {
        let (row, name, of) = self.cell_of(&test.of, kind)?;
        let quantity = |row: &'a Row, place: CellIndex, metric: &'a str| CellMetric {
            cell: place.cell,
            metric: row.metric(metric),
        };
        let of_quantity = quantity(row, of, &test.metric);
        let (basis, basis_name) = match (&test.to, &test.to_param) {
            (Some(to), _) => {
                let (row, name, place) = self.cell_of(to, kind)?;
                if place.run != of.run {
                    return Err("its methods are of two runs".to_owned());
                }
                let metric = test.to_metric.as_ref().unwrap_or(&test.metric);
                (Basis::Of(quantity(row, place, metric)), name)
            }
            (None, Some(param)) => {
                let point = &self.runs[of.run].0.cells[of.cell].point;
                let value = point.number(param).ok().filter(|value| *value > 0);
                let value = value.ok_or_else(|| format!("{name} has no --{param}"))?;
                (Basis::Value(value as f64), param.clone())
            }
            (None, None) => (Basis::Value(1.0), String::new()),
        };
        Ok(MeasuredTest {
            test,
            names: [name, basis_name],
            run: of.run,
            of: of_quantity,
            to: basis,
        })
    }

    fn cell_of(&self, key: &str, kind: Kind) -> Result<(&'a Row, String, CellIndex), String> {
        let row = self.study.row(key).ok_or_else(|| format!("there is no row {key}"))?;
        let method = match kind {
            Kind::Own => row.method.as_deref(),
            Kind::InTheirPlace => row.stand_in.as_deref().or(row.method.as_deref()),
        };
        let why = if row.not_here.is_empty() { &self.study.not_here } else { &row.not_here };
        let method = method.ok_or_else(|| why.clone())?;
        let place = self.place(row, method).map_err(|reason| match reason.as_str() {
            NOT_IN_THE_RUN => format!("{method} was not measured"),
            _ => reason,
        })?;
        // Rows of one method at several points are distinguished by their labels.
        let shared = self.study.rows.iter().filter(|other| {
            other.method.as_deref() == Some(method) || other.stand_in.as_deref() == Some(method)
        });
        let is_shared = shared.filter(|other| other.at != row.at).count() > 0;
        let name = match (is_shared, method) {
            (false, method) => method.to_owned(),
            (true, "row") => row.label().to_owned(),
            (true, method) => format!("{method} ({})", row.label()),
        };
        Ok((row, name, place))
    }

    fn outcome(&self, claim: &Claim, plan: Plan<'a>, alpha: f64) -> Outcome<'a> {
        if plan.found.is_empty() {
            return Outcome::NotHere(plan.missing.join("; "));
        }
        let tests = plan.found.into_iter().map(|found| {
            let MeasuredTest { test, names, run, of, to } = found;
            let (verdict, found) = judge_claim(self.runs[run].0, of, to, test.range(), alpha);
            Tested { test, names, verdict, found }
        });
        let tests: Vec<Tested<'_>> = tests.collect();
        let is_whole = plan.missing.is_empty();
        let verdicts: Vec<Claimed> = tests.iter().map(|tested| tested.verdict).collect();
        let verdict = combined(claim.any, is_whole, &verdicts);
        Outcome::Judged { verdict, tests, missing: plan.missing }
    }
}

/// All tests are needed, or one of them; those that are missing are open.
fn combined(any: bool, is_whole: bool, tests: &[Claimed]) -> Claimed {
    let (decides, needs_all) = if any {
        (Claimed::Confirmed, Claimed::Refuted)
    } else {
        (Claimed::Refuted, Claimed::Confirmed)
    };
    if tests.contains(&decides) {
        decides
    } else if is_whole && tests.iter().all(|verdict| *verdict == needs_all) {
        needs_all
    } else {
        Claimed::Undecided
    }
}

#[cfg(test)]
mod tests {
    use Claimed::{Confirmed, Refuted, Undecided};

    use super::*;

    #[test]
    fn a_claim_needs_all_of_its_tests_or_one() {
        let all = |whole, tests: &[Claimed]| combined(false, whole, tests);
        assert_eq!(all(true, &[Confirmed, Confirmed]), Confirmed);
        assert_eq!(all(false, &[Confirmed, Confirmed]), Undecided);
        assert_eq!(all(true, &[Confirmed, Undecided]), Undecided);
        assert_eq!(all(false, &[Undecided, Refuted]), Refuted);
        let any = |whole, tests: &[Claimed]| combined(true, whole, tests);
        assert_eq!(any(true, &[Refuted, Refuted]), Refuted);
        assert_eq!(any(false, &[Refuted, Refuted]), Undecided);
        assert_eq!(any(false, &[Refuted, Confirmed]), Confirmed);
        assert_eq!(any(true, &[Refuted, Undecided]), Undecided);
    }
}

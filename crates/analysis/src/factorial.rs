//! What the factors of a full factorial experiment do to the time, alone and in pairs, and how well
//! the model of these effects explains the times of its methods.

use std::collections::BTreeMap;

use model::descriptor::{Descriptor, factors_of};
use model::metric::WALL;
use model::param::Point;
use model::run::Role;
use serde::Serialize;

use super::analysis::{ALPHA, Family};
use super::compare::at_last_look;
use super::facts::{CellFacts, RunFacts};
use crate::stats::{self, coefficients, predicted, pseudomedian};

/// The effects at one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Factorial {
    pub point: Point,
    pub metric: &'static str,
    /// The sessions that have all methods.
    pub sessions: usize,
    /// The level of each interval: all of them hold together at 95 %.
    pub level: f64,
    /// Those of each factor, then those of each two; none if too few sessions have all methods.
    pub effects: Vec<FactorEffect>,
    /// The methods whose figures are not compared, as a sample may have waited all its time; then
    /// there are no effects, and what follows is empty.
    pub missing: Vec<String>,
    pub fastest: String,
    pub slowest: String,
    /// The time of the slowest divided by that of the fastest: the geometric mean over the
    /// sessions.
    pub ratio: f64,
    /// The same ratio by the models of the effects of one factor, of at most two, and of at most
    /// three.
    pub modelled: [f64; ORDERS.len()],
    /// How many times the time of a method is that by the effects of at most two factors, or the
    /// other way round: the largest of all methods. Both ends of the ratio may be off alike.
    pub furthest: f64,
}

/// The largest number of factors whose effect together is in each model.
const ORDERS: [u32; 3] = [1, 2, 3];

/// How many factors the effects have that are shown.
const ORDER_SHOWN: u32 = 2;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorEffect {
    /// One or two.
    pub factors: Vec<&'static str>,
    /// Of one factor: the time with it divided by that without it, the geometric mean over the
    /// combinations of the others. Of two: by how much this is larger where the other one is there
    /// than on average, and smaller where it is not.
    pub times: f64,
    pub low: f64,
    pub high: f64,
}

/// At each point at which all combinations of the factors were measured.
pub(crate) fn of_families(facts: &RunFacts<'_>, families: &[Family]) -> Vec<Factorial> {
    let factors = Descriptor::of(facts.run).factors;
    if factors.is_empty() || !facts.run.in_rounds() {
        return Vec::new();
    }
    families.iter().filter_map(|family| of_family(facts, family, factors)).collect()
}

fn of_family(
    facts: &RunFacts<'_>,
    family: &Family,
    factors: &'static [&'static str],
) -> Option<Factorial> {
    let Some(cells) = combinations(facts, &family.compared, factors) else {
        return without_effects(facts, family, factors);
    };
    let metric = if family.by_wall.is_empty() { family.metric } else { WALL };
    let terms: Vec<usize> = terms(cells.len()).collect();
    let mut shared = shared_sessions(&cells, metric);
    let of_each = ALPHA / terms.len() as f64;
    let at_look = at_last_look(&facts.run.plan, &mut shared, of_each);
    if shared.is_empty() {
        return without_effects(facts, family, factors);
    }
    let alpha = at_look.unwrap_or(of_each);
    let sessions: Vec<Vec<f64>> = shared.iter().map(|(_, logs)| coefficients(logs)).collect();
    let effect = |term: &usize| {
        // From − 1 to + 1, a coefficient counts twice.
        let logs: Vec<f64> = sessions.iter().map(|of_session| 2.0 * of_session[*term]).collect();
        let shift = stats::of_values(&logs, alpha)?;
        let (low, high) = shift.interval?;
        let names = factors.iter().enumerate().filter(|(bit, _)| term & (1 << bit) != 0);
        let factors = names.map(|(_, name)| *name).collect();
        Some(FactorEffect {
            factors,
            times: shift.estimate.exp(),
            low: low.exp(),
            high: high.exp(),
        })
    };
    let effects = at_look.and_then(|_| terms.iter().map(effect).collect());
    let n = sessions.len() as f64;
    let mean = |at: usize| shared.iter().map(|(_, logs)| logs[at]).sum::<f64>() / n;
    let means: Vec<f64> = (0..cells.len()).map(mean).collect();
    let by_time = |a: &usize, b: &usize| means[*a].total_cmp(&means[*b]);
    let fastest = (0..cells.len()).min_by(by_time)?;
    let slowest = (0..cells.len()).max_by(by_time)?;
    let model = coefficients(&means);
    let off = |at: usize| (predicted(&model, at, ORDER_SHOWN) - means[at]).abs();
    let furthest = (0..cells.len()).map(off).fold(0.0, f64::max);
    let modelled =
        ORDERS.map(|order| predicted(&model, slowest, order) - predicted(&model, fastest, order));
    Some(Factorial {
        point: family.point.clone(),
        metric,
        sessions: sessions.len(),
        level: 1.0 - alpha,
        effects: effects.unwrap_or_default(),
        missing: Vec::new(),
        fastest: cells[fastest].stored.method.clone(),
        slowest: cells[slowest].stored.method.clone(),
        ratio: (means[slowest] - means[fastest]).exp(),
        modelled: modelled.map(f64::exp),
        furthest: furthest.exp(),
    })
}

/// The cell of each combination of the factors; none where one is missing, or is there twice.
fn combinations<'f, 'a>(
    facts: &'f RunFacts<'a>,
    cells: &[usize],
    factors: &[&str],
) -> Option<Vec<&'f CellFacts<'a>>> {
    let mut found: Vec<Option<&CellFacts<'a>>> = vec![None; 1 << factors.len()];
    for cell in cells.iter().map(|index| &facts.cells[*index]) {
        let place = &mut found[factors_of(&cell.stored.method, factors)];
        if place.replace(cell).is_some() {
            return None;
        }
    }
    found.into_iter().collect()
}

/// A run of all combinations without effects: the figures of the missing methods are not compared,
/// or no session has all methods.
fn without_effects(facts: &RunFacts<'_>, family: &Family, factors: &[&str]) -> Option<Factorial> {
    let is_contender = |index: &usize| facts.cells[*index].stored.role == Role::Contender;
    let all: Vec<usize> = family.cells.iter().copied().filter(is_contender).collect();
    let all = combinations(facts, &all, factors)?;
    let lacks = all.iter().filter(|cell| !family.compared.contains(&cell.index));
    let missing = lacks.map(|cell| cell.stored.method.clone()).collect();
    Some(Factorial {
        point: family.point.clone(),
        metric: family.metric,
        missing,
        ..Factorial::default()
    })
}

/// The effects that are shown, as indices of coefficients: those of fewer factors first.
fn terms(combinations: usize) -> impl Iterator<Item = usize> {
    (1..=ORDER_SHOWN)
        .flat_map(move |order| (1..combinations).filter(move |term| term.count_ones() == order))
}

/// The logarithms of the times of all cells in each session that all of them have.
fn shared_sessions(cells: &[&CellFacts<'_>], metric: &str) -> Vec<(u32, Vec<f64>)> {
    let by_session = |cell: &&CellFacts<'_>| {
        let mut sessions: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        // A time without the wait for a CPU may be 0 of a short sample, and has no logarithm.
        for (key, value) in cell.counted(metric).filter(|(_, value)| *value > 0.0) {
            sessions.entry(key.session).or_default().push(value.ln());
        }
        sessions
    };
    let of_cells: Vec<BTreeMap<u32, Vec<f64>>> = cells.iter().map(by_session).collect();
    let shared = of_cells.iter().take(1).flat_map(BTreeMap::keys).filter_map(|session| {
        let logs = of_cells.iter().map(|sessions| pseudomedian(sessions.get(session)?));
        Some((*session, logs.collect::<Option<Vec<f64>>>()?))
    });
    shared.collect()
}

#[cfg(test)]
mod tests {
    use model::descriptor::{AWAITING, AWAITING_FACTORS};
    use model::run::{Cell, Run};

    use super::*;
    use crate::analyze;
    use crate::tests::{answering, cell, close, noisy, run, times};

    /// The time of a method: each factor multiplies it, `dyn` otherwise where `O0` is.
    fn factor_of(factors: usize) -> f64 {
        let has = |word: &str| {
            let bit = AWAITING_FACTORS.iter().position(|factor| *factor == word).unwrap();
            factors & (1 << bit) != 0
        };
        let of = |has: bool, times: f64| if has { times } else { 1.0 };
        of(has("never"), 2.0)
            * of(has("handed"), 10.0)
            * of(has("O0"), 8.0)
            * of(has("dyn"), if has("O0") { 0.81 } else { 4.0 })
    }

    fn name(factors: usize) -> String {
        let words = AWAITING_FACTORS.iter().enumerate();
        let words = words.filter(|(bit, _)| factors & (1 << bit) != 0).map(|(_, word)| *word);
        let words: Vec<&str> = words.collect();
        if words.is_empty() { "await".to_owned() } else { words.join("-") }
    }

    fn cells(factor_of: impl Fn(usize) -> f64) -> Vec<Cell> {
        let of = |factors: usize| {
            let walls = times(&noisy(factors as u64 + 1, 0.01), factor_of(factors));
            cell(&name(factors), walls)
        };
        (0..32).map(of).collect()
    }

    fn found(cells: Vec<Cell>) -> Vec<Factorial> {
        let run = Run { experiment: AWAITING.to_owned(), ..run(cells) };
        analyze(&run).factorial
    }

    #[test]
    fn the_effects_of_a_made_table_are_found_with_their_intervals() {
        let all = found(cells(factor_of));
        let [found] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((found.sessions, found.effects.len()), (10, 15));
        for effect in &found.effects {
            let expected = match effect.factors.as_slice() {
                ["never"] => 2.0,
                ["handed"] => 10.0,
                // √(8 × 8 × 0.81 / 4): without `dyn`, and with it.
                ["O0"] => 3.6,
                // √(4 × 0.81), and √(0.81 / 4).
                ["dyn"] => 1.8,
                ["dyn", "O0"] => 0.45,
                _ => 1.0,
            };
            close(Some(effect.times), expected, 0.02 * expected);
            assert!(effect.low < effect.times && effect.times < effect.high, "{effect:?}");
        }
        assert!(found.slowest.ends_with("never-handed-O0"), "{found:?}");
        close(Some(found.ratio), 160.0, 5.0);
        let [alone, in_pairs, in_threes] = found.modelled;
        close(Some(in_pairs), found.ratio, 0.03 * found.ratio);
        close(Some(in_threes), found.ratio, 0.03 * found.ratio);
        assert!((alone / found.ratio - 1.0).abs() > 0.2, "{found:?}");
        assert!((1.0..1.02).contains(&found.furthest), "{found:?}");
    }

    #[test]
    fn what_the_effects_of_two_factors_do_not_explain_is_known() {
        // `other`, `never` and `handed` together: the term of the three is ln(2) / 8.
        let together = |factors: usize| if factors & 0b1011 == 0b1011 { 2.0 } else { 1.0 };
        let all = found(cells(|factors| factor_of(factors) * together(factors)));
        let [found] = all.as_slice() else { panic!("{all:?}") };
        close(Some(found.furthest), 2f64.powf(0.125), 0.02);
    }

    #[test]
    fn without_all_combinations_there_is_no_model() {
        let all = cells(factor_of);
        assert_eq!(found(all[1..].to_vec()), []);
        let mut twice = all.clone();
        twice.push(Cell { method: "await@O3".to_owned(), ..all[0].clone() });
        assert_eq!(found(twice), []);
        let other = analyze(&run(all));
        assert_eq!(other.factorial, []);
    }

    #[test]
    fn a_session_with_a_time_of_zero_is_left_out() {
        let mut all = cells(factor_of);
        let mut walls = times(&noisy(4, 0.01), factor_of(3));
        walls[20..30].fill(0.0);
        all[3] = cell(&name(3), walls);
        let found = found(all);
        assert_eq!((found[0].sessions, found[0].effects.len()), (9, 15));
    }

    #[test]
    fn without_a_session_of_all_methods_their_number_is_zero() {
        let mut all = cells(factor_of);
        all[3] = cell(&name(3), [0.0; 100]);
        let found = found(all);
        assert_eq!((found[0].sessions, found[0].missing.len(), found[0].effects.len()), (0, 0, 0));
    }

    #[test]
    fn a_method_that_is_not_compared_is_named_in_place_of_the_effects() {
        let mut all = cells(factor_of);
        all[5] = answering(all[5].clone(), "2");
        let found = found(all);
        assert_eq!((&found[0].missing[..], found[0].effects.len()), (&[name(5)][..], 0));
    }

    #[test]
    fn fewer_than_five_sessions_have_no_effects() {
        let few = |mut cell: Cell| {
            for sample in &mut cell.samples {
                sample.warm_up = sample.session >= 4;
            }
            cell
        };
        let found = found(cells(factor_of).into_iter().map(few).collect());
        assert_eq!((found[0].sessions, found[0].effects.len()), (4, 0));
    }
}

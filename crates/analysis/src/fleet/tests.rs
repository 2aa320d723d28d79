use model::random::SplitMix64;
use model::run::{Cell, Role};

use super::*;
use crate::tests::{answering, cell, close, noisy, point, run, times};

/// A machine on which `mmap` takes this part of `read`, with this many runs.
fn machine(seed: u64, mmap: f64, runs: u64, vendor: &str) -> RunGroup {
    let of = |i: u64| {
        let read = noisy(1000 * seed + 2 * i, 0.01);
        let own = times(&noisy(1000 * seed + 2 * i + 1, 0.01), mmap);
        let mut run = run(vec![cell("read", read), cell("mmap", own)]);
        let facts = &mut run.environment.facts;
        facts.insert("cpu_vendor".to_owned(), vendor.into());
        facts.insert("cpu_threads".to_owned(), (seed % 3).into());
        facts.insert("load_1_min".to_owned(), (seed % 2).into());
        run
    };
    RunGroup { name: format!("machine {seed}"), runs: (0..runs).map(of).collect() }
}

fn compared(groups: &[RunGroup]) -> FleetPoint {
    let mut fleet = compare_groups(groups, &[], &|fact| !fact.starts_with("load_"));
    assert_eq!(fleet.points.len(), 1);
    fleet.points.remove(0)
}

#[test]
fn five_machines_have_a_ratio_each_and_one_for_the_next_machine() {
    let ratios = [0.5, 0.55, 0.6, 0.65, 0.7];
    let groups: Vec<RunGroup> =
        (1..).zip(ratios).map(|(seed, ratio)| machine(seed, ratio, 5, "same")).collect();
    let found = compared(&groups);
    assert_eq!((found.reference.as_str(), found.best.as_str()), ("read", "mmap"));
    let [mmap] = &found.methods[..] else { panic!("{found:?}") };
    for (group, ratio) in mmap.groups.iter().zip(ratios) {
        let group = group.as_ref().unwrap();
        close(Some(group.ratio), ratio, 0.01);
        assert!(group.low.unwrap() < ratio * 1.01 && ratio * 0.99 < group.high.unwrap());
        assert_eq!(group.runs, 5);
    }
    let pooled = mmap.pooled.as_ref().unwrap();
    close(Some(pooled.ratio), 0.596, 0.01);
    assert!(pooled.prediction_low.unwrap() < 0.5 && 0.7 < pooled.prediction_high.unwrap());
    assert!(pooled.i_squared > 0.9 && pooled.heterogeneity_p < 0.001, "{pooled:?}");
    assert_eq!((found.disagreements.len(), mmap.facts.len()), (0, 0));
}

#[test]
fn machines_that_disagree_are_found_with_the_facts_that_go_with_it() {
    let of = |seed: u64| {
        let (ratio, vendor) = if seed.is_multiple_of(4) { (1.3, "other") } else { (0.6, "same") };
        machine(seed, ratio, 2, vendor)
    };
    let many: Vec<RunGroup> = (1..=12).map(of).collect();
    let found = compared(&many);
    let groups: Vec<usize> = found.disagreements.iter().map(|d| d.group).collect();
    assert_eq!(groups, [3, 7, 11]);
    assert_eq!(found.disagreements[0].best, "read");
    close(Some(found.disagreements[0].ratio), 1.0 / 1.3, 0.02);
    let first = &found.methods[0].facts[0];
    assert_eq!(first.facts, ["cpu_vendor"]);
    assert!(first.explained > 0.95 && first.p < 0.02, "{first:?}");
    assert!(found.methods[0].facts.iter().all(|other| other == first || other.p > 0.1));
    // Fewer machines: the facts are only listed.
    let found = compared(&many[..5]);
    assert_eq!(found.disagreements.len(), 1);
    assert_eq!(
        (found.methods[0].facts.len(), &found.shared_facts[..]),
        (0, &["cpu_vendor = other".to_owned()][..])
    );
}

#[test]
fn machines_that_differ_by_nothing_known_have_no_fact_that_goes_with_it() {
    let mut random = SplitMix64(3);
    let mut found_by_chance = 0;
    for start in (0..300).step_by(10) {
        let mut of = |seed: u64| machine(start + seed, 0.8 + 0.1 * random.unit(), 1, "same");
        let found = compared(&(1..=9).map(&mut of).collect::<Vec<_>>());
        found_by_chance += usize::from(found.methods[0].facts.iter().any(|fact| fact.p <= 0.05));
    }
    assert!(found_by_chance <= 5, "{found_by_chance}");
}

#[test]
fn three_machines_predict_nothing_and_one_session_has_no_interval() {
    let three: Vec<RunGroup> = (1..=3).map(|seed| machine(seed, 0.8, 1, "same")).collect();
    let pooled = compared(&three).methods.remove(0).pooled.unwrap();
    assert_eq!((pooled.groups, pooled.prediction_low), (3, None));
    let one = |seed: u64| {
        let mut group = machine(seed, 0.8, 1, "same");
        let cells = vec![cell("read", [1.0; 10]), cell("mmap", [2.0; 10])];
        group.runs = vec![run(cells)];
        group
    };
    let found = compared(&[one(1), one(2)]);
    let ratio = found.methods[0].groups[0].as_ref().unwrap();
    assert_eq!((ratio.low, &found.methods[0].pooled), (None, &None));
    assert_eq!(found.best, "read");
    assert!(found.same_answers);
}

/// A run at these directories.
fn in_dirs(dirs: &[u64]) -> Run {
    let mut all = run(Vec::new());
    all.points = dirs.iter().map(|dir| point(&[("dir", *dir)])).collect();
    for at in all.points.clone() {
        for (name, ns) in [("read", 1.0), ("mmap", 2.0)] {
            all.cells.push(Cell { point: at.clone(), ..cell(name, [ns; 10]) });
        }
    }
    all
}

#[test]
fn places_that_differ_between_machines_are_one_point() {
    let points = |machines: &[&[u64]]| -> Vec<(String, usize)> {
        let group = |dirs: &&[u64]| RunGroup { name: String::new(), runs: vec![in_dirs(dirs)] };
        let groups: Vec<RunGroup> = machines.iter().map(group).collect();
        let found = compare_groups(&groups, &["dir"], &|_| true).points.into_iter();
        let measured = |at: &FleetPoint| at.methods[0].groups.iter().flatten().count();
        found.map(|at| (at.point.to_string(), measured(&at))).collect()
    };
    assert_eq!(points(&[&[1], &[2], &[2]]), [(String::new(), 3)]);
    // Where a run has several, they are compared.
    let of_each = [("dir=1".to_owned(), 2), ("dir=2".to_owned(), 2)];
    assert_eq!(points(&[&[1, 2], &[2, 1]]), of_each);
}

#[test]
fn only_contenders_with_samples_that_count_are_compared() {
    let mut cells = ["a", "b", "c", "d", "e"].map(|name| cell(name, [1.0; 10]));
    cells[1].role = Role::Yardstick;
    cells[2].status = Status::Failed("died after 3 rounds".to_owned());
    cells[3].samples.iter_mut().for_each(|sample| sample.warm_up = true);
    cells[4] = answering(cells[4].clone(), "2");
    let run = run(cells.to_vec());
    let facts = RunFacts::new(&run);
    let found = comparable_cells(&facts, &[]);
    assert_eq!(found.iter().map(|(cell, _)| &*cell.stored.method).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn the_level_of_a_disagreement_is_shared_by_all_groups_and_methods() {
    let method = |name: &str| FleetMethod {
        method: name.to_owned(),
        groups: vec![None; 3],
        pooled: None,
        facts: Vec::new(),
    };
    let shown = GroupEffect { estimate: -1.0, variance: 0.01, degrees: 9.0 };
    let of = |name: &str, to: &str| {
        assert_eq!(to, "a");
        vec![None, Some(shown).filter(|_| name == "b"), None]
    };
    let found = disagreements(&[method("a"), method("b")], "r", "a", &of);
    let (low, high) = interval(&shown, 0.05 / 6.0).unwrap();
    let [ratio, low, high] = [-1.0, low, high].map(f64::exp);
    assert_eq!(found, [Disagreement { group: 1, best: "b".to_owned(), ratio, low, high }]);
}

#[test]
fn what_is_as_fast_is_neither_the_best_nor_a_disagreement() {
    let pooled = |ratio: f64| PooledRatio {
        groups: 2,
        ratio,
        low: ratio,
        high: ratio,
        prediction_low: None,
        prediction_high: None,
        tau: 0.0,
        i_squared: 0.0,
        heterogeneity_p: 1.0,
    };
    let method = |ratio: f64| FleetMethod {
        method: "a".to_owned(),
        groups: vec![None],
        pooled: Some(pooled(ratio)),
        facts: Vec::new(),
    };
    let best = |ratio: f64| best(&[method(ratio)], "r");
    assert_eq!([1.0, 0.99].map(best), ["r", "a"]);
    let equal = GroupEffect { estimate: 0.0, variance: 0.0, degrees: 9.0 };
    assert_eq!(disagreements(&[method(1.0)], "r", "r", &|_, _| vec![Some(equal)]), []);
}

#[test]
fn from_eight_machines_on_facts_are_tested_and_not_listed() {
    let of = |seed: u64| {
        let (ratio, vendor) = if seed == 4 { (1.3, "other") } else { (0.6, "same") };
        machine(seed, ratio, 2, vendor)
    };
    let groups: Vec<RunGroup> = (1..=8).map(of).collect();
    let listed = |groups: &[RunGroup]| {
        let found = compared(groups);
        (found.disagreements.len(), found.shared_facts)
    };
    assert_eq!(listed(&groups), (1, Vec::new()));
    assert_eq!(listed(&groups[..7]), (1, vec!["cpu_vendor = other".to_owned()]));
}

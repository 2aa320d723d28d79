use super::*;
use crate::analyze::tests::{cell, close, noisy, run, times};
use crate::random::SplitMix64;

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

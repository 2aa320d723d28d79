//! Which method is best at a point, and which are equally good.

use super::*;

#[test]
fn the_best_set_holds_what_is_not_shown_slower() {
    let level = noisy(9, 0.2);
    let method = |name, seed, factor| {
        let own = times(&noisy(seed, 0.02), factor * 1e-6);
        cell(name, level.iter().zip(own).map(|(level, own)| level * own))
    };
    let analysis = analyze(&run(vec![
        method("a", 1, 1.0),
        method("b", 2, 0.8),
        method("c", 3, 0.801),
        method("d", 4, 0.9),
    ]));
    let mut best = analysis.families[0].best.clone();
    best.sort_unstable();
    assert_eq!(best, [1, 2]);
}

/// `cat` does not depend on the buffer: it is the reference of both tables, and is compared once
/// with `cp`.
#[test]
fn pareto_methods_are_beaten_by_none_in_all() {
    let method = |name, wall, cpu: f64, rss: f64| {
        let cell = with(cell(name, [wall; 10]), "cpu_ns", move |_| cpu);
        with(cell, "peak_rss_bytes", move |_| rss)
    };
    let mut unknown = method("unknown", 1.0, 1.0, 0.0);
    unknown.values.remove("peak_rss_bytes");
    let mut cells = vec![
        method("fast", 5.0, 5.0, 5.0),
        method("small", 9.0, 9.0, 1.0),
        method("worse", 9.0, 9.0, 5.0),
        method("twin", 5.0, 5.0, 5.0),
        unknown,
        method("cheap", 9.0, 2.0, 9.0),
    ];
    let analysis = analyze(&run(cells.clone()));
    // A method that lacks a metric that another has is not in the Pareto set and does not beat the
    // other.
    assert_eq!(analysis.families[0].pareto, [0, 1, 3, 5]);
    assert!(analysis.cells[0].pareto && !analysis.cells[2].pareto);
    // A metric that all methods lack has no effect.
    for cell in &mut cells {
        cell.values.remove("peak_rss_bytes");
    }
    assert_eq!(analyze(&run(cells)).families[0].pareto, [4]);
}

/// The rounds of one session come from one set of processes, which decides nothing.
#[test]
fn of_one_session_nothing_is_known_beside_the_winner() {
    let steady = || noisy(1, 0.001).into_iter().take(10);
    let slower = steady().map(|ns| ns * 6.0);
    let analysis = analyze(&run(vec![cell("a", steady()), cell("b", slower)]));
    let family = &analysis.families[0];
    assert_eq!((&family.best[..], &family.undecided[..]), (&[0][..], &[1][..]));
}

/// The cell's samples count only in these rounds.
fn only_in(mut cell: Cell, takes_part: impl Fn(usize) -> bool) -> Cell {
    for (round, sample) in cell.samples.iter_mut().enumerate() {
        if !takes_part(round) {
            sample.not_counted = Some("it took no part".into());
        }
    }
    cell
}

#[test]
fn what_shares_too_few_rounds_with_the_winner_is_not_called_as_fast() {
    let analysis = analyze(&run(vec![
        cell("read", noisy(1, 0.01)),
        only_in(cell("fast", times(&noisy(2, 0.01), 0.6)), |round| round < 60),
        // By the reference, with which both share rounds, it is slower.
        only_in(cell("late", times(&noisy(3, 0.01), 3.5)), |round| round >= 40),
        // Too few sessions: nothing is known about it.
        only_in(cell("rare", times(&noisy(4, 0.01), 19.0)), |round| round % 30 == 0),
        cell("as-fast", times(&noisy(5, 0.01), 0.601)),
        // It shares no round with the winner, and both are equal compared with the reference.
        only_in(cell("late-as-fast", times(&noisy(6, 0.01), 0.601)), |round| round >= 40),
    ]));
    let family = &analysis.families[0];
    let mut best = family.best.clone();
    best.sort_unstable();
    assert_eq!(best, [1, 4, 5]);
    assert_eq!(family.undecided, [3]);
}

/// In a tenth of tables of 14 equal methods, one method was missing when each was compared at the
/// level of the table's verdicts.
#[test]
fn of_equal_methods_none_is_missing_from_the_best() {
    let tables: u64 = 100;
    let method = |table: u64, i: u64| {
        cell(&format!("m{i}"), noisy(1000 + table * 14 + i, 0.05).into_iter().take(60))
    };
    let lost = (0..tables)
        .filter(|table| {
            let analysis = analyze(&run((0..14).map(|i| method(*table, i)).collect()));
            analysis.families[0].best.len() + analysis.families[0].undecided.len() < 14
        })
        .count();
    assert!(lost * 100 <= 5 * tables as usize, "{lost} of {tables}");
}

/// The machine became three times slower after four sessions. What left after six was slower than
/// the others in them, although the p50 of its own sessions is the lowest.
#[test]
fn a_star_is_given_by_the_sessions_that_two_methods_share() {
    let method = |name, seed, factor: f64, n| {
        let level = |i: usize| if i < 40 { factor } else { 3.0 * factor };
        let noise = noisy(seed, 0.001).into_iter().take(n).enumerate();
        with(cell(name, noise.map(|(i, ns)| ns * level(i))), "peak_rss_bytes", |_| 1e6)
    };
    let cells =
        vec![method("a", 1, 1.0, 100), method("left", 2, 1.2, 60), method("b", 3, 1.0, 100)];
    let analysis = analyze(&run(cells.clone()));
    assert_eq!(analysis.families[0].pareto, [0, 2]);
    // Counts are no times: those of a pass of their own are compared as they are.
    let counted = |mut cell: Cell, peak| {
        let sample = Sample { pass: Pass::Counting, session: 0, ..cell.samples[0].clone() };
        cell.push(sample, &[("peak_rss_bytes", peak)]);
        cell
    };
    let cells = cells.into_iter().zip([2e6, 1e6, 2e6]).map(|(cell, peak)| counted(cell, peak));
    assert_eq!(analyze(&run(cells.collect())).families[0].pareto, [0, 1, 2]);
}

/// `late` shares no round with `fast`, which wins: both are compared with `read`.
#[test]
fn what_shares_no_round_with_the_winner_is_judged_by_the_reference() {
    let best = |factor: &dyn Fn(usize) -> f64| {
        let walls = noisy(3, 0.01).into_iter().enumerate().map(|(i, ns)| ns * factor(i / 10));
        let analysis = analyze(&run(vec![
            cell("read", noisy(1, 0.01)),
            only_in(cell("fast", times(&noisy(2, 0.01), 0.6)), |round| round < 50),
            only_in(cell("late", walls), |round| round >= 50),
        ]));
        let family = &analysis.families[0];
        (family.best.clone(), family.undecided.clone())
    };
    assert_eq!(best(&|_| 0.9), (vec![1], vec![]));
    // From 0.54 to 1.44 of `read`, which may be more than twice the time of `fast`.
    let wide = |session: usize| 0.88 * f64::exp(0.2 * (session as f64 - 7.0));
    assert_eq!(best(&wide), (vec![1], vec![2]));
}

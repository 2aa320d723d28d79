//! The metrics that methods report themselves.

use super::*;
use crate::{Change, CustomMetricComparison};

fn own(cells: Vec<Cell>) -> Vec<CustomMetricComparison> {
    analyze(&run(cells)).custom_metrics
}

#[test]
fn each_method_is_compared_with_the_reference() {
    let rate = |name: &str, seed, factor: f64| {
        with(cell(name, noisy(seed, 0.01)), "rps", move |wall_ns| factor * 1e9 / wall_ns)
    };
    let found = own(vec![rate("old", 1, 1.0), rate("new", 2, 1.2), rate("slow", 3, 0.5)]);
    let [new, slow] = &found[..] else { panic!("{found:?}") };
    close(new.ratio, 1.2, 0.01);
    assert_eq!((&*new.method, &*new.reference, &*new.metric), ("new", "old", "rps"));
    assert_eq!((new.change, slow.change, new.sessions), (Change::More, Change::Less, 10));
    assert!(1.19 < new.low.unwrap() && new.high.unwrap() < 1.21, "{new:?}");
    close(Some(new.level), 1.0 - 0.05 / 2.0, 1e-12);
    // The verdicts on the time are not corrected for them.
    let plain = run(vec![cell("old", noisy(1, 0.01)), cell("new", noisy(2, 0.01))]);
    close(Some(analyze(&plain).comparisons[0].level), 0.95, 1e-12);
}

#[test]
fn what_one_of_them_lacks_or_is_0_decides_nothing() {
    let with_it = |seed| with(cell("old", noisy(seed, 0.01)), "hits", |_| 3.0);
    assert_eq!(own(vec![with_it(1), cell("new", noisy(2, 0.01))]), []);
    assert_eq!(own(vec![cell("old", noisy(2, 0.01)), with_it(1)]), []);
    let none = with(cell("new", noisy(2, 0.01)), "hits", |_| 0.0);
    let found = own(vec![with_it(1), none]);
    assert_eq!((found[0].change, found[0].ratio), (Change::Undecided, None));
    assert!(found[0].reason.as_ref().unwrap().contains("which gives no ratio"), "{found:?}");
    // Equal counts are the same.
    let equal = with(cell("new", noisy(2, 0.01)), "hits", |_| 3.0);
    let found = own(vec![with_it(1), equal]);
    assert_eq!((found[0].change, found[0].ratio), (Change::Same, Some(1.0)));
}

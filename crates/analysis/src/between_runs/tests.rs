use model::param::ParamValue;
use model::run::{CacheState, Cell, Status};

use super::*;
use crate::Verdict;
use crate::tests::{answering, cell, close, noisy, point, run, times, waited, with};

/// Runs of `read` and `mmap`, on a machine that is `slow` times slower in each of them.
fn side(seed: u64, slow: &[f64], mmap: f64) -> Vec<Run> {
    let of = |(i, slow): (u64, &f64)| {
        let read = times(&noisy(seed + 2 * i, 0.01), *slow);
        let own = times(&noisy(seed + 2 * i + 1, 0.01), slow * mmap);
        run(vec![cell("read", read), cell("mmap", own)])
    };
    (0..).zip(slow).map(of).collect()
}

fn line<'a>(sides: &'a RunComparison, method: &str, metric: &str) -> &'a MetricChange {
    sides.lines.iter().find(|line| line.method == method && line.metric == metric).unwrap()
}

const CALM: [f64; 5] = [1.0, 1.01, 0.99, 1.005, 0.995];
const WILD: [f64; 5] = [1.0, 1.6, 0.7, 1.3, 0.8];

#[test]
fn five_runs_a_side_have_a_verdict() {
    let (a, b) = (side(1, &CALM, 0.8), side(100, &CALM, 0.4));
    let sides = compare_sides(&a, &b, &[]);
    let mmap = line(&sides, "mmap", "wall_ns");
    assert!(mmap.decides);
    assert_eq!((mmap.a.runs, mmap.a.n, mmap.b.runs), (5, 500, 5));
    assert_eq!(
        (mmap.absolute.verdict, mmap.relative.as_ref().unwrap().verdict),
        (Verdict::Faster, Verdict::Faster)
    );
    close(mmap.absolute.ratio, 0.5, 0.01);
    close(Some(mmap.absolute.level), 1.0 - 0.05 / 2.0, 1e-12);
    let read = line(&sides, "read", "wall_ns");
    assert_ne!(read.absolute.verdict, Verdict::Faster);
    assert_eq!((&read.relative, &read.reference), (&None, &None));
}

#[test]
fn relative_to_the_reference_the_speed_of_the_machine_is_out() {
    let (a, b) = (side(1, &WILD, 0.8), side(100, &times(&WILD, 1.7), 0.8));
    let sides = compare_sides(&a, &b, &[]);
    let mmap = line(&sides, "mmap", "wall_ns");
    let relative = mmap.relative.as_ref().unwrap();
    assert_eq!(mmap.reference.as_deref(), Some("read"));
    close(relative.ratio, 1.0, 0.01);
    let width = |change: &Effect| change.high.unwrap() / change.low.unwrap();
    assert!(width(relative) < 1.05 && width(&mmap.absolute) > 2.0, "{mmap:?}");
    close(mmap.absolute.ratio, 1.7, 0.02);
}

#[test]
fn one_run_a_side_never_has_a_verdict() {
    for (n_a, n_b) in [(1, 1), (4, 5), (5, 1)] {
        let (a, b) = (side(1, &CALM[..n_a], 0.8), side(9, &CALM[..n_b], 0.2));
        for line in compare_sides(&a, &b, &[]).lines {
            for change in [Some(&line.absolute), line.relative.as_ref()].into_iter().flatten() {
                assert_eq!((change.verdict, change.low), (Verdict::Undecided, None), "{line:?}");
                assert!(change.ratio.is_some());
                assert!(change.reason.as_ref().unwrap().contains("5 a side"), "{change:?}");
            }
        }
    }
}

#[test]
fn a_run_compared_with_itself_has_the_ratio_1() {
    let a = side(1, &WILD, 0.8);
    for line in compare_sides(&a, &a, &[]).lines {
        close(line.absolute.ratio, 1.0, 1e-12);
        assert!(!matches!(line.absolute.verdict, Verdict::Faster | Verdict::Slower));
    }
}

#[test]
fn other_answers_are_other_data() {
    let other = |cells: Vec<Cell>| vec![run(cells)];
    let a = other(vec![cell("read", noisy(1, 0.01))]);
    let b = other(vec![answering(cell("read", noisy(2, 0.01)), "2")]);
    let sides = compare_sides(&a, &b, &[]);
    let change = &sides.lines[0].absolute;
    assert_eq!((change.verdict, change.ratio), (Verdict::WrongAnswer, None));
    assert!(change.reason.as_ref().unwrap().contains("1 and 2"));
    let (mut one, mut two) = (cell("read", noisy(1, 0.01)), cell("read", noisy(2, 0.01)));
    (one.digest, two.digest) = (Some("d".to_owned()), Some("e".to_owned()));
    let sides = compare_sides(&other(vec![one]), &other(vec![two]), &[]);
    assert_eq!(sides.lines[0].absolute.verdict, Verdict::WrongAnswer);
}

#[test]
fn what_only_one_side_has_is_reported_with_the_reason() {
    let mut refused = cell("direct", []);
    refused.status = Status::Skipped("no O_DIRECT".to_owned());
    let a = vec![run(vec![cell("read", noisy(1, 0.01)), cell("direct", noisy(2, 0.01))])];
    let b = vec![run(vec![cell("read", noisy(3, 0.01)), refused, cell("new", noisy(4, 0.01))])];
    let sides = compare_sides(&a, &b, &[]);
    let alone: Vec<_> =
        sides.alone.iter().map(|a| (a.method.as_str(), a.side, a.reason.as_deref())).collect();
    assert_eq!(alone, [("direct", "a", Some("skipped there: no O_DIRECT")), ("new", "b", None)]);
    assert!(sides.lines.iter().all(|line| line.method == "read"));
}

#[test]
fn zero_and_nan_give_a_reason_and_no_ratio() {
    let device = |value: f64| {
        vec![run(vec![with(cell("read", noisy(1, 0.01)), "device_read_bytes", move |_| value)])]
    };
    let change = |a: f64, b: f64| {
        let sides = compare_sides(&device(a), &device(b), &[]);
        let found = sides.lines.iter().find(|line| line.metric == "device_read_bytes").cloned();
        found.map(|line| line.absolute)
    };
    let zero = change(0.0, 0.0).unwrap();
    assert_eq!((zero.ratio, zero.verdict), (Some(1.0), Verdict::Same));
    let more = change(0.0, 4096.0).unwrap();
    assert_eq!((more.ratio, more.verdict), (None, Verdict::Slower));
    assert_eq!(more.reason.unwrap(), "from 0 to 4096, which has no ratio");
    assert_eq!(change(8192.0, 4096.0).unwrap().ratio, Some(0.5));
    assert_eq!(change(f64::NAN, 4096.0), None);
    let bad = vec![run(vec![cell("read", [0.0, 1.0, 2.0])])];
    let found = compare_sides(&bad, &bad, &[]).lines[0].absolute.clone();
    assert_eq!((found.ratio, found.verdict), (None, Verdict::Missing));
}

#[test]
fn places_may_differ_where_each_side_has_one() {
    let at = |dir: &str, size: u64| {
        let mut cell = cell("read", noisy(1, 0.01));
        cell.point = point(&[("size", size)]);
        cell.point.set("dir", ParamValue::Text(dir.to_owned()));
        let mut run = run(vec![cell.clone()]);
        run.points = vec![cell.point];
        vec![run]
    };
    let (ext4, btrfs) = (at("/ext4", 1), at("/btrfs", 1));
    assert_eq!(compare_sides(&ext4, &btrfs, &[]).lines.len(), 0);
    let sides = compare_sides(&ext4, &btrfs, &["dir"]);
    assert_eq!(sides.lines[0].point, point(&[("size", 1)]));
    assert!(sides.alone.is_empty());
    // Another size is another job.
    let sides = compare_sides(&ext4, &at("/btrfs", 2), &["dir"]);
    assert_eq!((sides.lines.len(), sides.alone.len()), (0, 2));
}

#[test]
fn other_experiments_and_cache_states_are_refused() {
    let a = side(1, &CALM, 0.8);
    assert_eq!(refusal(&a, &a), None);
    let mut b = a.clone();
    b[2].experiment = "other".to_owned();
    assert!(refusal(&a, &b).unwrap().contains("other and test"));
    let mut b = a.clone();
    b[0].plan.cache = CacheState::Cold;
    assert_eq!(refusal(&a, &b).unwrap(), "the runs have different cache states: cold and warm");
    let mut b = a.clone();
    b[0].plan.fresh = true;
    assert!(refusal(&a, &b).unwrap().contains("fresh process"));
}

#[test]
fn methods_that_read_other_params_are_of_one_family() {
    let side = |seed: u64| -> Vec<Run> {
        let of = |i: u64| {
            let mut own = run(vec![
                cell("read", noisy(seed + 2 * i, 0.01)),
                cell("mmap", noisy(seed + 2 * i + 1, 0.01)),
            ]);
            own.points =
                vec![point(&[("size", 1), ("buffer", 2)]), point(&[("size", 1), ("buffer", 4)])];
            own.cells[0].point = own.points[0].clone();
            own.cells[1].point = point(&[("size", 1)]);
            own
        };
        (0..5).map(of).collect()
    };
    let sides = compare_sides(&side(1), &side(50), &[]);
    let mmap = line(&sides, "mmap", "wall_ns");
    assert_eq!(mmap.reference.as_deref(), Some("read"));
    assert_eq!(mmap.point, point(&[("size", 1), ("buffer", 2)]));
    close(Some(mmap.absolute.level), 1.0 - 0.05 / 2.0, 1e-12);
}

/// Cells that a table does not compare have no influence on its measure: a yardstick, and a wrong
/// answer.
#[test]
fn the_measure_is_that_of_the_contenders_whose_answer_is_right() {
    let side = |seed: u64, cells: &[Cell]| -> Vec<Run> {
        let of = |i: u64| {
            let own = |name, i| waited(cell(name, noisy(seed + i, 0.01)));
            run([&[own("read", i), own("mmap", i + 50), own("pread", i + 100)], cells].concat())
        };
        (0..5).map(of).collect()
    };
    let deciding = |cells: &[Cell]| -> Vec<String> {
        let sides = compare_sides(&side(1, cells), &side(200, cells), &[]);
        let lines = sides.lines.into_iter().filter(|line| line.decides);
        lines.map(|line| format!("{} {}", line.method, line.metric)).collect()
    };
    let ours = ["read", "mmap", "pread"].map(|name| format!("{name} wall_less_wait_ns"));
    assert_eq!(deciding(&[]), ours);
    let yardstick = Cell { role: Role::Yardstick, ..cell("limit", noisy(7, 0.01)) };
    assert_eq!(deciding(&[yardstick]), [&ours[..], &["limit wall_ns".to_owned()]].concat());
    let wrong = answering(cell("wrong", noisy(8, 0.01)), "2");
    assert_eq!(deciding(&[wrong]), [&ours[..], &["wrong wall_ns".to_owned()]].concat());
    let other = cell("pread-threads", noisy(9, 0.01));
    let by_wall = ["read", "mmap", "pread", "pread-threads"].map(|name| format!("{name} wall_ns"));
    assert_eq!(deciding(&[other]), by_wall);
}

/// `cat` is in both tables; it is not listed under the second one.
#[test]
fn tables_that_share_a_method_are_compared_by_one_measure() {
    let at = |name: &str, seed, values: &[(&str, u64)]| Cell {
        point: point(values),
        ..cell(name, noisy(seed, 0.01))
    };
    let side = |seed: u64| -> Vec<Run> {
        let of = |i: u64| {
            let cells = vec![
                at("cat", seed + i, &[]),
                waited(at("dd", seed + i + 50, &[("buffer", 1)])),
                waited(at("dd", seed + i + 100, &[("buffer", 2)])),
            ];
            let points = vec![point(&[("buffer", 1)]), point(&[("buffer", 2)])];
            Run { points, ..run(cells) }
        };
        (0..5).map(of).collect()
    };
    let sides = compare_sides(&side(1), &side(200), &[]);
    let deciding: Vec<&str> =
        sides.lines.iter().filter(|line| line.decides).map(|line| line.metric.as_str()).collect();
    assert_eq!(deciding, ["wall_ns"; 3]);
}

/// Over points, the change of a method is the mean of its logs, whatever the times are.
#[test]
fn a_method_has_one_figure_over_all_points() {
    let side = |seed: u64, mmap: [f64; 2]| -> Vec<Run> {
        let of = |(i, slow): (u64, &f64)| {
            let mut cells = Vec::new();
            for (size, mmap) in [1u64, 1000].into_iter().zip(mmap) {
                for (name, factor) in [("read", 1.0), ("mmap", mmap)] {
                    let walls = times(&noisy(seed + 10 * i + size, 0.01), slow * factor);
                    let walls = times(&walls, size as f64);
                    cells.push(Cell { point: point(&[("size", size)]), ..cell(name, walls) });
                }
            }
            let points = vec![point(&[("size", 1)]), point(&[("size", 1000)])];
            Run { points, ..run(cells) }
        };
        (0..).zip(&CALM).map(of).collect()
    };
    let sides = compare_sides(&side(1, [1.0, 1.0]), &side(500, [0.5, 1.28]), &[]);
    let [read, mmap] = &sides.overall[..] else { panic!("{:?}", sides.overall) };
    assert_eq!((&*read.method, &read.relative, read.points), ("read", &None, 2));
    // The root of 0.5 times 1.28 is 0.8.
    close(mmap.absolute.ratio, 0.8, 0.01);
    let relative = mmap.relative.as_ref().unwrap();
    close(relative.ratio, 0.8, 0.01);
    close(Some(relative.level), 1.0 - 0.05 / 2.0, 1e-12);
    assert!(relative.low.unwrap() > 0.78 && relative.high.unwrap() < 0.82, "{relative:?}");
    assert_eq!((&*mmap.metric, mmap.reference.as_deref()), ("wall_ns", Some("read")));

    // A method that lacks a point has no figure over all, and nor have sides of one point.
    let mut lacking = side(500, [0.5, 1.28]);
    for run in &mut lacking {
        run.cells[3].status = Status::Skipped("no room".to_owned());
    }
    let sides = compare_sides(&side(1, [1.0, 1.0]), &lacking, &[]);
    assert_eq!(sides.overall.iter().map(|one| &*one.method).collect::<Vec<_>>(), ["read"]);
    let one = |seed| self::side(seed, &CALM, 0.8);
    assert_eq!(compare_sides(&one(1), &one(100), &[]).overall, []);
}

#[test]
fn percentiles_have_bounds_on_a_side_of_one_run() {
    let bounds = |runs: usize| {
        let a = side(1, &CALM[..runs], 0.8);
        let sides = compare_sides(&a, &a, &[]);
        let middle = line(&sides, "mmap", "wall_ns").a.percentiles[2];
        (middle.low.is_some(), middle.high.is_some())
    };
    assert_eq!([1, 2, 5].map(bounds), [(true, true), (false, false), (false, false)]);
}

#[test]
fn a_yardstick_takes_no_part_of_the_level() {
    let with_yardstick = |seed: u64| {
        let mut runs = side(seed, &CALM, 0.8);
        for run in &mut runs {
            let yardstick = Cell { role: Role::Yardstick, ..cell("dd", [1e6; 100]) };
            run.cells.push(yardstick);
        }
        runs
    };
    let sides = compare_sides(&with_yardstick(1), &with_yardstick(100), &[]);
    close(Some(line(&sides, "mmap", "wall_ns").absolute.level), 1.0 - 0.05 / 2.0, 1e-12);
}

/// Five runs of `read` and `mmap` at these sizes.
fn at_sizes(seed: u64, sizes: &[u64]) -> Vec<Run> {
    let of = |i: u64| {
        let cells = sizes.iter().flat_map(|size| {
            [("read", 1.0), ("mmap", 0.8)].map(|(name, factor)| {
                let walls = times(&noisy(seed + 10 * i + size, 0.01), factor);
                Cell { point: point(&[("size", *size)]), ..cell(name, walls) }
            })
        });
        let points = sizes.iter().map(|size| point(&[("size", *size)])).collect();
        Run { points, ..run(cells.collect()) }
    };
    (0..5).map(of).collect()
}

#[test]
fn a_method_that_lacks_one_of_three_points_has_no_figure_over_all() {
    let mut b = at_sizes(500, &[1, 2, 3]);
    for run in &mut b {
        run.cells[5].status = Status::Skipped("no room".to_owned());
    }
    let sides = compare_sides(&at_sizes(1, &[1, 2, 3]), &b, &[]);
    assert_eq!(sides.overall.iter().map(|one| &*one.method).collect::<Vec<_>>(), ["read"]);
}

#[test]
fn the_figure_over_all_points_is_by_their_measure() {
    let side = |seed: u64| {
        let mut runs = at_sizes(seed, &[1, 2]);
        for run in &mut runs {
            run.cells = run.cells.drain(..).map(waited).collect();
        }
        runs
    };
    let sides = compare_sides(&side(1), &side(500), &[]);
    let metrics: Vec<&str> = sides.overall.iter().map(|one| &*one.metric).collect();
    assert_eq!(metrics, ["wall_less_wait_ns"; 2]);
}

#[test]
fn over_all_points_nothing_is_relative_where_a_run_has_no_rounds() {
    let relative = |is_imported: bool| -> Vec<bool> {
        let [a, b] = [1, 500].map(|seed| {
            let mut runs = at_sizes(seed, &[1, 2]);
            let imported = Some(model::run::Imported::default()).filter(|_| is_imported);
            for run in &mut runs {
                run.plan.imported.clone_from(&imported);
            }
            runs
        });
        compare_sides(&a, &b, &[]).overall.iter().map(|one| one.relative.is_some()).collect()
    };
    assert_eq!(relative(false), [false, true]);
    assert_eq!(relative(true), [false, false]);
}

//! A method compared with itself at another word or path.

use super::*;

fn at(values: &[(&str, ParamValue)], wall_ns: Vec<f64>) -> Cell {
    let mut cell = cell("create", wall_ns);
    for (name, value) in values {
        cell.point.set(*name, value.clone());
    }
    cell
}

fn lines(cells: Vec<Cell>) -> Vec<String> {
    let line = |effect: &ParamComparison| {
        let ParamComparison { param, value, reference_value, comparison } = effect;
        let size = comparison.point.number("size").unwrap();
        format!("{param} {size}: {value} to {reference_value} {:?}", comparison.verdict)
    };
    analyze(&run(cells)).param_effects.iter().map(line).collect()
}

#[test]
fn directories_are_compared_at_each_size_with_the_first_of_them() {
    let mut cells = Vec::new();
    for (dir, factor) in [("/a", 1.0), ("/b", 0.5), ("/c", 2.0)] {
        for size in [1u64, 2] {
            let values = [("job", "x".into()), ("dir", dir.into()), ("size", size.into())];
            cells.push(at(&values, times(&noisy(size, 0.01), factor)));
        }
    }
    let expected = [
        "dir 1: /b to /a Faster",
        "dir 1: /c to /a Slower",
        "dir 2: /b to /a Faster",
        "dir 2: /c to /a Slower",
    ];
    assert_eq!(lines(cells.clone()), expected);
    let effect = &analyze(&run(cells.clone())).param_effects[0].comparison;
    close(effect.ratio, 0.5, 0.01);
    close(Some(effect.level), 1.0 - 0.05 / 2.0, 1e-12);

    // If the first one was not measured, the next one takes its place.
    cells[0].status = Status::Failed("full".to_owned());
    assert_eq!(lines(cells)[0], "dir 1: /c to /b Slower");
}

#[test]
fn jobs_and_numbers_and_other_methods_are_not_compared() {
    let mut other = at(&[("dir", "/b".into()), ("size", 1.into())], noisy(1, 0.01));
    other.method = "unlink".to_owned();
    let cells = vec![
        at(&[("job", "x".into()), ("size", 1.into())], noisy(1, 0.01)),
        at(&[("job", "y".into()), ("size", 2.into())], noisy(2, 0.01)),
        at(&[("dir", "/a".into()), ("size", 1.into())], noisy(3, 0.01)),
        other,
    ];
    assert_eq!(lines(cells), [""; 0]);
}

/// The time of `copy` without the wait is not known.
#[test]
fn the_measure_is_that_of_the_tables_of_both_values() {
    let of = |method: &str, dir: &str, seed| {
        let values = [("dir", dir.into())];
        Cell { method: method.to_owned(), ..at(&values, noisy(seed, 0.01)) }
    };
    let cells = vec![
        of("create", "/a", 1),
        waited(of("create", "/b", 2)),
        of("unlink", "/a", 3),
        waited(of("unlink", "/b", 4)),
        of("copy", "/b", 5),
    ];
    let without_wait = |cell| with(waited(cell), "run_queue_wait_ns", |_| 0.0);
    let measures = |mut cells: Vec<Cell>| -> Vec<String> {
        for i in [0, 2] {
            cells[i] = without_wait(cells[i].clone());
        }
        let points = ["/a", "/b"].map(|dir| {
            let mut point = Point::default();
            point.set("dir", dir);
            point
        });
        let analysis = analyze(&Run { points: points.to_vec(), ..run(cells) });
        analysis.param_effects.into_iter().map(|effect| effect.comparison.metric).collect()
    };
    assert_eq!(measures(cells.clone()), ["wall_less_wait_ns"; 2]);
    assert_eq!(measures(cells[..4].to_vec()), ["wall_less_wait_ns"; 2]);
    let unknown = |cell: &Cell| {
        let mut cell = cell.clone();
        cell.values.remove("wall_less_wait_ns");
        cell
    };
    // A method that is compared by wall at one value is so at all of them.
    let mut of_unlink = cells.clone();
    of_unlink[3] = unknown(&cells[3]);
    assert_eq!(measures(of_unlink), ["wall_less_wait_ns", "wall_ns"]);
    let mut of_reference = cells.clone();
    of_reference[1] = unknown(&cells[1]);
    assert_eq!(measures(of_reference), ["wall_ns"; 2]);
}

//! The files of a run: which files exist, and that they are valid SVG whatever a method's name is.

use analysis::Verdict;

use super::*;
use crate::tests::fixture::Fixture;

fn files_of(f: &Fixture) -> Vec<(String, String)> {
    files(&[(f.run.clone(), f.analysis.clone())], "wall_ns")
}

/// Every element is closed in its order, and only the expected elements occur.
fn check(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        assert!(!text.contains('>'), "{text}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        let known = ["svg", "title", "rect", "line", "polyline", "polygon", "circle", "text"];
        assert!(known.contains(&name), "<{tag}>");
        assert!(!tag.contains("NaN") && !tag.contains("inf"), "<{tag}>");
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (false, false) => open.push(name),
            (false, true) => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_point_has_four_charts() {
    let files = files_of(&Fixture::reading());
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["ecdf.svg", "box.svg", "order.svg", "ratio.svg"]);
    for (_, svg) in &files {
        check(svg);
        assert!(svg.contains(">mmap-window</text>"), "{svg}");
    }
    assert!(files[3].1.contains(">0.69 faster</text>"), "{}", files[3].1);
}

/// The colour of the method in the legend of a file, where the name follows its line.
fn colour_in<'s>(svg: &'s str, method: &str) -> &'s str {
    let before = &svg[..svg.find(&format!(">{method}</text>")).unwrap()];
    let line = &before[before.rfind("<line").unwrap()..];
    line.split_once("stroke=\"").unwrap().1.split_once('"').unwrap().0
}

#[test]
fn a_method_has_the_same_colour_in_all_files_and_on_the_page() {
    let files = files_of(&Fixture::reading());
    // The order of the methods in the run, which is not that of the rows.
    let methods = ["read", "mmap", "mmap-window", "read-4k", "buf-reader"];
    for (_, svg) in files.iter().filter(|(name, _)| name == "ecdf.svg" || name == "order.svg") {
        for (method, colour) in methods.iter().zip(canvas::COLOURS) {
            assert_eq!(colour_in(svg, method), colour, "{method}: {svg}");
        }
    }
    let [ink, others @ ..] = canvas::COLOURS;
    let palette = format!("const PALETTE = ['{}'];", others.join("', '"));
    assert!(include_str!("../html/shapes.js").contains(&palette), "{palette}");
    assert!(include_str!("../html/page.css").contains(&format!("--ink: {ink};")));
    assert!(!include_str!("../html/shapes.js").contains("PALETTE_DARK"));
}

#[test]
fn hostile_names_and_values_give_files_that_can_be_read() {
    let hostile = "</text><script>alert(1)</script>\"'&<!--\u{0}\u{1b}\u{ffff}../../etc/passwd";
    let mut f = Fixture::new();
    f.measured(hostile, [0.0, 1.0, 1.0]);
    f.measured("infinite", [f64::INFINITY, 1.0, 1.0]);
    f.measured("none", [f64::NAN, 1.0, 1.0]).versus(Verdict::Slower, [1e300, 0.0, f64::NAN]);
    f.run.points[0].set(hostile, hostile);
    f.analysis.families[0].point = f.run.points[0].clone();
    let mut other = f.run.points[0].clone();
    other.set(hostile, "other");
    f.run.points.push(other);
    let files = files_of(&f);
    assert!(!files.is_empty());
    for (name, svg) in &files {
        check(svg);
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b)), "{name}");
        assert!(!name.contains(".."), "{name}");
    }
}

#[test]
fn a_metric_that_no_cell_has_gives_no_file() {
    let f = Fixture::reading();
    assert!(files(&[(f.run, f.analysis)], "furlongs").is_empty());
}

#[test]
fn points_whose_names_are_alike_have_files_of_their_own() {
    let mut f = Fixture::new();
    f.measured("read", [1.0, 1.0, 1.0]);
    f.point(&[("size", 5)]).measured("read", [1.0, 1.0, 1.0]);
    let names: Vec<String> = files_of(&f).into_iter().map(|(name, _)| name).collect();
    let mut once = names.clone();
    once.dedup();
    assert_eq!(names, once);
    assert!(names.contains(&"ecdf-size-5.svg".to_owned()), "{names:?}");
    assert!(names.contains(&"line-by-size.svg".to_owned()), "{names:?}");
}

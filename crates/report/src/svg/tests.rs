//! The files of a run: which files exist, and that they are valid SVG whatever a method's name is.

use analysis::Verdict;
use model::run::Status;

use super::*;
use crate::tests::fixture::Fixture;
use crate::tests::numbers;

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
    let ratios = &files[3].1;
    assert!(ratios.contains(">× 0.69, faster</text>"), "{ratios}");
    assert!(ratios.contains(">time relative to read [logarithmic]</text>"), "{ratios}");
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

/// No text reaches beyond the edges of the file.
fn fits(svg: &str) {
    let attribute = |tag: &str, name: &str| -> f64 {
        let (_, rest) = tag.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    let [width, height] = ["width", "height"].map(|name| attribute(svg, name));
    for part in svg.split("<text").skip(1) {
        let (tag, rest) = part.split_once('>').unwrap();
        let words = rest.split_once("</text>").unwrap().0;
        let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
        let plain = entities.iter().fold(words.to_owned(), |s, (from, to)| s.replace(from, to));
        let length = text_width(&plain);
        let (start, end) = if let Some((_, moved)) = tag.split_once(" transform=\"translate(") {
            let middle = moved.split_once(' ').unwrap().1.split_once(')').unwrap().0;
            (middle.parse::<f64>().unwrap() - length / 2.0, height)
        } else {
            let x = attribute(tag, "x");
            let y = attribute(tag, "y");
            assert!(FONT / 2.0 < y && y < height, "{words}: {svg}");
            let start = [("start", 0.0), ("middle", 0.5), ("end", 1.0)];
            let (_, part) = start.iter().find(|(name, _)| tag.contains(name)).unwrap();
            (x - part * length, width)
        };
        assert!(-0.5 < start && start + length < end + 0.5, "{words}: {svg}");
    }
}

#[test]
fn no_text_is_cut_at_the_edge_of_a_file() {
    let long = "gzip --keep --stdout --best /a/rather/long/path/of/a/file ".repeat(4);
    let mut f = Fixture::new();
    f.run.environment.facts.insert("busy_share_of_others".to_owned(), 0.92.into());
    for (dir, size) in [("a", 5), ("a", 6), ("b", 5), ("b", 6)] {
        f.point(&[("size", size)]);
        let dir = format!("/{dir}/{}", "directory ".repeat(12));
        f.run.points.last_mut().unwrap().set("dir", dir.as_str());
        f.family().point.set("dir", dir.as_str());
        f.measured(&long, [13.8, 13.7, 2.1]);
        f.measured(&format!("{long}b"), [9.5, 13.7, 2.1]).versus(Verdict::Faster, [0.7, 0.6, 0.8]);
    }
    // Lines and boxes by size, and four charts of each point.
    let files = files_of(&f);
    assert_eq!(files.len(), 18);
    for (name, svg) in &files {
        check(svg);
        fits(svg);
        assert!(svg.contains(">busy: other programs used 92 % of the CPU time</text>"), "{name}");
    }
}

#[test]
fn a_figure_has_its_title_and_the_number_of_samples() {
    let files = files_of(&Fixture::reading());
    for (file, words) in [
        (&files[0], "wall time: share of the samples that are no greater; n = 100"),
        (&files[1], "wall time: boxes from p25 over p50 to p75, whiskers from p0 to p100; n = 100"),
        (&files[2], "wall time: samples in their order; n = 100"),
        (&files[3], "time relative to that of read, with 95 % intervals"),
    ] {
        let (name, svg) = file;
        assert!(svg.contains(&format!(">{words}</text>")), "{name}: {svg}");
        assert!(svg.contains(&format!("<title>{words}</title>")), "{name}: {svg}");
        fits(svg);
    }
    assert_eq!(files[1].1.matches(">n = 100</text>").count(), 7);
    assert!(files[1].1.contains(">Dots: every sample.</text>"), "{}", files[1].1);
    assert!(!files[2].1.contains("Dotted: "), "{}", files[2].1);
}

#[test]
fn what_marks_mean_stands_below_the_title() {
    let mut f = Fixture::reading();
    for cell in &mut f.run.cells {
        let n = cell.samples.len() as u32;
        for (i, sample) in (0..).zip(&mut cell.samples) {
            sample.session = 2 * i / n.max(1);
        }
    }
    let files = files_of(&f);
    let order = &files[2].1;
    fits(order);
    assert!(order.contains(">Dotted: a new session, with fresh processes.</text>"), "{order}");
}

#[test]
fn ratios_without_the_wait_for_a_cpu_are_named_so() {
    let mut f = Fixture::new();
    f.measured("read", [13.8, 9.0, 2.1]);
    f.measured("mmap", [14.9, 8.0, 130.0]).versus(Verdict::Slower, [1.47, 1.4, 1.5]);
    f.comparison().metric = "wall_less_wait_ns".to_owned();
    let files = files_of(&f);
    let (name, svg) = files.last().unwrap();
    assert_eq!(name, "ratio.svg");
    fits(svg);
    for words in [
        "time without the wait for a CPU relative to that of read, with 95 % intervals",
        "time without the wait for a CPU relative to read [logarithmic]",
        "× 1.47, slower",
    ] {
        assert!(svg.contains(&format!(">{words}</text>")), "{words}: {svg}");
    }
}

#[test]
fn the_picture_of_numbers_says_what_there_is_to_doubt() {
    let mut run = numbers::run("mutex", &[5.0; 20], 0.0);
    numbers::meanwhile(&mut run, Some(0.0), Some(0.92));
    let long = "Processor with a rather long name ".repeat(5);
    run.environment.facts.insert("cpu_model".to_owned(), long.into());
    let mut skipped = run.cells[0].clone();
    skipped.status = Status::Skipped("the kernel gave huge pages for a part only".to_owned());
    skipped.point.set("row", "l3-load");
    run.cells.push(skipped);
    let analysis = numbers::analysis(&run);
    let files = files(&[(run, analysis)], "wall_ns");
    let svg = &files[0].1;
    check(svg);
    fits(svg);
    for text in [
        ">Grades: 1 row C.</text>",
        ">other programs used 92 % of the CPU time meanwhile: no row is graded better than C",
        ">grade</text>",
        ">C</text>",
        ">load from L3: skipped: the kernel gave huge pages for a part only</text>",
    ] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
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

//! The page contains the data of the run, and no markup from a name.

use analysis::{Analysis, Verdict};
use model::run::{Design, Run, Status};

use super::html;
use crate::tests::fixture::Fixture;
use crate::tests::numbers;

const HOSTILE: &str = "</script></title><script>alert(1)</script><img src=x onerror=\"alert(1)\">'\"&<!--\u{202e}\u{0}";

fn shown(f: &Fixture) -> Vec<(Run, Analysis)> {
    vec![(f.run.clone(), f.analysis.clone())]
}

/// The page without the content of its scripts and its style sheet.
fn markup(page: &str) -> String {
    let mut markup = String::new();
    let mut rest = page;
    while let Some(at) = rest.find("<script").into_iter().chain(rest.find("<style")).min() {
        let end = if rest[at..].starts_with("<script") { "</script>" } else { "</style>" };
        let open = at + rest[at..].find('>').unwrap() + 1;
        markup += &rest[..open];
        rest = &rest[open + rest[open..].find(end).unwrap()..];
        markup += end;
        rest = &rest[end.len()..];
    }
    markup + rest
}

/// The tags of the page, each with its attributes.
fn tags(markup: &str) -> Vec<&str> {
    markup.split('<').skip(1).map(|part| part.split_once('>').unwrap().0).collect()
}

fn hostile() -> Fixture {
    let mut f = Fixture::new();
    f.measured(HOSTILE, [13.8, 13.7, 2.1]);
    f.measured("other", [9.5, 13.7, 2.1]).versus(Verdict::Faster, [0.69, 0.66, 0.72]);
    f.named(HOSTILE, "<b>other");
    f.run.started = HOSTILE.to_owned();
    f.run.environment.facts.insert(HOSTILE.to_owned(), HOSTILE.into());
    f
}

#[test]
fn no_name_becomes_markup() {
    let (hostile, harmless) =
        (html(&shown(&hostile()), &[]), html(&shown(&Fixture::reading()), &[]));
    let markup = markup(&hostile);
    let known = [
        "!doctype",
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "header",
        "button",
        "p",
        "h1",
        "h2",
        "h3",
        "section",
        "div",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "small",
        "label",
        "input",
        "output",
        "select",
        "option",
        "figure",
        "figcaption",
        "span",
        "ul",
        "li",
        "b",
        "code",
        "details",
        "summary",
        "noscript",
        "script",
    ];
    for tag in tags(&markup) {
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        assert!(known.contains(&name), "<{tag}>");
        assert!(!tag.contains("onerror") && !tag.contains(" src="), "<{tag}>");
    }
    for text in ["<script", "</script", "<!--", "<title"] {
        let count = |page: &str| page.matches(text).count();
        assert_eq!(count(&hostile), count(&harmless), "{text}");
    }
    assert!(!hostile.contains(['\u{202e}', '\u{0}']));
}

#[test]
fn names_that_are_data_come_back_as_they_were() {
    let page = html(&shown(&hostile()), &[]);
    let start = page.find("id=\"charts-data\">").unwrap() + "id=\"charts-data\">".len();
    let data = &page[start..start + page[start..].find("</script>").unwrap()];
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let method = data["cells"][0]["method"].as_str().unwrap();
    assert!(method.starts_with("</script></title><script>alert(1)"), "{method}");
}

#[test]
fn the_page_says_what_the_terminal_says() {
    let mut f = Fixture::reading();
    f.cell("direct", Status::Skipped("no O_DIRECT here".to_owned()));
    f.note(Some("mmap"), None, "drift: it became slower");
    f.run.environment.facts.insert("kernel".to_owned(), "6.1".into());
    f.run.complete = false;
    let page = markup(&html(&shown(&f), &[]));
    for text in [
        "<h1>What is the fastest way to hand every byte of a file to the program?</h1>",
        "Fastest here: mmap-window",
        "Not complete",
        "<th scope=\"row\">mmap</th>",
        "data-key=\"9710000\" class=\"number\">9.71</td>",
        "class=\"faster\">faster</td>",
        "direct: skipped, no O_DIRECT here",
        "<b>mmap</b>: drift: it became slower",
        "<th scope=\"row\">kernel</th><td>6.1</td>",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
}

/// The first of these texts stands before the second, and so on.
fn in_this_order(page: &str, texts: &[&str]) {
    let at = |text: &&str| page.find(text).unwrap_or_else(|| panic!("no {text}: {page}"));
    assert!(texts.iter().map(at).is_sorted(), "{texts:?}: {page}");
}

#[test]
fn what_else_the_machine_did_stands_beside_the_answer() {
    let mut f = Fixture::reading();
    let mut of = |others: f64| {
        f.run.environment.facts.insert("busy_share_of_others".to_owned(), others.into());
        markup(&html(&shown(&f), &[]))
    };
    assert!(!of(0.1).contains("Busy: "));
    let busy = "<p class=\"warning\">Busy: other programs used 92 % of the CPU time; quote only \
                the ratio, or repeat.</p>";
    in_this_order(&of(0.92), &["Fastest here: ", busy, "id=\"figures-heading\""]);
}

#[test]
fn the_page_of_numbers_has_the_grades_beside_the_answer_and_names_the_rows_without_figures() {
    let mut run = numbers::run("mutex", &[5.0; 20], 0.0);
    numbers::meanwhile(&mut run, Some(0.0), Some(0.9));
    let mut skipped = run.cells[0].clone();
    skipped.status = Status::Skipped("no huge pages".to_owned());
    skipped.point.set("row", "l3-load");
    run.cells.push(skipped);
    let analysis = numbers::analysis(&run);
    let page = markup(&html(&[(run, analysis)], &[]));
    let texts = [
        "<p class=\"answer\">",
        "other programs used 90 % of the CPU time meanwhile: no row is graded better than C",
        "<p class=\"facts\">Grades: 1 row C.</p>",
        "id=\"figures-heading\"",
        "A: half of the sessions",
        "<h3>Not measured</h3>",
        "<li>load from L3: skipped: no huge pages</li>",
    ];
    in_this_order(&page, &texts);
}

#[test]
fn a_fact_without_a_value_is_left_out_of_the_environment() {
    let mut f = Fixture::reading();
    let facts = &mut f.run.environment.facts;
    facts.insert("hypervisor".to_owned(), serde_json::Value::Null);
    facts.insert("kernel".to_owned(), "6.1".into());
    let page = markup(&html(&shown(&f), &[]));
    assert!(page.contains("<th scope=\"row\">kernel</th><td>6.1</td>"), "{page}");
    assert!(!page.contains("<td>null</td>") && !page.contains("hypervisor"), "{page}");
    let mut other = Fixture::reading();
    other.run.id = "8".to_owned();
    other.run.environment.facts.insert("hypervisor".to_owned(), "kvm".into());
    let page = markup(&html(&[shown(&f), shown(&other)].concat(), &[]));
    assert!(page.contains("<th scope=\"row\">hypervisor</th><td>—</td><td>kvm</td>"), "{page}");
}

#[test]
fn each_chart_has_a_title() {
    let page = markup(&html(&shown(&Fixture::reading()), &[]));
    for chart in ["ratio", "ecdf", "box", "order"] {
        let title = format!("<h3 id=\"{chart}-title\"></h3>\n<div id=\"{chart}\" class=\"chart\"");
        assert!(page.contains(&title), "{title}: {page}");
    }
    // The placeholder names no method that the page may not have.
    assert!(!page.contains("placeholder=\"read"), "{page}");
}

#[test]
fn the_page_requests_nothing() {
    let page = html(&shown(&Fixture::reading()), &[]);
    let markup = markup(&page);
    assert!(markup.contains("default-src 'none'"));
    assert!(tags(&markup).iter().all(|tag| !tag.contains("http") || tag.contains("http-equiv")));
    assert!(!markup.contains("'unsafe-eval'") && !markup.contains("script-src 'unsafe-inline'"));
}

#[test]
fn runs_side_by_side_show_in_what_they_differ() {
    let (mut before, mut after) = (Fixture::reading(), Fixture::reading());
    before.run.label = Some("before".to_owned());
    after.run.id = "8".to_owned();
    for (f, kernel) in [(&mut before, "6.1"), (&mut after, "6.6")] {
        f.run.environment.facts.insert("kernel".to_owned(), kernel.into());
        f.run.environment.facts.insert("machine".to_owned(), "same".into());
    }
    let page = markup(&html(&[shown(&before), shown(&after)].concat(), &[]));
    assert!(page.contains("The runs differ in these facts"), "{page}");
    assert!(page.contains("<th scope=\"row\">kernel</th><td>6.1</td><td>6.6</td>"), "{page}");
    assert!(page.contains("<td>run 7 · before</td>") && page.contains("<td>run 8</td>"));
}

#[test]
fn an_empty_run_and_values_that_are_no_numbers_have_a_page() {
    let mut f = Fixture::new();
    assert!(html(&shown(&f), &[]).contains("Nothing was measured."));
    f.measured("odd", [f64::NAN, f64::INFINITY, 0.0]);
    f.measured("negative", [-1.0, 0.0, 1e300]);
    assert!(html(&shown(&f), &[]).ends_with("</html>\n"));
}

/// Writes the page for the browser's tests, if the variable names a file for it.
#[test]
fn a_million_samples_make_a_page_of_eight_megabytes_at_most() {
    let mut f = Fixture::new();
    for (method, wall_ns) in [("read", 1e4), ("mmap", 7e3)] {
        let n = 500_000u32;
        f.measured(method, [wall_ns / 1e6, wall_ns / 1e6, 3.0]);
        let (cell, _) = f.last();
        cell.samples = (0..n).map(crate::tests::fixture::sample).collect();
        for (i, sample) in (0..n).zip(&mut cell.samples) {
            sample.session = i / 50_000;
        }
        cell.values.retain(|name, _| name == "wall_ns" || name == "peak_rss_bytes");
        for (metric, p50) in [("wall_ns", wall_ns), ("peak_rss_bytes", 3e6)] {
            // A multiplicative generator: noise that is the same each time.
            let noise =
                |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1u32 << 24);
            let value = |i| p50 * (1.0 + 0.2 * noise(i).powi(8) + 1e-7 * f64::from(i));
            cell.values.insert(metric.to_owned(), (0..n).map(value).collect());
        }
    }
    let page = html(&shown(&f), &[]);
    assert!(page.len() <= 8_000_000, "{} bytes", page.len());
    if let Some(path) = std::env::var_os("MILLION_REPORT") {
        std::fs::write(path, page).unwrap();
    }
}

#[test]
fn the_page_of_a_run_that_ends_when_all_is_decided_says_what_each_was_measured_for() {
    let mut f = Fixture::reading();
    assert!(!html(&shown(&f), &[]).contains("Measured: "));
    f.run.plan.design = Design::Sequential;
    for cell in &mut f.analysis.cells[3..5] {
        (cell.metrics[0].n, cell.metrics[0].sessions) = (30, 6);
    }
    let page = html(&shown(&f), &[]);
    let line = page.lines().find(|line| line.contains("Measured: read, mmap, ")).unwrap();
    let of_left = "; read-4k, buf-reader in 6 sessions (30 rounds); decided methods are not \
                   measured any more.</p>";
    assert!(line.ends_with(of_left), "{line}");
}

//! The table of `bytelab numbers` in all its forms.

use analysis::Analysis;
use model::numbers::took_fact;
use model::run::{Cells, Run, Sample, Status, Warning, WarningKind};
use unicode_width::UnicodeWidthStr;

use super::fixture::Fixture;
use crate::PageLayout;
use crate::json::{number_rows, row_notes};
use crate::pages::numbers::{markdown as numbers_table, text as numbers_text};
use crate::views::numbers::{NumbersColumn, headlines, numbers};

/// A run of `numbers` with one row, with these wall times in sessions of ten, and the waits for a
/// CPU.
pub(crate) fn run(row: &str, ns: &[f64], wait_ns: f64) -> Run {
    let mut f = Fixture::new();
    f.cell("row", Status::Measured);
    let mut run = f.run.clone();
    run.experiment = model::numbers::EXPERIMENT.to_owned();
    meanwhile(&mut run, Some(0.0), Some(0.0));
    let cell = &mut run.cells[0];
    cell.point.set("row", row);
    cell.samples.clear();
    cell.values.clear();
    for (i, ns) in ns.iter().enumerate() {
        let sample = Sample {
            session: i as u32 / 10,
            round: i as u32 % 10,
            ops: 2,
            bytes: 4 << 20,
            ..Sample::default()
        };
        // Every third sample has waited.
        let wait_ns = if i % 3 == 0 { wait_ns } else { 0.0 };
        cell.push(sample, &[("wall_ns", *ns), ("run_queue_wait_ns", wait_ns)]);
    }
    run
}

/// The time that the hypervisor took and that other programs used during the measurement.
pub(crate) fn meanwhile(run: &mut Run, steal: Option<f64>, others: Option<f64>) {
    run.environment.facts.insert("steal_share".to_owned(), steal.into());
    run.environment.facts.insert("busy_share_of_others".to_owned(), others.into());
}

/// Without the findings of `analyze` in the samples.
pub(crate) fn analysis(run: &Run) -> Analysis {
    Analysis { notes: run.notes.clone(), ..Fixture::new().analysis }
}

fn figures(run: &Run) -> analysis::latency::Figures {
    numbers(run)[0].figures.clone().unwrap()
}

fn layout(width: usize) -> PageLayout {
    PageLayout { width, colour: false }
}

#[test]
fn samples_that_waited_for_a_cpu_are_left_out_where_enough_are_left() {
    let all: Vec<f64> = (1..=30).map(f64::from).collect();
    let f = figures(&run("l1-load", &all, 5.0));
    assert_eq!((f.n, f.disturbed, f.p10, f.p50, f.p90), (20, 10, 3.0, 15.0, 27.0));
    let f = figures(&run("l1-load", &all, 0.0));
    assert_eq!((f.n, f.disturbed, f.p10, f.p50, f.p90), (30, 0, 3.0, 15.0, 27.0));
    let f = figures(&run("l1-load", &all[..9], 5.0));
    assert_eq!((f.n, f.disturbed), (9, 3));
}

#[test]
fn bandwidth_is_shown_as_the_time_of_1_mib() {
    // Two operations of 100 ns move 4 MiB.
    let p50 = figures(&run("read-memory", &[100.0; 12], 0.0)).p50;
    assert!((p50 - 50.0).abs() < 1e-9, "{p50}");
}

#[test]
fn the_grade_is_that_of_the_sessions_and_of_the_samples() {
    let grade = |ns: &[f64]| figures(&run("l1-load", ns, 0.0)).grade;
    assert_eq!(grade(&[[1.0; 10], [1.04; 10], [1.5; 10]].concat()), 'A');
    assert_eq!(grade(&[[1.0; 10], [1.15; 10], [1.5; 10]].concat()), 'B');
    assert_eq!(grade(&[[1.0; 10], [1.4; 10], [1.5; 10]].concat()), 'C');
}

#[test]
fn a_grade_is_held_down_by_what_the_machine_did_meanwhile() {
    let steady = run("memory-load", &[294.0; 60], 0.0);
    let check = |steal, others, expected| {
        let mut run = steady.clone();
        meanwhile(&mut run, steal, others);
        assert_eq!(figures(&run).grade, expected, "{steal:?} {others:?}");
        let text = numbers_text(&run, &analysis(&run), &[], &layout(200));
        assert_eq!(text.contains("no row is graded better than"), expected != 'A', "{text}");
        assert!(text.contains("No A where"), "the legend says how: {text}");
    };
    check(Some(0.0), Some(0.0), 'A');
    check(Some(0.01), Some(0.1), 'A');
    check(Some(0.02), Some(0.0), 'B');
    check(Some(0.2), Some(0.0), 'C');
    check(Some(0.0), Some(0.3), 'B');
    check(Some(0.0), Some(0.9), 'C');
    check(None, Some(0.0), 'B');
    check(Some(0.0), None, 'B');
    // A third of the samples waited, although the others are steady.
    assert_eq!(figures(&run("l1-load", &[1.0; 60], 0.5)).grade, 'B');
}

#[test]
fn p50_has_students_interval_of_the_sessions() {
    let of = |levels: &[f64]| {
        let walls: Vec<f64> = levels.iter().flat_map(|level| [*level; 10]).collect();
        figures(&run("l1-load", &walls, 0.0))
    };
    // scipy.stats.t.interval(0.95, 5, loc=3.5, scale=scipy.stats.sem([1, 2, 3, 4, 5, 6])), of the
    // logarithms.
    let levels: Vec<f64> = (1..=6).map(|log| f64::from(log).exp()).collect();
    let found = of(&levels);
    assert_eq!(found.sessions, 6);
    let (low, high) = found.interval.unwrap();
    assert!((low.ln() - 1.536_686_4).abs() < 1e-6, "{}", low.ln());
    assert!((high.ln() - 5.463_313_6).abs() < 1e-6, "{}", high.ln());
    assert_eq!(of(&levels[..4]).interval, None);
}

/// A run with two warnings: one about a row, one about all rows.
fn doubted() -> Run {
    let mut run = run("l1-load", &[1.25; 30], 0.0);
    let mut note = |point, text: &str| {
        run.notes.push(Warning { point, ..Warning::noted(text).of_method("row") });
    };
    note(Some(run.cells[0].point.clone()), "drift: 9 % | later *samples*");
    note(None, "peak_rss_bytes: not known");
    let cells = Some(Cells { n: 12, methods: vec!["row".to_owned()] });
    let advice = "look at the plot".to_owned();
    run.notes.push(Warning { cells, advice, ..Warning::new(WarningKind::Modes, "") });
    run
}

#[test]
fn doubts_are_shown_with_the_title_of_their_row() {
    let run = doubted();
    let text = numbers_text(&run, &analysis(&run), &[], &layout(120));
    assert!(text.contains("note: load from L1: drift: 9 % | later *samples*\n"), "{text}");
    assert!(text.contains("note: some rows: peak_rss_bytes: not known\n"), "{text}");
    assert!(text.contains("note: two modes in 12 rows: look at the plot\n"), "{text}");
    let json = row_notes(&run, &analysis(&run)).unwrap();
    assert_eq!(json[0], "load from L1: drift: 9 % | later *samples*");
    assert_eq!(json.len(), 3);
    let markdown = numbers_table(&run, &analysis(&run), &[]);
    assert!(
        markdown.contains("\n- load from L1: drift: 9 % \\| later \\*samples\\*\n"),
        "{markdown}"
    );
    assert!(markdown.contains("\n- two modes in 12 rows: look at the plot\n"), "{markdown}");
}

#[test]
fn the_table_fits_the_page_and_stands_beside_what_was_published() {
    let run = run("l1-load", &[1.25; 30], 0.0);
    let lines = |width: usize| numbers_text(&run, &analysis(&run), &[], &layout(width));
    for width in [60, 80, 100, 120] {
        assert!(lines(width).lines().all(|line| line.width() <= width), "{}", lines(width));
    }
    let wide = lines(120);
    let row = wide.lines().find(|line| line.starts_with("load from L1")).unwrap();
    let words: Vec<&str> = row.split_whitespace().skip(3).collect();
    let expected = [
        "1.25",
        "ns",
        "—",
        "1.25–1.25",
        "A",
        "13.3",
        "M",
        "1",
        "ns",
        "7",
        "ns",
        "5",
        "ns",
        "2",
        "ns",
        "█",
    ];
    assert_eq!(words, expected);
}

#[test]
fn the_time_of_each_experiment_stands_beside_what_it_gave() {
    let mut run = run("l1-load", &[1.25; 30], 0.0);
    let text = |run: &Run| numbers_text(run, &analysis(run), &[], &layout(80));
    assert!(!text(&run).contains("time of"), "{}", text(&run));
    run.environment.facts.insert(took_fact("memory"), 8_200_000_000_u64.into());
    let line = "\ntime of memory: 8.2 s: 1 row, 30 samples in 3 sessions\n";
    assert!(text(&run).contains(line), "{}", text(&run));
}

#[test]
fn the_short_lines_say_what_each_figure_is_of() {
    let mut run = run("l1-load", &[1.5; 30], 0.0);
    for (row, factor) in [("memory-load", 80), ("system-call", 100), ("page-fault", 400)] {
        let mut cell = run.cells[0].clone();
        cell.point.set("row", row);
        cell.values.insert("wall_ns".to_owned(), vec![1.5 * f64::from(factor); 30].into());
        run.cells.push(cell);
    }
    assert_eq!(
        headlines(&numbers(&run)),
        [
            ("memory", "L1 1.5 ns, memory 120 ns".to_owned()),
            ("kernel", "a syscall 150 ns, a new page 600 ns".to_owned()),
            ("as many L1 loads fit into", "a memory load 80, a syscall 100".to_owned()),
        ]
    );
    let text = numbers_text(&run, &analysis(&run), &[], &layout(80));
    let legend = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(legend.contains("B: within 20 %; C: not. They say how well"), "{text}");
}

#[test]
fn a_row_that_was_refused_says_why() {
    let mut run = run("l1-load", &[1.25; 30], 0.0);
    run.cells[0].status = Status::Skipped("no \u{1b}[31mpages".to_owned());
    let text = numbers_text(&run, &analysis(&run), &[NumbersColumn::P50], &layout(80));
    assert!(text.contains("load from L1: skipped: no "), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let json = serde_json::to_value(number_rows(&run).unwrap()).unwrap();
    assert_eq!(json[0]["p50"], serde_json::Value::Null);
}

#[test]
fn markdown_has_a_line_per_row_and_says_where_and_how_it_was_measured() {
    let mut run = run("l1-load", &[1.25; 30], 0.0);
    for (fact, value) in [
        ("cpu_model", "Model_1"),
        ("kernel_release", "6.1.0"),
        ("hypervisor", "none"),
        ("bytelab_version", "0.1.0"),
    ] {
        run.environment.facts.insert(fact.to_owned(), value.into());
    }
    assert_eq!(
        numbers_table(&run, &analysis(&run), &[NumbersColumn::P50, NumbersColumn::Range]),
        "| operation | p50 | p10–p90 |\n| --- | ---: | ---: |\n| load from L1 | 1.25 ns | 1.25–1.25 |\n\n\
         Measured on: Model\\_1 · kernel 6.1.0 · bytelab 0.1.0 · 2026-01-02 03:04 UTC · run 7.\n\n\
         p10–p90 are in the unit of p50.\n"
    );
    run.cells[0].status = Status::Skipped("no <pages>".to_owned());
    let markdown = numbers_table(&run, &analysis(&run), &[NumbersColumn::P50]);
    assert!(markdown.contains("\n- load from L1: skipped: no &lt;pages&gt;\n"), "{markdown}");
}

#[test]
fn one_picture_has_the_bars_the_published_figures_and_the_machine() {
    let mut run = run("mutex", &[5.0; 20], 0.0);
    run.environment.facts.insert("cpu_model".to_owned(), "a <model>".into());
    let analysis = analysis(&run);
    let files = crate::svg(&[(run, analysis)], "wall_ns");
    let [(name, svg)] = &files[..] else { panic!("{}", files.len()) };
    assert_eq!(name, "numbers.svg");
    for part in ["lock and unlock a mutex", "a &lt;model&gt;", "5 ns", "published 2012"] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    // Of the machines that are published, one has this row.
    assert_eq!(
        (svg.matches("<circle").count(), svg.matches("fill-opacity=\"0.18\"").count()),
        (1, 1)
    );
}

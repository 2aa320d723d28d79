//! The table of a sweep.

use analysis::Verdict;
use insta::assert_snapshot;
use model::param::ParamValue;

use super::fixture::Fixture;
use super::{ALL_NOTES, shown};
use crate::{ExtraColumn, PageExtent, PageLayout, TableOptions, TextOptions, text};

/// Methods at these values of the buffer; `mmap` is faster than `read` where it is small.
fn sweep(buffers: &[u64], methods: &[&str]) -> Fixture {
    let mut f = Fixture::new();
    for (n, buffer) in (0..).map(f64::from).zip(buffers) {
        f.point(&[("size", 128 << 20), ("buffer", *buffer)]);
        f.measured("read", [13.8 * 2_f64.powf(n), 13.7, 2.1]);
        for method in methods {
            let (verdict, ratio) = match (n, *method) {
                (0.0, _) => (Verdict::Faster, [0.69, 0.66, 0.72]),
                (1.0, _) => (Verdict::Same, [1.001, 0.995, 1.007]),
                (_, "mmap") => (Verdict::Slower, [1.12, 1.11, 1.13]),
                _ => (Verdict::Undecided, [1.01, 0.98, 1.04]),
            };
            f.measured(method, [13.8 * 2_f64.powf(n) * ratio[0], 9.0, 133.0]);
            f.versus(verdict, ratio);
        }
    }
    f
}

#[test]
fn many_values_have_a_line_each() {
    assert_snapshot!(shown(&sweep(&[4096, 65536, 1 << 20], &["mmap"]), 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 19.6 s of
    samples · size=128Mi

             mmap     read
    buffer     ms       ms
    ────────────────────────
    4Ki     *9.52 <   13.8
    64Ki     27.6 =   27.6
    1Mi      61.8 >  *55.2
    time, p50; * fastest at its buffer; beside read: < faster, > slower, = same, ~
    undecided.

    4Ki: Fastest here: mmap — 31 % less time than read (95 % interval 28–34 %), in
         133 MiB of memory. Less memory: read, 2.1 MiB.
    64Ki: mmap takes the same time as read, within 1 %.
    1Mi: Fastest here: read, the reference; the next, mmap, takes 12.0 % more time
         (95 % interval 11.0–13.0 %). Less CPU time: mmap, 9 ms.

    Fastest by point: mmap (buffer=4Ki), read (buffer=1Mi), none shown
    (buffer=64Ki).
    ");
}

#[test]
fn many_methods_have_a_line_each() {
    let methods = ["mmap", "mmap-window", "pread-threads"];
    assert_snapshot!(shown(&sweep(&[4096, 65536], &methods), 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 15.3 s of
    samples · size=128Mi

    buffer           4Ki    64Ki
    method            ms      ms
    ──────────────────────────────
    mmap           *9.52 <  27.6 =
    mmap-window     9.52 <  27.6 =
    pread-threads   9.52 <  27.6 =
    read            13.8    27.6
    time, p50; * fastest at its buffer; beside read: < faster, > slower, = same, ~
    undecided.

    4Ki: Fastest here: mmap — 31 % less time than read (95 % interval 28–34 %), in
         133 MiB of memory. Less memory: read, 2.1 MiB.
    64Ki: All 3 others take the same time as read, within 1 %.

    Fastest by point: mmap (buffer=4Ki), none shown (buffer=64Ki).
    ");
}

#[test]
fn a_table_that_is_too_wide_has_several_parts() {
    let methods = ["mmap", "mmap-window", "pread-threads", "io-uring"];
    let buffers: Vec<u64> = (0..4).map(|n| 4096 << n).collect();
    let text = shown(&sweep(&buffers, &methods), 40);
    assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    for value in ["4Ki", "8Ki", "16Ki", "32Ki"] {
        assert!(
            text.lines().any(|line| line.starts_with("buffer") && line.contains(value)),
            "{text}"
        );
    }
}

#[test]
fn points_of_different_jobs_have_a_table_each() {
    let mut f = Fixture::new();
    for (job, reference) in [("start", "thread"), ("wake", "futex")] {
        f.point(&[("size", 1)]);
        f.measured(reference, [13.8, 13.7, 2.1]);
        f.measured("other", [9.0, 9.0, 133.0]).versus(Verdict::Faster, [0.65, 0.64, 0.66]);
        let point = f.run.points.last_mut().unwrap();
        point.set("job", ParamValue::Text(job.to_owned()));
        f.analysis.families.last_mut().unwrap().point = point.clone();
    }
    let text = shown(&f, 80);
    assert_eq!(text.matches("  reference  ").count(), 2, "{text}");
    assert!(text.contains("\njob=start\n") && text.contains("\njob=wake\n"), "{text}");
}

/// Of many tables, what they say is shown in a few lines.
#[test]
fn many_tables_are_shown_on_request() {
    let mut f = Fixture::new();
    for (job, ms) in [("start", 9.0), ("wake", 2.0), ("join", 6.0), ("end", 7.0)] {
        f.point(&[("size", 1)]);
        let point = f.run.points.last_mut().unwrap();
        point.set("job", ParamValue::Text(job.to_owned()));
        f.analysis.families.last_mut().unwrap().point = point.clone();
        f.measured(&format!("{job}-thread"), [2.0 * ms, 1.0, 2.1]);
        let ratio = if job == "join" { [0.25, 0.24, 0.26] } else { [0.5, 0.49, 0.51] };
        f.measured("other", [2.0 * ms * ratio[0], 1.0, 2.1]).versus(Verdict::Faster, ratio);
    }
    let layout = PageLayout { width: 200, colour: false };
    let shown = |extent| text(&f.run, &f.analysis, TextOptions { extent, ..ALL_NOTES }, &layout);
    let summary = shown(PageExtent::Summary);
    for line in [
        "It costs: job=wake 2 ms (other); job=join 3 ms (other); job=end 7 ms (other); job=start 9 ms \
         (other).\n",
        "The choice matters most at job=join: join-thread takes 4.0 times the time of other.\n",
        "bytelab show 7 --all shows 4 tables.\n",
    ] {
        assert!(summary.contains(line), "{line}: {summary}");
    }
    assert!(!summary.contains("verdict"), "{summary}");
    assert_eq!(shown(PageExtent::All).matches("  verdict").count(), 4);
}

#[test]
fn what_the_experiment_is_about_stands_in_its_table() {
    let mut f = Fixture::new();
    f.run.experiment = "threads".to_owned();
    f.measured("std-thread", [0.03, 0.03, 2.1]).metric("create_ns", 12_000.0, 100);
    f.metric("join_ns", 5000.0, 100);
    f.measured("pthread", [0.02, 0.02, 2.1]).versus(Verdict::Faster, [0.66, 0.65, 0.67]);
    let page = shown(&f, 80);
    let heading = page.lines().find(|line| line.contains(" p50")).unwrap();
    assert!(heading.contains("create") && heading.contains("join"), "{page}");
    assert!(!heading.contains("end"), "no method has that phase: {page}");
    let row = page.lines().find(|line| line.trim_start().starts_with("std-thread")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert!(words.contains(&"12.0") && words.contains(&"5.00"), "{page}");
}

#[test]
fn a_sweep_has_a_table_of_what_its_experiment_is_about() {
    let mut f = sweep(&[4096, 65536], &["mmap"]);
    f.run.experiment = "decoding".to_owned();
    let cells = f.run.cells.len();
    for cell in 0..cells {
        f.count(cell, "size_bytes", if cell % 2 == 0 { 2048.0 } else { 1024.0 }, true);
    }
    let page = shown(&f, 80);
    let has = |page: &str, words: &[&str]| {
        page.lines().any(|line| line.split_whitespace().collect::<Vec<&str>>() == words)
    };
    // The size is the same at each value.
    assert!(has(&page, &["method", "KiB"]) && has(&page, &["mmap", "1.00"]), "{page}");
    let mut other = sweep(&[4096, 65536], &["mmap"]);
    other.run.experiment = "decoding".to_owned();
    for cell in 0..cells {
        other.count(cell, "size_bytes", 1024.0 * (cell + 1) as f64, true);
    }
    let page = shown(&other, 80);
    assert!(has(&page, &["mmap", "64Ki", "4.00"]), "{page}");
}

#[test]
fn a_sweep_has_the_columns_that_are_requested_and_those_of_its_own() {
    let mut f = sweep(&[4096, 65536], &["mmap"]);
    for cell in 0..f.run.cells.len() {
        f.count(cell, "user_ns", 1000.0 * (cell + 1) as f64, false);
        f.count(cell, "chunks", 7.0 + cell as f64, true);
    }
    let own = ["chunks".to_owned()];
    let table = TableOptions { more: &[ExtraColumn::User], own: &own, ..ALL_NOTES.table };
    let options = TextOptions { table, ..ALL_NOTES };
    let page = text(&f.run, &f.analysis, options, &PageLayout { width: 80, colour: false });
    let has = |words: &[&str]| {
        page.lines().any(|line| line.split_whitespace().collect::<Vec<&str>>() == words)
    };
    assert!(has(&["user", "chunks"]), "{page}");
    assert!(has(&["mmap", "64Ki", "4.00", "10"]), "{page}");
}

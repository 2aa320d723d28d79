//! The layout of a page: widths, colours, several points.

use analysis::Verdict;
use insta::assert_snapshot;
use model::run::{Definition, Status};

use super::fixture::Fixture;
use super::*;

#[test]
fn an_ordinary_run_fits_80_columns() {
    assert_snapshot!(shown(&Fixture::reading(), 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 8.56 s of
    samples · size=128Mi

                     wall p50               CPU   RSS  ratio 95 %
      method           ms 95 %       GB/s    ms   MiB        interval     verdict
    ───────────────────────────────────────────────────────────────────────────────
    * mmap-window    9.52 9.42–9.63  14.1  9.51  4.50  0.690 0.664–0.716  faster
      mmap           9.71 9.61–9.83  13.8  9.68   133  0.704 0.689–0.718  faster
      pread-threads  13.2 13.1–13.4  10.2  25.0  2.30  0.970 0.900–1.040  undecided
      read           13.8 13.7–14.0  9.73  13.7  2.10  1.000              reference
      buf-reader     13.9 13.8–14.1  9.66  13.8  2.10  1.002 0.995–1.008  same
      read-4k        16.2 16.0–16.4  8.29  16.1  2.10  1.174 1.160–1.188  slower
    ───────────────────────────────────────────────────────────────────────────────
      memory         9.23 9.14–9.34  14.5  9.20   130                     yardstick

    Fastest here: mmap-window — 31 % less time than read (95 % interval 28–34 %), in
    4.5 MiB of memory; not shown slower: mmap.

    * not beaten in time, CPU and peak RSS at once. Figures are p50. ratio: time
    divided by that of the reference, in the same round; its intervals hold at 95 %
    for all of a table together.
    ");
}

#[test]
fn a_wide_page_has_long_headings() {
    assert_snapshot!(shown(&Fixture::reading(), 120), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 8.56 s of samples · size=128Mi

                     wall p50 95 %       throughput   CPU  peak RSS  ratio 95 %
      method               ms interval         GB/s    ms       MiB        interval     verdict
    ─────────────────────────────────────────────────────────────────────────────────────────────
    * mmap-window        9.52 9.42–9.63        14.1  9.51      4.50  0.690 0.664–0.716  faster
      mmap               9.71 9.61–9.83        13.8  9.68       133  0.704 0.689–0.718  faster
      pread-threads      13.2 13.1–13.4        10.2  25.0      2.30  0.970 0.900–1.040  undecided
      read               13.8 13.7–14.0        9.73  13.7      2.10  1.000              reference
      buf-reader         13.9 13.8–14.1        9.66  13.8      2.10  1.002 0.995–1.008  same
      read-4k            16.2 16.0–16.4        8.29  16.1      2.10  1.174 1.160–1.188  slower
    ─────────────────────────────────────────────────────────────────────────────────────────────
      memory             9.23 9.14–9.34        14.5  9.20       130                     yardstick

    Fastest here: mmap-window — 31 % less time than read (95 % interval 28–34 %), in 4.5 MiB of memory; not shown slower:
    mmap.

    * not beaten in time, CPU and peak RSS at once. Figures are p50. ratio: time divided by that of the reference, in the
    same round; its intervals hold at 95 % for all of a table together.
    ");
}

#[test]
fn a_narrow_page_gives_up_columns_and_says_so() {
    assert_snapshot!(shown(&Fixture::reading(), 60), @r"
    reading: What is the fastest way to hand every byte of a
      file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1
    session, 8.56 s of samples · size=128Mi

                     wall p50  ratio 95 %
      method               ms        interval     verdict
    ───────────────────────────────────────────────────────
    * mmap-window        9.52  0.690 0.664–0.716  faster
      mmap               9.71  0.704 0.689–0.718  faster
      pread-threads      13.2  0.970 0.900–1.040  undecided
      read               13.8  1.000              reference
      buf-reader         13.9  1.002 0.995–1.008  same
      read-4k            16.2  1.174 1.160–1.188  slower
    ───────────────────────────────────────────────────────
      memory             9.23                     yardstick

    Fastest here: mmap-window — 31 % less time than read (95 %
    interval 28–34 %), in 4.5 MiB of memory; not shown slower:
    mmap.

    * not beaten in time, CPU and peak RSS at once. Figures are
    p50. ratio: time divided by that of the reference, in the
    same round; its intervals hold at 95 % for all of a table
    together.
    Left out to fit the width: CPU, interval of wall, peak RSS,
      throughput; --percentiles shows every metric.
    ");
}

#[test]
fn counts_are_shown_where_they_fit_and_as_they_were_counted_where_they_are_exact() {
    let mut f = Fixture::reading();
    let counts = [(0, 2051.0, 0.0), (1, 6.0, 1.0), (2, 262_149.5, 12_345.0), (4, 7.0, f64::NAN)];
    for (index, syscalls, allocations) in counts {
        for (name, n) in [("syscalls", syscalls), ("allocations", allocations)] {
            if !f64::is_nan(n) {
                f.count(index, name, n, n.fract() == 0.0);
            }
        }
    }
    f.note(None, None, "allocations: no worker started");
    assert_snapshot!(shown(&f, 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 8.56 s of
    samples · size=128Mi

                     wall p50     CPU   RSS   sys  ratio 95 %
      method           ms ±        ms   MiB              interval     verdict
    ───────────────────────────────────────────────────────────────────────────
    * mmap-window    9.52 ±1.2%  9.51  4.50  262k  0.690 0.664–0.716  faster
      mmap           9.71 ±1.2%  9.68   133     6  0.704 0.689–0.718  faster
      pread-threads  13.2 ±1.2%  25.0  2.30     —  0.970 0.900–1.040  undecided
      read           13.8 ±1.2%  13.7  2.10  2051  1.000              reference
      buf-reader     13.9 ±1.2%  13.8  2.10     7  1.002 0.995–1.008  same
      read-4k        16.2 ±1.2%  16.1  2.10     —  1.174 1.160–1.188  slower
    ───────────────────────────────────────────────────────────────────────────
      memory         9.23 ±1.2%  9.20   130     —                     yardstick

    Fastest here: mmap-window — 31 % less time than read (95 % interval 28–34 %), in
    4.5 MiB of memory; not shown slower: mmap.

    — sys of pread-threads, read-4k, memory: not available here
    — alloc of pread-threads, buf-reader, read-4k, memory: no worker started

    * not beaten in time, CPU and peak RSS at once. Figures are p50. sys: system
    calls. ± the longer half of the 95 % interval. ratio: time divided by that of
    the reference, in the same round; its intervals hold at 95 % for all of a table
    together.
    Left out to fit the width: alloc, throughput; --percentiles shows every metric.
    ");
    f.family().metric = "wall_less_wait_ns";
    let waited = shown(&f, 80);
    assert!(waited.contains("wall   CPU   RSS   sys"), "{waited}");
    let narrow = shown(&f, 60);
    assert!(narrow.contains("undecided") && narrow.contains("Left out"), "{narrow}");
}

/// The deciding metric is named above the table, is the first column and orders the rows.
#[test]
fn what_decides_stands_first_and_is_said_with_its_reason() {
    let mut f = Fixture::new();
    f.family().metric = "wall_less_wait_ns";
    f.family().why = "the waits for a CPU are known and taken out".to_owned();
    f.measured("read", [13.8, 9.0, 2.1]).metric("wall_less_wait_ns", 9.1e6, 100);
    f.measured("mmap", [14.9, 8.0, 133.0]).metric("wall_less_wait_ns", 8.1e6, 100);
    f.versus(Verdict::Faster, [0.89, 0.88, 0.90]);
    f.comparison().metric = "wall_less_wait_ns".to_owned();
    for (i, [user, system]) in [[8.0, 1.0], [6.5, 1.5]].into_iter().enumerate() {
        f.count(i, "user_ns", user * 1e6, false);
        f.count(i, "system_ns", system * 1e6, false);
    }
    assert_snapshot!(shown(&f, 100), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 2.87 s of samples · size=128Mi

    Decided by wall − wait (without the wait for a CPU): the waits for a CPU are known and taken out.
              wall − wait 95 %       wall  throughput   CPU  peak RSS  ratio 95 %
      method           ms interval     ms        GB/s    ms       MiB        interval     verdict
    ───────────────────────────────────────────────────────────────────────────────────────────────
      mmap           8.10 8.02–8.20  14.9        9.01  8.00       133  0.890 0.880–0.900  faster
      read           9.10 9.01–9.21  13.8        9.73  9.00      2.10  1.000              reference

    Fastest here: mmap — 11.0 % less time than read (95 % interval 10.0–12.0 %, run-queue wait left
    out), in 133 MiB of memory.

    Figures are p50. ratio: time (wall less run-queue wait) divided by that of the reference, in the
    same round; its intervals hold at 95 % for all of a table together.
    ");
    f.family().by_wall = vec![1];
    let by_wall = "are known and taken out. By wall, as the time without the wait is not known or something else \
                   is waited for, too: mmap.\n";
    assert!(shown(&f, 200).contains(by_wall), "{}", shown(&f, 200));
    f.family().by_wall.clear();
    let more = [ExtraColumn::User, ExtraColumn::Sys];
    let layout = PageLayout { width: 120, colour: false };
    let table = TableOptions { more: &more, ..TableOptions::default() };
    let shown = text(&f.run, &f.analysis, TextOptions { table, all_notes: true }, &layout);
    assert!(shown.contains("CPU  user  system"), "{shown}");
    assert!(shown.contains(" 6.50    1.50 "), "{shown}");
}

#[test]
fn colour_repeats_what_words_say() {
    let mut f = Fixture::reading();
    f.measured("cheat", [1.0, 1.0, 1.0]).wrong(Some("dead"));
    f.cell("io-uring", Status::Failed("died".to_owned()));
    f.run.complete = false;
    assert_snapshot!(coloured(&f), @r"
    <bold>reading: </>What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 8.66 s of
    samples · size=128Mi
    <red>not complete: </>it was stopped before all was measured

    <bold>                 wall p50           CPU   RSS  ratio 95 %</>
    <bold>  method           ms ±      GB/s    ms   MiB        interval     verdict</>
    <dim>──────────────────────────────────────────────────────────────────────────────</>
    * mmap-window    9.52 ±1.2%  14.1  9.51  4.50  0.690 0.664–0.716  <green>faster</>
      mmap           9.71 ±1.2%  13.8  9.68   133  0.704 0.689–0.718  <green>faster</>
      pread-threads  13.2 ±1.2%  10.2  25.0  2.30  0.970 0.900–1.040  <dim>undecided</>
      read           13.8 ±1.2%  9.73  13.7  2.10  1.000              reference
      buf-reader     13.9 ±1.2%  9.66  13.8  2.10  1.002 0.995–1.008  same
      read-4k        16.2 ±1.2%  8.29  16.1  2.10  1.174 1.160–1.188  slower
      cheat          1.00 ±1.2%   134  1.00  1.00                     <red>wrong answer</>
    <dim>──────────────────────────────────────────────────────────────────────────────</>
    <dim>  memory         9.23 ±1.2%  14.5  9.20   130                     </><dim>yardstick</>

    Fastest here: mmap-window — 31 % less time than read (95 % interval 28–34 %), in
    4.5 MiB of memory; not shown slower: mmap. Out, for a wrong answer: cheat.

    <red>wrong answer: </>cheat: its answer is dead, that of read is 9f1c
    <red>failed: </>io-uring — died

    * not beaten in time, CPU and peak RSS at once. Figures are p50. ± the longer
    half of the 95 % interval. ratio: time divided by that of the reference, in the
    same round; its intervals hold at 95 % for all of a table together.
    ");
}

#[test]
fn several_points_have_a_table_each_and_one_answer_together() {
    let mut f = Fixture::new();
    for (i, buffer) in [4096, 65536, 1000].into_iter().enumerate() {
        f.point(&[("size", 128 << 20), ("buffer", buffer)]);
        f.measured("read", [13.8, 13.7, 2.1]);
        let (verdict, ratio) = [
            (Verdict::Faster, [0.69, 0.66, 0.72]),
            (Verdict::Slower, [1.12, 1.11, 1.13]),
            (Verdict::Undecided, [1.0, 0.9, 1.1]),
        ][i];
        f.measured("mmap", [13.8 * ratio[0], 9.0, 133.0]).versus(verdict, ratio).pareto();
        f.cell("io-uring", Status::Skipped("not permitted".to_owned()));
    }
    f.cell("odd", Status::Failed("the buffer is no multiple of 512".to_owned()));
    f.note(Some("mmap"), Some(1), "drift");
    f.note(None, Some(2), "an odd size");
    assert_snapshot!(shown(&f, 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 8.02 s of
    samples · size=128Mi

             mmap     read
    buffer     ms       ms
    ────────────────────────
    4Ki     *9.52 <   13.8
    64Ki     15.5 >  *13.8
    1000     13.8 ~   13.8
    wall p50; * fastest at its buffer; beside read, the reference: < faster, >
    slower, = same, ~ undecided.

    4Ki: Fastest here: mmap — 31 % less time than read (95 % interval 28–34 %), in
         133 MiB of memory.
    64Ki: Fastest here: read, the reference; the next, mmap, takes 12.0 % more time
          (95 % interval 11.0–13.0 %).
    1000: No difference to read can be shown.

    Fastest by point: mmap (buffer=4Ki), read (buffer=64Ki), none shown
    (buffer=1000).

    skipped: io-uring (at 3 points) — not permitted
    failed: odd (buffer=1000) — the buffer is no multiple of 512
    note: mmap (buffer=64Ki): drift
    note: buffer=1000: an odd size
    ");
}

#[test]
fn very_different_times_have_a_unit_each() {
    let mut f = Fixture::new();
    f.measured("register", [0.000_000_3, 0.000_000_3, 2.0]);
    f.measured("disk", [8.1, 0.1, 2.0]).versus(Verdict::Slower, [2.7e7, 2.6e7, 2.8e7]);
    assert_snapshot!(shown(&f, 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 810 ms of
    samples · size=128Mi

                  wall p50       CPU   RSS   ratio 95 %
      method           ±               MiB         interval       verdict
    ───────────────────────────────────────────────────────────────────────
      register  0.3 ns ±1.2%  0.3 ns  2.00    1.00                reference
      disk      8.1 ms ±1.2%  100 µs  2.00  2.70e7 2.60e7–2.80e7  slower

    Fastest here: register, the reference; the next, disk, takes 2.70e7 times the
    time (95 % interval 2.60e7–2.80e7).

    Figures are p50. ± the longer half of the 95 % interval. ratio: time divided by
    that of the reference, in the same round; its intervals hold at 95 % for all of
    a table together.
    Left out to fit the width: throughput; --percentiles shows every metric.
    ");
}

#[test]
fn long_names_cost_columns_and_then_their_middle() {
    let mut f = Fixture::new();
    f.measured("read-into-a-reused-buffer-64ki", [13.8, 13.7, 2.1]);
    f.measured("mmap-window-of-two-mebibytes-x", [9.52, 9.51, 4.5])
        .versus(Verdict::Faster, [0.690, 0.664, 0.716]);
    assert_snapshot!(shown(&f, 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 2.33 s of
    samples · size=128Mi

                                wall p50   CPU   RSS  ratio 95 %
      method                          ms    ms   MiB        interval   verdict
    ────────────────────────────────────────────────────────────────────────────
      mmap-window-…mebibytes-x      9.52  9.51  4.50   0.69 0.66–0.72  faster
      read-into-a-…buffer-64ki      13.8  13.7  2.10   1.00            reference

    Fastest here: mmap-window-of-two-mebibytes-x — 31 % less time than
    read-into-a-reused-buffer-64ki (95 % interval 28–34 %), in 4.5 MiB of memory.

    Figures are p50. ratio: time divided by that of the reference, in the same
    round; its intervals hold at 95 % for all of a table together.
    Left out to fit the width: interval of wall, throughput; --percentiles shows
      every metric.
    Shortened: mmap-window-…mebibytes-x is mmap-window-of-two-mebibytes-x
    Shortened: read-into-a-…buffer-64ki is read-into-a-reused-buffer-64ki
    ");
    assert_snapshot!(shown(&f, 50), @r"
    reading: What is the fastest way to hand every
      byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100
    rounds in 1 session, 2.33 s of samples ·
    size=128Mi

                    wall p50  ratio
      method              ms         verdict
    ──────────────────────────────────────────
      mmap-w…tes-x      9.52   0.69  faster
      read-i…-64ki      13.8   1.00  reference

    Fastest here: mmap-window-of-two-mebibytes-x — 31
    % less time than read-into-a-reused-buffer-64ki
    (95 % interval 28–34 %), in 4.5 MiB of memory.

    Figures are p50. ratio: time divided by that of
    the reference, in the same round; its intervals
    hold at 95 % for all of a table together.
    Left out to fit the width: CPU, interval of ratio,
      interval of wall, peak RSS, throughput;
      --percentiles shows every metric.
    Shortened: mmap-w…tes-x is
      mmap-window-of-two-mebibytes-x
    Shortened: read-i…-64ki is
      read-into-a-reused-buffer-64ki
    ");
}

#[test]
fn wide_and_combining_characters_keep_the_columns() {
    let mut f = Fixture::new();
    f.measured("読み込み", [13.8, 13.7, 2.1]);
    f.measured("lecture-re\u{301}utilise\u{301}e", [9.52, 9.51, 4.5])
        .versus(Verdict::Faster, [0.690, 0.664, 0.716]);
    f.measured("🦀", [9.52, 9.51, 4.5]).versus(Verdict::Faster, [0.690, 0.664, 0.716]);
    f.family().best = vec![1, 2];
    // The accents take no column: without them the columns must be aligned.
    assert_snapshot!(shown(&f, 80).replace('\u{301}', ""), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 3.28 s of
    samples · size=128Mi

                          wall p50           CPU   RSS  ratio 95 %
      method                ms ±      GB/s    ms   MiB        interval   verdict
    ──────────────────────────────────────────────────────────────────────────────
      lecture-reutilisee  9.52 ±1.2%  14.1  9.51  4.50   0.69 0.66–0.72  faster
      🦀                  9.52 ±1.2%  14.1  9.51  4.50   0.69 0.66–0.72  faster
      読み込み            13.8 ±1.2%  9.73  13.7  2.10   1.00            reference

    Fastest here: lecture-reutilisee — 31 % less time than 読み込み (95 % interval
    28–34 %), in 4.5 MiB of memory; not shown slower: 🦀.

    Figures are p50. ± the longer half of the 95 % interval. ratio: time divided by
    that of the reference, in the same round; its intervals hold at 95 % for all of
    a table together.
    ");
}

#[test]
fn the_primary_metrics_of_a_definition_have_a_column_once() {
    let mut f = Fixture::new();
    f.measured("read", [13.8, 9.0, 2.1]);
    f.count(0, "user_ns", 8e6, false);
    assert!(!shown(&f, 100).contains(" user "), "{}", shown(&f, 100));
    let primary_metrics = ["user_ns", "wall_ns"].map(str::to_owned).to_vec();
    f.run.plan.definition = Some(Definition { primary_metrics, ..Definition::default() });
    let text = shown(&f, 100);
    let head = text.lines().find(|line| line.contains("wall p50")).unwrap();
    assert_eq!([head.matches("wall").count(), head.matches(" user").count()], [1, 1], "{text}");
}

//! The layout of a page: widths, colours, several points.

use analysis::Verdict;
use insta::assert_snapshot;
use model::run::{CacheState, Definition, Status};

use super::fixture::Fixture;
use super::*;

#[test]
fn an_ordinary_run_fits_80_columns() {
    assert_snapshot!(shown(&Fixture::reading(), 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 8.56 s of
    samples · size=128Mi

                     time p50        × the time of read              CPU  memory
      method           ms 95 %       by round, 95 %      verdict      ms     MiB
    ────────────────────────────────────────────────────────────────────────────
    * mmap-window    9.52 9.42–9.63  0.690 0.664–0.716   faster     9.51    4.50
    * mmap           9.71 9.61–9.83  0.704 0.689–0.718   faster     9.68     133
      pread-threads  13.2 13.1–13.4  0.970 0.900–1.040   undecided  25.0    2.30
      read           13.8 13.7–14.0  1.000               reference  13.7    2.10
      buf-reader     13.9 13.8–14.1  1.002 0.995–1.008   same       13.8    2.10
      read-4k        16.2 16.0–16.4  1.174 1.160–1.188   slower     16.1    2.10
    ────────────────────────────────────────────────────────────────────────────
      memory         9.23 9.14–9.34                      yardstick  9.20     130

    Fastest here: mmap-window — 31 % less time than read (95 % interval 28–34 %), in
    4.5 MiB of memory; not shown slower: mmap. Less memory: read, 2.1 MiB.
    ");
}

#[test]
fn a_wide_page_has_long_headings() {
    assert_snapshot!(shown(&Fixture::reading(), 120), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 8.56 s of samples · size=128Mi

                     time p50        × the time of read              CPU  memory  throughput  min … max
      method           ms 95 %       by round, 95 %      verdict      ms     MiB        GB/s         ms
    ───────────────────────────────────────────────────────────────────────────────────────────────────
    * mmap-window    9.52 9.42–9.63  0.690 0.664–0.716   faster     9.51    4.50        14.1  9.04–10.0
    * mmap           9.71 9.61–9.83  0.704 0.689–0.718   faster     9.68     133        13.8  9.22–10.2
      pread-threads  13.2 13.1–13.4  0.970 0.900–1.040   undecided  25.0    2.30        10.2  12.5–13.9
      read           13.8 13.7–14.0  1.000               reference  13.7    2.10        9.73  13.1–14.5
      buf-reader     13.9 13.8–14.1  1.002 0.995–1.008   same       13.8    2.10        9.66  13.2–14.6
      read-4k        16.2 16.0–16.4  1.174 1.160–1.188   slower     16.1    2.10        8.29  15.4–17.0
    ───────────────────────────────────────────────────────────────────────────────────────────────────
      memory         9.23 9.14–9.34                      yardstick  9.20     130        14.5  8.77–9.69

    Fastest here: mmap-window — 31 % less time than read (95 % interval 28–34 %), in 4.5 MiB of memory; not shown slower:
    mmap. Less memory: read, 2.1 MiB.
    ");
}

#[test]
fn a_narrow_page_gives_up_columns_and_says_so() {
    assert_snapshot!(shown(&Fixture::reading(), 60), @r"
    reading: What is the fastest way to hand every byte of a
      file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1
    session, 8.56 s of samples · size=128Mi

                     time p50  × the reference
      method               ms  by round, 95 %     verdict
    ───────────────────────────────────────────────────────
    * mmap-window        9.52  0.690 0.664–0.716  faster
    * mmap               9.71  0.704 0.689–0.718  faster
      pread-threads      13.2  0.970 0.900–1.040  undecided
      read               13.8  1.000              reference
      buf-reader         13.9  1.002 0.995–1.008  same
      read-4k            16.2  1.174 1.160–1.188  slower
    ───────────────────────────────────────────────────────
      memory             9.23                     yardstick

    Fastest here: mmap-window — 31 % less time than read (95 %
    interval 28–34 %), in 4.5 MiB of memory; not shown slower:
    mmap. Less memory: read, 2.1 MiB.
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
    assert_snapshot!(shown(&f, 120), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 8.56 s of samples · size=128Mi

                     time p50        × the time of read              CPU  memory  throughput  min … max  calls  alloc
      method           ms 95 %       by round, 95 %      verdict      ms     MiB        GB/s         ms
    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    * mmap-window    9.52 9.42–9.63  0.690 0.664–0.716   faster     9.51    4.50        14.1  9.04–10.0   262k  12345
    * mmap           9.71 9.61–9.83  0.704 0.689–0.718   faster     9.68     133        13.8  9.22–10.2      6      1
      pread-threads  13.2 13.1–13.4  0.970 0.900–1.040   undecided  25.0    2.30        10.2  12.5–13.9      —      —
      read           13.8 13.7–14.0  1.000               reference  13.7    2.10        9.73  13.1–14.5   2051      0
      buf-reader     13.9 13.8–14.1  1.002 0.995–1.008   same       13.8    2.10        9.66  13.2–14.6      7      —
      read-4k        16.2 16.0–16.4  1.174 1.160–1.188   slower     16.1    2.10        8.29  15.4–17.0      —      —
    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────
      memory         9.23 9.14–9.34                      yardstick  9.20     130        14.5  8.77–9.69      —      —

    Fastest here: mmap-window — 31 % less time than read (95 % interval 28–34 %), in 4.5 MiB of memory; not shown slower:
    mmap. Less memory: read, 2.1 MiB.

    note: — calls of pread-threads, read-4k, memory: not available here
    note: — alloc of pread-threads, buf-reader, read-4k, memory: no worker started
    ");
}

/// The order in which columns go, the last ones first.
#[test]
fn the_basis_of_the_answer_is_the_last_that_a_narrow_page_gives_up() {
    let mut f = Fixture::reading();
    for index in 0..7 {
        f.count(index, "user_ns", 8e6, false);
        f.count(index, "system_ns", 1e6, false);
        f.count(index, "syscalls", 7.0, true);
    }
    let columns = |width: usize| {
        let text = shown(&f, width);
        let heading = text.lines().find(|line| line.contains(" p50")).unwrap();
        heading.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let basis = "time p50 × the time of read CPU memory";
    assert_eq!(columns(60), "time p50 × the reference");
    assert_eq!(columns(80), basis);
    assert_eq!(columns(100), format!("{basis} throughput min … max"));
    assert_eq!(columns(160), format!("{basis} throughput min … max user system calls"));
    let layout = PageLayout { width: 60, colour: false };
    let options = TextOptions { explain: true, ..TextOptions::default() };
    let explained = text(&f.run, &f.analysis, options, &layout);
    let words = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    let omitted = "Not at this width: CPU, calls, interval of the time, memory, min … max, system, \
                   throughput, user; bytelab show 7 --percentiles shows every metric.";
    assert!(words.contains(omitted), "{explained}");
    // What the table does not show needs no explanation.
    for hidden in ["calls: ", "CPU: the time", "memory: the most"] {
        assert!(!words.contains(hidden), "{hidden}: {explained}");
    }
    assert!(words.contains("*: not shown slower than the fastest. undecided: more"), "{explained}");
}

/// Whoever typed two commands reads at most twelve lines, none of which explains a mark.
#[test]
fn two_commands_are_answered_in_twelve_lines() {
    let mut f = Fixture::new();
    f.run.experiment = "bench".to_owned();
    f.run.plan.cache = CacheState::AsIs;
    f.measured("gzip -c Cargo.lock", [4.35, 4.19, 1.56]);
    f.measured("gzip -9c Cargo.lock", [5.26, 5.16, 1.62]);
    f.versus(Verdict::Slower, [1.19, 1.06, 1.34]);
    f.family().best = vec![0];
    for (name, value) in [("cpu_model", "AMD EPYC 7763 @ 2 GHz".into()), ("cpu_threads", 2.into())]
    {
        f.run.environment.facts.insert(name.to_owned(), value);
    }
    let layout = PageLayout { width: 80, colour: false };
    let page = |f: &Fixture, options| text(&f.run, &f.analysis, options, &layout);
    let default = TextOptions::default();
    assert_snapshot!(page(&f, default), @r"
    run 7 · 2026-01-02 03:04 UTC · 100 rounds · AMD EPYC 7763, 2 CPUs · size=128Mi

                           time p50        × the reference              CPU  memory
      command                ms 95 %       by round, 95 %   verdict      ms     MiB
    ───────────────────────────────────────────────────────────────────────────────
    * gzip -c Cargo.lock   4.35 4.31–4.40  1.00             reference  4.19    1.56
      gzip -9c Cargo.lock  5.26 5.21–5.32  1.19 1.06–1.34   slower     5.16    1.62

    Fastest here: gzip -c Cargo.lock, the reference; the next, gzip -9c Cargo.lock,
    takes 19 % more time (95 % interval 6–34 %).
    ");
    let busy = serde_json::Value::from(0.66);
    f.run.environment.facts.insert("busy_share_of_others".to_owned(), busy);
    f.note(None, None, "a note");
    let text = page(&f, default);
    assert!(text.lines().count() <= 12, "{text}");
    for word in ["left", "looks", "Decided by", "session"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let quiet = page(&f, TextOptions { extent: PageExtent::Answer, ..default });
    assert!(text.contains(&quiet) && quiet.starts_with("Fastest here: gzip -c"), "{quiet}");
    let explained = page(&f, TextOptions { explain: true, ..default });
    assert!(explained.contains("\nHow to read it: time: the median (p50)"), "{explained}");
    let words = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["undecided", "in doubt", "no verdict", "calls: "] {
        assert!(!words.contains(word), "{word}: {explained}");
    }
    assert!(words.contains("memory: the most at one time (RSS)."), "{explained}");
}

/// The deciding metric and its reason are among the notes; the first column is always the time.
#[test]
fn what_decides_is_said_with_its_reason() {
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
    assert_snapshot!(shown(&f, 120), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 2.87 s of samples · size=128Mi

    Verdicts are by the time without the wait for a CPU: the waits for a CPU are known and taken out.
              time p50        × the time of read              CPU  memory  throughput  min … max  user  system  time − wait
      method    ms 95 %       by round, 95 %      verdict      ms     MiB        GB/s         ms    ms      ms           ms
    ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    * mmap    14.9 14.8–15.1  0.890 0.880–0.900   faster     8.00     133        9.01  14.2–15.6  6.50    1.50         8.10
      read    13.8 13.7–14.0  1.000               reference  9.00    2.10        9.73  13.1–14.5  8.00    1.00         9.10

    Fastest here: mmap — 11.0 % less time than read (95 % interval 10.0–12.0 %, without the wait for a CPU), in 133 MiB of
    memory. Less memory: read, 2.1 MiB.

    Ratios are of the time minus the wait for a CPU, so they are not 14.9 / 13.8.
    ");
    f.family().by_wall = vec![1];
    let by_wall = "are known and taken out. By the whole time, because their wait is not known or \
                   they wait for something else, too: mmap.\n";
    assert!(shown(&f, 200).contains(by_wall), "{}", shown(&f, 200));
    f.family().by_wall.clear();
    let more = [ExtraColumn::User, ExtraColumn::Sys];
    let layout = PageLayout { width: 120, colour: false };
    let table = TableOptions { more: &more, ..TableOptions::default() };
    let shown = text(&f.run, &f.analysis, TextOptions { table, ..ALL_NOTES }, &layout);
    assert!(shown.contains("memory  user  system"), "{shown}");
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

    <bold>                 time p50         × the time of read                 CPU  memory</>
    <bold>  method           ms 95 %        by round, 95 %      verdict         ms     MiB</>
    <dim>────────────────────────────────────────────────────────────────────────────────</>
    * mmap-window    9.52 9.42–9.63   0.690 0.664–0.716   <green>faster</>        9.51    4.50
    * mmap           9.71 9.61–9.83   0.704 0.689–0.718   <green>faster</>        9.68     133
      pread-threads  13.2 13.1–13.4   0.970 0.900–1.040   <dim>undecided</>     25.0    2.30
      read           13.8 13.7–14.0   1.000               reference     13.7    2.10
      buf-reader     13.9 13.8–14.1   1.002 0.995–1.008   same          13.8    2.10
      read-4k        16.2 16.0–16.4   1.174 1.160–1.188   slower        16.1    2.10
      cheat          1.00 0.990–1.01                      <red>wrong answer</>  1.00    1.00
    <dim>────────────────────────────────────────────────────────────────────────────────</>
    <dim>  memory         9.23 9.14–9.34                       </><dim>yardstick</><dim>     9.20     130</>

    Fastest here: mmap-window — 31 % less time than read (95 % interval 28–34 %), in
    4.5 MiB of memory; not shown slower: mmap. Less memory: read, 2.1 MiB. Out, for
    a wrong answer: cheat.

    <red>wrong answer: </>cheat: its answer is dead, that of read is 9f1c
    <red>failed: </>io-uring — died
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
    time, p50; * fastest at its buffer; beside read: < faster, > slower, = same, ~
    undecided.

    4Ki: Fastest here: mmap — 31 % less time than read (95 % interval 28–34 %), in
         133 MiB of memory. Less memory: read, 2.1 MiB.
    64Ki: Fastest here: read, the reference; the next, mmap, takes 12.0 % more time
          (95 % interval 11.0–13.0 %). Less CPU time: mmap, 9 ms.
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

                  time p50    × the time of register                CPU  memory
      method           95 %   by round, 95 %          verdict               MiB
    ───────────────────────────────────────────────────────────────────────────
    * register  0.3 ns ±1.2%    1.00                  reference  0.3 ns    2.00
      disk      8.1 ms ±1.2%  2.70e7 2.60e7–2.80e7    slower     100 µs    2.00

    Fastest here: register, the reference; the next, disk, takes 2.70e7 times the
    time (95 % interval 2.60e7–2.80e7).
    ");
}

#[test]
fn an_interval_of_more_than_half_of_a_time_is_shown_by_its_bounds() {
    let mut f = Fixture::new();
    f.measured("register", [0.000_000_3, 0.000_000_3, 2.0]);
    f.measured("disk", [8.1, 0.1, 2.0]).versus(Verdict::Slower, [2.7e7, 2.6e7, 2.8e7]);
    let (_, disk) = f.last();
    let wall = disk.metrics.iter_mut().find(|metric| metric.metric == "wall_ns").unwrap();
    // The third is p50.
    wall.percentiles[2].high = Some(47e6);
    let page = shown(&f, 80);
    assert!(page.contains("disk      8.1 ms 8.02–47.0"), "{page}");
    assert!(page.contains("register  0.3 ns ±1.2%"), "{page}");
}

#[test]
fn commands_whose_names_have_no_room_are_numbered() {
    let mut f = Fixture::new();
    f.measured("read-into-a-reused-buffer-64ki", [13.8, 13.7, 2.1]);
    f.measured("mmap-window-of-two-mebibytes-x", [9.52, 9.51, 4.5])
        .versus(Verdict::Faster, [0.690, 0.664, 0.716]);
    assert_snapshot!(shown(&f, 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 2.33 s of
    samples · size=128Mi

    1: read-into-a-reused-buffer-64ki
    2: mmap-window-of-two-mebibytes-x
              time p50        × the time of 1              CPU  memory  throughput
      method    ms 95 %       by round, 95 %   verdict      ms     MiB        GB/s
    ──────────────────────────────────────────────────────────────────────────────
    * 2       9.52 9.42–9.63  0.69 0.66–0.72   faster     9.51    4.50        14.1
      1       13.8 13.7–14.0  1.00             reference  13.7    2.10        9.73

    Fastest here: mmap-window-of-two-mebibytes-x — 31 % less time than
    read-into-a-reused-buffer-64ki (95 % interval 28–34 %), in 4.5 MiB of memory.
    Less memory: read-into-a-reused-buffer-64ki, 2.1 MiB.
    ");
    assert_snapshot!(shown(&f, 50), @r"
    reading: What is the fastest way to hand every
      byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100
    rounds in 1 session, 2.33 s of samples ·
    size=128Mi

    1: read-into-a-reused-buffer-64ki
    2: mmap-window-of-two-mebibytes-x
              time p50  × the reference
      method        ms  by round, 95 %   verdict
    ──────────────────────────────────────────────
    * 2           9.52  0.69 0.66–0.72   faster
      1           13.8  1.00             reference

    Fastest here: mmap-window-of-two-mebibytes-x — 31
    % less time than read-into-a-reused-buffer-64ki
    (95 % interval 28–34 %), in 4.5 MiB of memory.
    Less memory: read-into-a-reused-buffer-64ki, 2.1
    MiB.
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

                          time p50        × the reference              CPU  memory
      method                ms 95 %       by round, 95 %   verdict      ms     MiB
    ──────────────────────────────────────────────────────────────────────────────
    * lecture-reutilisee  9.52 9.42–9.63  0.69 0.66–0.72   faster     9.51    4.50
    * 🦀                  9.52 9.42–9.63  0.69 0.66–0.72   faster     9.51    4.50
      読み込み            13.8 13.7–14.0  1.00             reference  13.7    2.10

    Fastest here: lecture-reutilisee — 31 % less time than 読み込み (95 % interval
    28–34 %), in 4.5 MiB of memory; not shown slower: 🦀. Less memory: 読み込み, 2.1
    MiB.
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
    let head = text.lines().find(|line| line.contains(" p50")).unwrap();
    assert_eq!([head.matches("time p50").count(), head.matches(" user").count()], [1, 1], "{text}");
}

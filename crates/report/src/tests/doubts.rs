//! What a page reports about cells that were not measured, or not measured well.

use analysis::Verdict;
use insta::assert_snapshot;
use model::run::{Design, Pass, Status, Uncounted, Warning, WarningKind};

use super::fixture::{self, Fixture};
use super::*;

#[test]
fn what_was_not_measured_is_listed_with_its_reason() {
    let mut f = Fixture::reading();
    f.measured("cheat", [1.0, 1.0, 1.0]).wrong(Some("dead"));
    f.measured("shuffle", [2.0, 1.0, 1.0]).wrong(Some("9f1c"));
    f.measured("dice", [3.0, 1.0, 1.0]).wrong(None);
    f.cell(
        "io-uring",
        Status::Skipped(
            "io_uring_setup: Operation not permitted (EPERM); see kernel.io_uring_disabled"
                .to_owned(),
        ),
    );
    f.cell("python", Status::Failed("died of signal 9, stderr:\n\tMemoryError\r\n".to_owned()));
    f.cell("silent", Status::Failed(" ".to_owned()));
    f.note(Some("mmap"), None, "two modes: 9.6 ms and 11 ms");
    f.note(None, None, "the load was 3.2: close other programs");
    assert_snapshot!(shown(&f, 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 9.16 s of
    samples · size=128Mi

                     time p50         × the time of read                 CPU  memory
      method           ms 95 %        by round, 95 %      verdict         ms     MiB
    ────────────────────────────────────────────────────────────────────────────────
    * mmap-window    9.52 9.42–9.63   0.690 0.664–0.716   faster        9.51    4.50
    * mmap           9.71 9.61–9.83   0.704 0.689–0.718   faster        9.68     133
      pread-threads  13.2 13.1–13.4   0.970 0.900–1.040   undecided     25.0    2.30
      read           13.8 13.7–14.0   1.000               reference     13.7    2.10
      buf-reader     13.9 13.8–14.1   1.002 0.995–1.008   same          13.8    2.10
      read-4k        16.2 16.0–16.4   1.174 1.160–1.188   slower        16.1    2.10
      cheat          1.00 0.990–1.01                      wrong answer  1.00    1.00
      shuffle        2.00 1.98–2.02                       wrong answer  1.00    1.00
      dice           3.00 2.97–3.04                       wrong answer  1.00    1.00
    ────────────────────────────────────────────────────────────────────────────────
      memory         9.23 9.14–9.34                       yardstick     9.20     130

    Fastest here: mmap-window — 31 % less time than read (95 % interval 28–34 %), in
    4.5 MiB of memory; not shown slower: mmap. Less memory: read, 2.1 MiB. Out, for
    a wrong answer: cheat, shuffle, dice.

    wrong answer: cheat: its answer is dead, that of read is 9f1c
    wrong answer: shuffle: it handed over other bytes than most methods
    wrong answer: dice: its samples do not agree with each other or with the rest
    skipped: io-uring — io_uring_setup: Operation not permitted (EPERM); see
      kernel.io_uring_disabled
    failed: python — died of signal 9, stderr: MemoryError
    failed: silent — no reason given
    note: mmap: two modes: 9.6 ms and 11 ms
    note: the load was 3.2: close other programs
    ");
}

#[test]
fn too_few_samples_say_so() {
    let mut f = Fixture::new();
    f.measured("read", [13.8, 13.7, 2.1]).metric("wall_ns", 13.8e6, 1);
    f.measured("mmap", [9.7, 9.7, 130.0]).metric("wall_ns", 9.7e6, 1);
    f.versus(Verdict::Undecided, [0.70, NAN, NAN]);
    f.comparison().reason = Some("1 round, an interval needs 6".to_owned());
    f.cell("uncounted", Status::Measured).versus(Verdict::Missing, [NAN; 3]);
    f.comparison().reason = Some("no rounds in common".to_owned());
    f.last().0.samples.push(fixture::sample(0));
    f.last().0.samples[0].not_counted = Some("not cached".into());
    f.cell("empty", Status::Measured);
    assert_snapshot!(shown(&f, 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 2.35 s of
    samples · size=128Mi

                 time p50   × the time of read               CPU  memory  throughput
      method       ms 95 %  by round, 95 %      verdict       ms     MiB        GB/s
    ────────────────────────────────────────────────────────────────────────────────
      mmap       9.70 ?     0.70 ?              no verdict  9.70     130        13.8
      read       13.8 ?     1.00                reference   13.7    2.10        9.73
      uncounted     —          —                missing        —       —           —
      empty         —                           missing        —       —           —

    No verdict: 1 round, an interval needs 6.

    note: — time, throughput, CPU, memory of uncounted: no sample counts (not
      cached)
    note: — time, throughput, CPU, memory of empty: no sample was taken
    note: — ratio of uncounted: no rounds in common
    ");
    let options = TextOptions { explain: true, ..TextOptions::default() };
    let text = text(&f.run, &f.analysis, options, &PageLayout { width: 80, colour: false });
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no verdict: there is no interval to decide by."), "{text}");
    assert!(words.contains("Methods: bytelab list reading --readme."), "{text}");
    assert!(!words.contains("*: ") && !words.contains("undecided: "), "{text}");
}

#[test]
fn a_metric_that_cannot_be_had_is_never_0() {
    let mut f = Fixture::reading();
    for cell in &mut f.analysis.cells {
        cell.metrics.retain(|metric| metric.metric != "peak_rss_bytes");
    }
    f.cell_mut(1).1.metrics.retain(|metric| metric.metric != "cpu_ns");
    f.note(None, None, "peak_rss_bytes: permission denied (EACCES)");
    f.note(Some("mmap"), None, "slow at the start: warm up longer");
    assert_snapshot!(shown(&f, 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 8.56 s of
    samples · size=128Mi

                     time p50        × the time of read              CPU  memory
      method           ms 95 %       by round, 95 %      verdict      ms
    ────────────────────────────────────────────────────────────────────────────
    * mmap-window    9.52 9.42–9.63  0.690 0.664–0.716   faster     9.51       —
    * mmap           9.71 9.61–9.83  0.704 0.689–0.718   faster        —       —
      pread-threads  13.2 13.1–13.4  0.970 0.900–1.040   undecided  25.0       —
      read           13.8 13.7–14.0  1.000               reference  13.7       —
      buf-reader     13.9 13.8–14.1  1.002 0.995–1.008   same       13.8       —
      read-4k        16.2 16.0–16.4  1.174 1.160–1.188   slower     16.1       —
    ────────────────────────────────────────────────────────────────────────────
      memory         9.23 9.14–9.34                      yardstick  9.20       —

    Fastest here: mmap-window — 31 % less time than read (95 % interval 28–34 %);
    not shown slower: mmap.

    note: — CPU of mmap: not available here
    note: — memory: permission denied (EACCES)
    note: mmap: slow at the start: warm up longer
    ");
}

/// The lines below the tables that say why figures are missing.
fn reasons(f: &Fixture) -> String {
    let text = shown(f, 300);
    text.lines().filter(|line| line.starts_with("note: — ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_method_that_no_time_was_left_to_count_has_no_other_reason() {
    let mut f = Fixture::reading();
    for index in [0, 1] {
        f.count(index, "syscalls", 7.0, true);
        f.count(index, "allocations", 0.0, true);
    }
    let no_time = Uncounted::NoTime { enough_ns: Some(12_000_000_000) };
    for method in ["mmap-window", "read-4k", "buf-reader", "pread-threads", "memory"] {
        for metric in ["syscalls", "allocations"] {
            f.analysis.notes.push(Warning::uncounted(metric, no_time).of_method(method));
        }
    }
    let expected = "note: — calls, alloc of mmap-window, pread-threads, buf-reader, read-4k, memory: the time \
                    limit left no time to count; --time 12s would do";
    assert_eq!(reasons(&f), expected);
}

#[test]
fn what_a_run_was_too_short_to_count_has_a_reason_without_a_note() {
    let mut f = Fixture::reading();
    f.run.plan.counting = 8;
    f.count(0, "syscalls", 7.0, true);
    let mut counted = fixture::sample(0);
    counted.pass = Pass::Counting;
    f.cell_mut(0).0.samples.push(counted);
    f.cell_mut(1).0.status = Status::died(100, "ended with exit status 3");
    assert!(reasons(&f).contains("mmap: failed before this was counted"), "{}", reasons(&f));
    assert!(reasons(&f).contains("not available here"), "{}", reasons(&f));
    f.run.complete = false;
    let why = "the run is not complete, and this is counted last";
    assert!(reasons(&f).contains(why), "{}", reasons(&f));
    assert!(!reasons(&f).contains("not available here"), "{}", reasons(&f));
    // The memory of a command is counted, too; that of another method is not.
    for index in [2, 3] {
        f.cell_mut(index).1.metrics.retain(|metric| metric.metric != "peak_rss_bytes");
    }
    f.cell_mut(2).0.values.insert("startup_ns".to_owned(), vec![1e6; 100].into());
    let all = reasons(&f);
    let of = |method: &str| {
        let found = all.lines().find(|line| line.contains(&format!("memory of {method}:")));
        found.map(|line| line.contains(why))
    };
    assert_eq!([of("mmap-window"), of("read-4k")], [Some(true), Some(false)], "{all}");
}

#[test]
fn a_job_without_payload_has_no_throughput() {
    let mut f = Fixture::reading();
    for cell in &mut f.analysis.cells {
        cell.metrics.retain(|metric| metric.metric != "throughput_bytes_per_s");
    }
    let text = shown(&f, 80);
    assert!(!text.contains("GB/s") && !text.contains("throughput"), "{text}");
}

#[test]
fn waiting_for_a_cpu_is_left_out_where_it_would_decide() {
    let mut f = Fixture::new();
    f.family().metric = "wall_less_wait_ns";
    f.measured("read", [13.8, 9.0, 2.1]).metric("wall_less_wait_ns", 9.1e6, 100);
    f.measured("mmap", [14.9, 8.0, 130.0]).metric("wall_less_wait_ns", 8.1e6, 100);
    f.versus(Verdict::Faster, [0.89, 0.885, 0.895]);
    f.comparison().metric = "wall_less_wait_ns".to_owned();
    assert_snapshot!(shown(&f, 80), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    run 7 · 2026-01-02 03:04 UTC · warm cache · 100 rounds in 1 session, 2.87 s of
    samples · size=128Mi

              time p50        × the time of read              CPU  memory
      method    ms 95 %       by round, 95 %      verdict      ms     MiB
    ─────────────────────────────────────────────────────────────────────
    * mmap    14.9 14.8–15.1  0.890 0.885–0.895   faster     8.00     130
      read    13.8 13.7–14.0  1.000               reference  9.00    2.10

    Fastest here: mmap — 11.0 % less time than read (95 % interval 10.5–11.5 %,
    without the wait for a CPU), in 130 MiB of memory. Less memory: read, 2.1 MiB.

    Ratios are of the time minus the wait for a CPU, so they are not 14.9 / 13.8.
    ");
}

/// The note below a table, which says how many there are.
fn few_notes(f: &Fixture, width: usize) -> String {
    let text =
        text(&f.run, &f.analysis, TextOptions::default(), &PageLayout { width, colour: false });
    let first = text.lines().skip_while(|line| !line.starts_with("note: "));
    first.collect::<Vec<_>>().join("\n")
}

fn warning(kind: WarningKind, method: Option<&str>, detail: &str) -> Warning {
    let warning = Warning::new(kind, detail);
    Warning {
        advice: "and what to do about it".to_owned(),
        method: method.map(Into::into),
        ..warning
    }
}

#[test]
fn of_many_notes_the_one_that_could_change_the_answer_most_is_shown() {
    let mut f = Fixture::reading();
    assert_eq!(few_notes(&f, 80), "");
    let steal = "the hypervisor took 5.0 % of the CPU time (steal): wall times include it";
    let few = "3 sessions, an interval needs 5";
    let no_verdict = |method| Warning {
        advice: "give more --time".to_owned(),
        ..warning(WarningKind::NoVerdict, Some(method), few)
    };
    f.analysis.notes = vec![
        warning(WarningKind::Drift, Some("read"), "it gets slower (τ 0.20)"),
        warning(WarningKind::WaitTakenOut, Some("read"), "12 % of its wall time"),
        warning(WarningKind::Modes, Some("mmap"), "10 % of the samples take 2.00 times as long"),
        warning(WarningKind::Steal, None, steal),
        no_verdict("mmap"),
        no_verdict("read-4k"),
        warning(WarningKind::Waited, Some("pread-threads"), "1.6 times its wall time"),
        Warning::missing("cpu_ns", "has no line of its own"),
    ];
    assert_snapshot!(few_notes(&f, 80), @"note: no verdict on 2 methods: give more --time (all 7: bytelab show 7 --notes)");
    // Several methods are counted where their names would not fit.
    assert_snapshot!(few_notes(&f, 40), @r"
    note: no verdict on 2 methods: give more
      --time (all 7: bytelab show 7 --notes)
    ");
    let mut alone = Fixture::reading();
    alone.analysis.notes = f.analysis.notes.clone();
    alone.run.id.clear();
    let shown = "note: no verdict on mmap, read-4k: give more --time (all 7: --notes)";
    assert_eq!(few_notes(&alone, 80), shown, "it is not stored");
    // The line above the table says it of a busy machine.
    f.analysis.notes = vec![warning(WarningKind::Waited, Some("mmap"), "half of its time")];
    assert!(few_notes(&f, 80).starts_with("note: mmap waited for a CPU"), "{}", few_notes(&f, 80));
    f.run.environment.facts.insert("busy_share_of_others".to_owned(), 0.5.into());
    assert_eq!(few_notes(&f, 80), "");
}

/// Reasons why figures are missing, and what figures stand for, are among them.
#[test]
fn as_many_notes_are_shown_as_are_announced() {
    let mut f = Fixture::reading();
    f.cell_mut(1).1.metrics.retain(|metric| metric.metric != "cpu_ns");
    f.count(0, "noop_ns", 1e6, false);
    f.run.plan.design = Design::Sequential;
    let check = |f: &Fixture, n: usize, announced: &str| {
        let short = TextOptions::default();
        let short = text(&f.run, &f.analysis, short, &PageLayout { width: 200, colour: false });
        assert!(short.contains(announced), "{short}");
        let all = shown(f, 200);
        assert_eq!(all.lines().filter(|line| line.starts_with("note: ")).count(), n, "{all}");
    };
    check(&f, 4, "\n4 notes: bytelab show 7 --notes\n");
    let few = |method| warning(WarningKind::NoVerdict, Some(method), "too few sessions");
    f.analysis.notes = vec![few("mmap"), few("read-4k"), Warning::missing("cpu_ns", "not known")];
    check(&f, 6, " (all 6: bytelab show 7 --notes)\n");
}

#[test]
fn what_was_recorded_about_the_whole_run_is_never_shortened() {
    let mut f = Fixture::reading();
    let lost = "another program keeps the store locked: measure again with bytelab run --resume 7";
    f.analysis.notes.push(Warning::noted(lost));
    let text = text(
        &f.run,
        &f.analysis,
        TextOptions::default(),
        &PageLayout { width: 200, colour: false },
    );
    assert!(text.contains(&format!("note: {lost}\n")), "{text}");
    assert!(!text.contains("--notes"), "{text}");
}

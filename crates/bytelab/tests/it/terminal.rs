//! The output on a terminal while a run is measured: the program runs in a pseudo-terminal, and a
//! terminal's parser reads what a person would see.

use std::fs::File;
use std::io::Read;
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;

use crate::program::{SMALL, World, cell, long_run, on_go};

const SIZE: [u16; 2] = [24, 120];

/// The program with standard error on a terminal.
struct Terminal {
    child: Child,
    /// The end of the terminal that shows what a person would see.
    shown: File,
    parser: vt100::Parser,
    /// Everything that was written to it.
    written: Vec<u8>,
    stdout: JoinHandle<String>,
}

/// What is left when the program has ended.
struct TerminalOutput {
    code: Option<i32>,
    stdout: String,
    written: String,
    /// The lines on the screen, without the empty ones.
    screen: Vec<String>,
}

fn winsize([ws_row, ws_col]: [u16; 2]) -> Winsize {
    Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }
}

fn nonzero(size: [u16; 2]) -> [NonZeroU16; 2] {
    size.map(|n| NonZeroU16::new(n).unwrap())
}

/// The end for the program, and the end that shows what a person would see.
fn terminal(size: [u16; 2]) -> (File, OwnedFd) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap();
    let terminal = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    tcsetwinsize(&terminal, winsize(size)).unwrap();
    (File::from(screen), terminal)
}

impl Terminal {
    fn start(world: &World, args: &[&str], size: [u16; 2], env: &[(&str, &str)]) -> Terminal {
        let (shown, terminal) = terminal(size);
        let mut command = world.command(args);
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR").envs(env.iter().copied());
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(terminal))
            .spawn()
            .unwrap();
        drop(command);
        let mut out = child.stdout.take().unwrap();
        let stdout = std::thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        let [rows, columns] = nonzero(size);
        let parser = vt100::Parser::new(rows, columns, 0);
        Terminal { child, shown, parser, written: Vec::new(), stdout }
    }

    /// Reads what was written since, or returns that the program has ended.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        // After the last close of the terminal's other end, reading fails (EIO).
        match self.shown.read(&mut buffer) {
            Ok(n) if n > 0 => {
                self.written.extend_from_slice(&buffer[..n]);
                self.parser.process(&buffer[..n]);
                true
            }
            _ => false,
        }
    }

    /// Reads until the screen shows this.
    fn until<T>(&mut self, mut seen: impl FnMut(&vt100::Screen) -> Option<T>) -> T {
        loop {
            if let Some(seen) = seen(self.parser.screen()) {
                return seen;
            }
            assert!(self.read(), "it has ended: {}", self.parser.screen().contents());
        }
    }

    /// Reads until the step below the table has changed.
    fn until_drawn_again(&mut self) {
        let step = |screen: &vt100::Screen| {
            lines(screen).last().filter(|line| line.starts_with("round ")).cloned()
        };
        let before = self.until(step);
        self.until(|screen| step(screen).filter(|now| *now != before));
    }

    fn resize(&mut self, size: [u16; 2]) {
        tcsetwinsize(&self.shown, winsize(size)).unwrap();
        let [rows, columns] = nonzero(size);
        self.parser.screen_mut().set_size(rows, columns);
    }

    /// As Ctrl-C does.
    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    fn end(mut self) -> TerminalOutput {
        while self.read() {}
        let code = self.child.wait().unwrap().code();
        let screen = lines(self.parser.screen());
        let written = String::from_utf8_lossy(&self.written).into_owned();
        TerminalOutput { code, stdout: self.stdout.join().unwrap(), written, screen }
    }
}

/// The lines of a screen, without the empty ones.
fn lines(screen: &vt100::Screen) -> Vec<String> {
    let (_, columns) = screen.size();
    let lines = screen.rows(0, columns.get()).map(|line| line.trim_end().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// The first figure in the row of a method, which is its p50.
fn figure(screen: &vt100::Screen, method: &str) -> Option<f64> {
    let lines = lines(screen);
    let row = lines.iter().find(|line| line.trim_start_matches(['*', ' ']).starts_with(method))?;
    row.split_whitespace().find_map(|word| word.parse().ok())
}

/// A worker whose samples take longer and longer, by its own clock, so that its p50 changes.
fn growing(world: &World, bytes: u64) -> String {
    let go = format!("echo \"done $n wall=$((3000000 + n % 10000 * 1000)) bytes={bytes}\"");
    world.worker("grow", &on_go(&go))
}

#[test]
fn the_figures_of_the_table_change_while_it_is_measured_and_ctrl_c_leaves_the_result_alone() {
    let world = World::new();
    let worker = growing(&world, 8 << 20);
    let args = long_run("8MiB", "1000000", &worker);
    let mut terminal = Terminal::start(&world, &args, SIZE, &[]);
    let first = terminal.until(|screen| figure(screen, "grow"));
    let later = terminal.until(|screen| figure(screen, "grow").filter(|now| *now > first));
    assert!(first > 0.0 && later > first, "{first} {later}");
    terminal.until(|screen| lines(screen).iter().any(|line| line.contains(" time ")).then_some(()));
    terminal.until(|screen| lines(screen).last()?.starts_with("round ").then_some(()));
    terminal.interrupt();
    let TerminalOutput { code, stdout, screen, .. } = terminal.end();
    assert_eq!(code, Some(130), "{screen:#?}");
    assert!(stdout.contains("not complete") && stdout.contains("grow"), "{stdout}");
    assert!(!stdout.contains('\u{1b}'), "{stdout:?}");
    assert!(screen.iter().all(|line| line.starts_with("bytelab: ")), "{screen:#?}");
    assert!(screen.last().unwrap().ends_with("bytelab run --resume 1"), "{screen:#?}");
}

#[test]
fn a_table_is_never_larger_than_the_terminal_and_says_how_much_is_left_out() {
    let world = World::new();
    let worker = growing(&world, 1 << 20);
    let all = [&long_run("1MiB", "1000000", &worker)[..], &["--method", "read-*"]].concat();
    let mut terminal = Terminal::start(&world, &all, [10, 40], &[]);
    let top = terminal.until(|screen| {
        let lines = lines(screen);
        let is_cut = lines.iter().any(|line| line.starts_with("… ") && line.ends_with(" more"));
        (is_cut && lines.last()?.starts_with("round ")).then(|| lines[0].clone())
    });
    // What is above the table is not pushed out by it, however often it is drawn.
    for n in [1, 2] {
        terminal.until_drawn_again();
        let screen = terminal.parser.screen();
        assert_eq!(lines(screen)[0], top, "drawn again {n} times");
        let rows = lines(screen).len() as u16;
        assert!((rows - 9..rows).all(|row| !screen.row_wrapped(row)), "{}", screen.contents());
    }
    terminal.interrupt();
    let ended = terminal.end();
    assert!(!ended.screen.join("\n").contains(" more"), "{:#?}", ended.screen);
    assert_eq!(ended.code, Some(130));
}

#[test]
fn a_terminal_can_be_resized() {
    let world = World::new();
    let worker = growing(&world, 8 << 20);
    let args = long_run("8MiB", "1000000", &worker);
    let mut terminal = Terminal::start(&world, &args, SIZE, &[]);
    for size in [[8, 50], [30, 30], [7, 200]] {
        terminal.resize(size);
        terminal.until_drawn_again();
        terminal.until(|screen| figure(screen, "grow"));
    }
    terminal.interrupt();
    let TerminalOutput { screen, .. } = terminal.end();
    assert!(screen.iter().all(|line| line.starts_with("bytelab: ")), "{screen:#?}");
}

/// The states of the lines that are drawn repeatedly, in order.
fn drawn(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if rest.next() == Some('[') {
            // A control sequence ends with a letter.
            rest.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    plain.split(['\r', '\n']).map(|line| line.trim().to_owned()).filter(|l| !l.is_empty()).collect()
}

fn position(lines: &[String], text: &str) -> usize {
    let at = lines.iter().position(|line| line.contains(text));
    at.unwrap_or_else(|| panic!("{text:?} is not seen in {lines:#?}"))
}

/// The states of the lines that a run shows.
fn seen(world: &World, args: &[&str]) -> Vec<String> {
    drawn(&Terminal::start(world, args, SIZE, &[]).end().written)
}

#[test]
fn the_preparation_and_the_rounds_are_seen_while_they_last() {
    let world = World::new();
    // The table is drawn again after 200 ms, and the rounds take longer than that.
    let args = "run reading -m read,mmap --size 64KiB --rounds 3000 --sessions 1 --counting 0";
    let lines = seen(&world, &args.split(' ').collect::<Vec<_>>());
    let at = |what| position(&lines, what);
    assert!(at("making or reading the data") < at("measuring 2 methods of reading: "));
    assert!(at("measuring 2 methods") < at("preparing "), "{lines:#?}");
    assert!(at("preparing ") < at(" of at most 3000"), "{lines:#?}");
    // A printed line is not mixed with what is drawn.
    let printed = lines.iter().find(|line| line.contains("measuring 2 methods")).unwrap();
    assert!(printed.starts_with("bytelab: measuring"), "{printed:?}");
}

#[test]
fn a_check_and_the_numbers_show_their_rounds_in_one_line() {
    let world = World::new();
    let lines = seen(&world, &["numbers", "--rounds", "2", "--row", "l1-load"]);
    position(&lines, "round 2 of at most 2");
    let (_, json) = world.reading(&["--method", "read,mmap"]);
    let id = json["id"].as_str().unwrap();
    let lines = seen(&world, &["check", "--allow", "wall=5%", "--baseline", id]);
    position(&lines, "round 3 of at most 3");
    assert!(!lines.iter().any(|line| line.contains("verdict")), "{lines:#?}");
}

#[test]
fn bench_shows_figures_while_it_measures() {
    let world = World::new();
    let args = ["bench", "-r", "4", "-n", "waits", "sleep 0.3"];
    let mut terminal = Terminal::start(&world, &args, SIZE, &[]);
    let shown_ms = terminal.until(|screen| figure(screen, "waits"));
    assert!((300.0..3000.0).contains(&shown_ms), "{shown_ms}");
    // What the command prints is not mixed with a table.
    let shown = ["bench", "-r", "3", "--show-output", "sleep 0.3; echo said"];
    let lines = seen(&world, &shown);
    assert!(!lines.iter().any(|line| line.contains(" p50 ")), "{lines:#?}");
}

/// A run that ends when all is decided, of `read` and a method with one figure.
fn decided<'a>(worker: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = "run reading --method read --size 64KiB --time 10s --counting 0 --json".split(' ');
    fixed.chain(["--worker", worker]).chain(more.iter().copied()).collect()
}

/// A worker with the answer of `read` and one figure.
fn constant(world: &World) -> String {
    let (_, json) = world.reading(&["--method", "read", "--no-store"]);
    let answer = cell(&json, "read")["answer"].as_str().unwrap();
    let go = format!("echo \"done $n wall=5000000 bytes=65536 answer={answer}\"");
    world.worker("constant", &on_go(&go))
}

#[test]
fn without_a_table_there_is_a_line_per_look_and_no_code_of_a_terminal() {
    let world = World::new();
    let worker = constant(&world);
    let is_look = |line: &str| line.starts_with("bytelab: ") && line.contains(" of 1 decided");
    let args = decided(&worker, &[]);
    let ran = world.run(&args);
    assert!(ran.stderr.lines().any(is_look), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
    let dumb = Terminal::start(&world, &args, SIZE, &[("TERM", "dumb")]).end();
    assert!(dumb.written.lines().any(is_look), "{}", dumb.written);
    assert!(!dumb.written.contains('\u{1b}'), "{}", dumb.written);
    let quiet = world.run(&decided(&worker, &["--progress", "none"]));
    assert!(!quiet.stderr.lines().any(is_look), "{}", quiet.stderr);
}

#[test]
fn where_colour_is_not_wanted_the_step_is_one_line_without_a_table() {
    let world = World::new();
    let args = [&["run", "reading", "-m", "read,mmap"], SMALL].concat();
    let ended = Terminal::start(&world, &args, SIZE, &[("NO_COLOR", "1")]).end();
    let lines = drawn(&ended.written);
    position(&lines, "round 1 of at most 3");
    assert!(!lines.iter().any(|line| line.contains("verdict")), "{lines:#?}");
    assert!(ended.screen.iter().all(|line| line.starts_with("bytelab: ")), "{:#?}", ended.screen);
}

#[test]
fn an_event_per_look_is_a_line_of_json_whose_last_verdicts_are_those_of_the_run() {
    let world = World::new();
    let worker = constant(&world);
    let ran = world.run(&decided(&worker, &["--progress", "json"]));
    let lines = ran.stderr.lines().filter(|line| line.starts_with('{'));
    let events: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let sessions = |event: &Value| event["points"][0]["methods"][0]["sessions"].as_u64().unwrap();
    assert_eq!(sessions(&events[0]), 6, "{events:#?}");
    assert!(events.iter().all(|event| event["event"] == "look" && event["run"] == "1"));
    assert!(events.is_sorted_by_key(sessions), "{events:#?}");
    let run = ran.json();
    let decides = |comparison: &&Value| comparison["decides"] == true;
    let result = run["comparisons"].as_array().unwrap().iter().find(decides).unwrap();
    let last = &events.last().unwrap()["points"][0];
    assert_eq!(last["reference"], "read");
    assert_eq!(last["best"], run["families"][0]["best"]);
    for key in ["method", "sessions", "ratio", "low", "high", "verdict"] {
        assert_eq!(last["methods"][0][key], result[key], "{key}: {last:#?} {result:#?}");
    }
}

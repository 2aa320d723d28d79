//! The output on a terminal while a run is measured: the program runs in a pseudo-terminal.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::{SMALL, World};

/// A terminal of 24 lines of 100 cells: the end for the program, and the end that shows what a
/// person would see.
fn terminal() -> (File, OwnedFd) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let size = Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    let name = ptsname(&screen, Vec::new()).unwrap();
    let terminal = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    tcsetwinsize(&terminal, size).unwrap();
    (File::from(screen), terminal)
}

/// Everything that a run with these arguments wrote to the terminal, and its standard output.
fn seen(world: &World, args: &[&str]) -> (String, String) {
    let (mut screen, terminal) = terminal();
    let mut command = world.command(args);
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::from(terminal))
        .spawn()
        .unwrap();
    drop(command);
    let mut out = child.stdout.take().unwrap();
    let told = std::thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        text
    });
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    // After the last close of the terminal's other end, reading fails (EIO).
    while let Ok(n) = screen.read(&mut buffer) {
        if n == 0 {
            break;
        }
        all.extend_from_slice(&buffer[..n]);
    }
    child.wait().unwrap();
    (String::from_utf8_lossy(&all).into_owned(), told.join().unwrap())
}

/// The states of the progress line, which is drawn repeatedly, in order.
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

#[test]
fn the_preparation_and_the_rounds_are_seen_while_they_last() {
    let world = World::new();
    let args = [&["run", "reading", "-m", "read,mmap"], SMALL].concat();
    let (text, _) = seen(&world, &args);
    let lines = drawn(&text);
    let at = |what| position(&lines, what);
    assert!(at("making or reading the data") < at("measuring 2 methods of reading: "));
    assert!(at("measuring 2 methods") < at("preparing "), "{lines:#?}");
    assert!(at("preparing ") < at("round 1 of at most 3"), "{lines:#?}");
    assert!(at("round 1 of at most 3") < at("round 3 of at most 3"), "{lines:#?}");
    // A printed line is not mixed with the progress line.
    let printed = lines.iter().find(|line| line.contains("measuring 2 methods")).unwrap();
    assert!(printed.starts_with("bytelab: measuring"), "{printed:?}");
}

#[test]
fn a_run_that_goes_on_and_a_check_and_the_numbers_are_seen_too() {
    let world = World::new();
    let row = ["numbers", "--rounds", "2", "--row", "l1-load"];
    let (text, _) = seen(&world, &row);
    position(&drawn(&text), "round 2 of at most 2");
    let (_, json) = world.reading(&["--method", "read,mmap"]);
    let id = json["id"].as_str().unwrap();
    let (text, _) = seen(&world, &["check", "--allow", "wall=5%", "--baseline", id]);
    position(&drawn(&text), "round 3 of at most 3");
}

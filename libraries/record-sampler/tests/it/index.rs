//! The index beside a file: used while it fits, made again when it does not.

use std::fs;
use std::path::Path;
use std::time::Duration;

use record_sampler::{Format, Population, Sampler, Stats};

use crate::files::file;

fn draw(path: &Path) -> (String, Stats) {
    let mut out = Vec::new();
    let mut population = Population::open([path], Format::Lines).unwrap();
    let sampler = Sampler::exactly(100).seed(3).with_index();
    let stats = sampler.write(&mut population, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), stats)
}

fn text(n: usize) -> String {
    (0..n).fold(String::new(), |text, i| text + &format!("line {i}\n"))
}

#[test]
fn an_index_makes_the_next_sample_read_only_what_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", text(1_000_000));
    let size = fs::metadata(&path).unwrap().len();
    let (first, stats) = draw(&path);
    assert_eq!(stats.reason, "the index was made");
    assert!(stats.bytes_read > size);
    let (second, stats) = draw(&path);
    assert_eq!((first, "the index is used"), (second, stats.reason.as_str()));
    assert_eq!(stats.seen, Some(1_000_000));
    assert!(stats.bytes_read < 100 * (17 << 10) * 2, "{}", stats.bytes_read);
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn an_index_that_does_not_fit_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", text(10_000));
    let index = dir.path().join("lines.nlx");
    let made = |what: &str| assert_eq!(draw(&path).1.reason, "the index was made", "{what}");
    let used = || assert_eq!(draw(&path).1.reason, "the index is used");
    made("missing");
    used();
    fs::write(&path, text(10_001)).unwrap();
    made("another size");
    used();
    let old = fs::metadata(&path).unwrap().modified().unwrap();
    let set_time = |time| {
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(time).unwrap();
    };
    set_time(old + Duration::from_nanos(1));
    made("another time");
    let whole = fs::read(&path).unwrap();
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let mut other = whole.clone();
    other[0] = b'x';
    fs::write(&path, other).unwrap();
    set_time(time);
    made("another content of the same size and time");
    let sound = fs::read(&index).unwrap();
    for at in [3, 9, 20, 35, 45, 50, 60, sound.len() - 1] {
        let mut broken = sound.clone();
        broken[at] ^= 1;
        fs::write(&index, broken).unwrap();
        made("a broken byte");
    }
    fs::write(&index, &sound[..sound.len() - 1]).unwrap();
    made("cut");
    fs::write(&index, "").unwrap();
    made("empty");
    used();
}

#[test]
fn an_index_of_json_lines_is_of_lines_that_are_not_blank() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", text(100_000));
    let draw_json = || {
        let mut population = Population::open([&path], Format::JsonLines).unwrap();
        let mut out = Vec::new();
        let sampler = Sampler::exactly(100).seed(3).with_index();
        let stats = sampler.write(&mut population, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), stats)
    };
    // That of plain lines does not know whether some are blank.
    let (expected, _) = draw(&path);
    for reason in ["the index was made", "the index is used"] {
        let (drawn, stats) = draw_json();
        assert_eq!((drawn.as_str(), stats.reason.as_str()), (expected.as_str(), reason));
    }
    assert_eq!(draw(&path).1.reason, "the index is used");
    // Wherever a blank line is, also where blocks begin.
    let sound = text(100_000);
    for at in [0, 16 << 10, 256 << 10, sound.len() / 2, sound.len()] {
        let at = sound[..at].rfind('\n').map_or(0, |before| before + 1);
        fs::write(&path, [&sound[..at], " \r\n", &sound[at..]].concat()).unwrap();
        let (drawn, stats) = draw_json();
        assert_eq!((drawn.as_str(), stats.seen), (expected.as_str(), Some(100_000)), "{at}");
        assert!(stats.reason.starts_with("the index was not kept: "), "{}", stats.reason);
    }
}

#[test]
fn a_file_that_is_no_index_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", text(1000));
    let other = file(dir.path(), "lines.nlx", "of another program");
    let (sample, stats) = draw(&path);
    assert_eq!(sample.lines().count(), 100);
    let text = format!("{}: is there already, and is no index", other.display());
    assert_eq!(stats.reason, format!("the index was not kept: {text}"));
    assert_eq!(fs::read(other).unwrap(), b"of another program");
}

#[test]
fn where_no_index_can_be_kept_the_sample_is_drawn_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", text(1000));
    fs::create_dir(dir.path().join("lines.nlx")).unwrap();
    let (sample, stats) = draw(&path);
    assert_eq!(sample.lines().count(), 100);
    assert!(stats.reason.starts_with("the index was not kept: "), "{}", stats.reason);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

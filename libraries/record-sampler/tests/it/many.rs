//! So many lines that several threads fetch them: they are those that are drawn, in order.

use record_sampler::{
    Error, ErrorKind, Exactly, FetchMethod, Format, Population, Rng, Sampler, WithReplacement,
};

use crate::files::{file, sample};

const LINES: u64 = 300_000;
const N: u64 = 100_000;

/// Among short lines one of 700,000 bytes every so often, so that what a thread holds is not
/// enough.
fn lines() -> Vec<String> {
    let long = "x".repeat(700_000);
    (0..LINES)
        .map(|i| match i % 40_000 {
            7..=9 => format!("{i} {long}\r\n"),
            _ => format!("{i}{}\n", "-".repeat((i % 60) as usize)),
        })
        .collect()
}

fn chosen(lines: &[String], ranks: impl Iterator<Item = u64>) -> String {
    ranks.map(|rank| lines[rank as usize].as_str()).collect()
}

#[test]
fn lines_come_in_order_and_as_often_as_they_are_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let lines = lines();
    let half = lines.len() / 2;
    let paths = [
        file(dir.path(), "a", lines[..half].concat()),
        file(dir.path(), "b", lines[half..].concat()),
    ];
    for (seed, method) in [(1, FetchMethod::Pread), (2, FetchMethod::Mmap), (3, FetchMethod::Auto)]
    {
        let sampler = Sampler::exactly(N).seed(seed).by(method);
        let expected = chosen(&lines, Exactly::new(Rng::new(seed), N, LINES));
        assert!(sample(&sampler, &paths, Format::Lines) == expected, "{method}");
        let sampler = sampler.with_replacement();
        let expected = chosen(&lines, WithReplacement::new(Rng::new(seed), N, LINES));
        assert!(sample(&sampler, &paths, Format::Lines) == expected, "{method}, repeated");
    }
}

#[test]
fn a_last_line_without_end_gets_one_and_every_byte_is_reported_once() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    let dir = tempfile::tempdir().unwrap();
    let mut text = lines().concat();
    text.pop();
    let reported = Arc::new(AtomicU64::new(0));
    let path = file(dir.path(), "open", &text);
    let sum = reported.clone();
    let sampler = Sampler::at_most(u64::MAX).watched(move |bytes| {
        sum.fetch_add(bytes, Ordering::Relaxed);
        true
    });
    assert!(sample(&sampler, &[path], Format::Lines) == text.clone() + "\n");
    // Once to count the lines, and once to fetch them.
    assert_eq!(reported.load(Ordering::Relaxed), 2 * text.len() as u64);
}

#[test]
fn the_wish_to_stop_and_a_writer_that_fails_end_it() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let dir = tempfile::tempdir().unwrap();
    let text = lines().concat();
    let path = file(dir.path(), "lines", &text);
    let ended = |sampler: &Sampler, room: usize| -> Error {
        let mut population = Population::open([&path], Format::Lines).unwrap();
        sampler.write(&mut population, &mut Full(room)).unwrap_err()
    };
    assert_eq!(ended(&Sampler::exactly(N), 1 << 20).kind(), ErrorKind::Write);
    let left = std::sync::atomic::AtomicI64::new(text.len() as i64 + 1_000_000);
    let stopping = Sampler::exactly(N).watched(move |bytes| {
        left.fetch_sub(bytes as i64, std::sync::atomic::Ordering::Relaxed) >= bytes as i64
    });
    assert_eq!(ended(&stopping, usize::MAX).kind(), ErrorKind::Stopped);
}

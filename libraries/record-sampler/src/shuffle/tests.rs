//! The same order with little memory and with much, and nothing lost.

use super::*;
use crate::random::Rng;
use crate::sink::RecordSink;

/// Records of all lengths, a few of them long.
fn records(n: u64) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(8);
    (0..n)
        .map(|i| {
            let len = if rng.below(50) == 0 { 3000 } else { rng.below(40) };
            let mut record = i.to_string().into_bytes();
            record.resize(record.len() + len as usize, b' ');
            record
        })
        .collect()
}

fn feed(sink: &mut dyn Sink, records: &[Vec<u8>]) {
    for record in records {
        let (first, rest) = record.split_at(record.len() / 2);
        sink.piece(first).unwrap();
        sink.piece(rest).unwrap();
        sink.end(Place { at: 0, len: 0 }, false).unwrap();
    }
}

#[test]
fn the_order_depends_on_the_seed_and_not_on_the_memory() {
    for n in [0, 1, 2, 7, 3000] {
        let records = records(n);
        let order = random_order(records.len(), 3);
        let expected: Vec<_> = order.map(|number| records[number].clone()).collect();
        for memory in [0, 1, 1000, 20_000, 300_000, 1 << 30] {
            // The size is an estimate, and may be far from the truth.
            for bytes in [0, 50_000, 1 << 30] {
                let request = Shuffle { records: n, bytes, seed: 3, memory };
                let mut shuffler = Shuffler::new(&request, false).unwrap();
                feed(&mut shuffler, &records);
                let is_spilled = shuffler.shelf.spill.is_some();
                assert!(n < 3000 || memory > 20_000 || is_spilled, "{memory} {bytes}");
                assert!(memory < 1 << 30 || !is_spilled, "{memory} {bytes}");
                let mut list = RecordSink::default();
                shuffler.finish(None, &mut list).unwrap();
                assert!(list.records == expected, "{n} {memory} {bytes}");
            }
            let mut spool = Spool::new(3, memory);
            feed(&mut spool, &records);
            let mut list = RecordSink::default();
            spool.finish(&mut list).unwrap();
            assert!(list.records == expected, "{n} {memory}");
        }
    }
}

#[test]
fn more_records_than_temporary_files_can_hold_are_refused() {
    // Long records of files are not stored.
    let long = Shuffle { records: 9, bytes: 1 << 60, seed: 0, memory: 1 << 28 };
    assert!(Shuffler::new(&long, true).is_ok() && Shuffler::new(&long, false).is_err());
    let request = Shuffle { records: 1 << 45, bytes: 1 << 50, seed: 0, memory: 1 << 28 };
    let error = Shuffler::new(&request, true).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::BadRequest);
    let text = error.to_string();
    assert!(
        text.starts_with("35184372088832 records in random order need temporary files"),
        "{text}"
    );
}

//! Any bytes as CSV: no panic; all records together are the input without its empty lines; and
//! there are as many as `csv-core` finds.
#![no_main]

mod pieces;

use csv_core::{ReadRecordResult, Reader};
use libfuzzer_sys::fuzz_target;
use pieces::Pieces;
use record_sampler::{Column, ErrorKind, Format, Population, Sampler};

const CSV: Format = Format::Csv { delimiter: b',' };

fn count(bytes: &[u8]) -> usize {
    let mut reader = Reader::new();
    let (mut rest, mut out, mut ends) = (bytes, vec![0; bytes.len() + 1], vec![0; bytes.len() + 2]);
    let mut records = 0;
    loop {
        let (result, read, ..) = reader.read_record(rest, &mut out, &mut ends);
        rest = &rest[read..];
        match result {
            ReadRecordResult::Record => records += 1,
            ReadRecordResult::End => return records,
            ReadRecordResult::InputEmpty => {}
            full => panic!("{full:?}: a record is longer than the input"),
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    // The last byte decides how many at a time; it is one of them.
    let len = 1 << (bytes.last().copied().unwrap_or(0) % 14);
    let population = || Population::stream(Pieces::new(bytes.to_vec(), len), CSV);
    let all = Sampler::at_most(u64::MAX).records(&mut population());
    match all {
        Ok(records) => {
            let mut rest = bytes;
            for record in &records {
                // Empty lines stand before a record.
                while let [b'\n', more @ ..] | [b'\r', b'\n', more @ ..] = rest {
                    rest = more;
                }
                rest = rest.strip_prefix(record.as_slice()).expect("the records are parts of the input");
            }
            // Records that are passed over are counted as those that are found.
            let stats = Sampler::at_most(1).write(&mut population(), &mut std::io::sink());
            assert_eq!(stats.expect("a sound table").seen, Some(records.len() as u64));
            // A lone CR ends a record for `csv-core`, and belongs to the field here.
            if !bytes.contains(&b'\r') && !bytes.starts_with(b"\xef\xbb\xbf") {
                assert_eq!(records.len(), count(bytes));
            }
        }
        Err(error) => {
            let kinds = [ErrorKind::Malformed, ErrorKind::BadDelimiter];
            // The bytes are compressed, or not text.
            let other_kinds = [ErrorKind::BadRequest, ErrorKind::Io];
            assert!([kinds, other_kinds].concat().contains(&error.kind()), "{error}");
        }
    }
    let _ = Sampler::at_most(3).per(Column::Number(2)).records(&mut population());
    let _ = Sampler::at_most(3).weighted_by("a").records(&mut population().with_header());
});

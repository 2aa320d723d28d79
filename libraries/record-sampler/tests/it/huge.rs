//! More records than memory holds: an error, no abort.

use std::io;

use record_sampler::{ErrorKind, FetchMethod, Format, Population, Sampler};

use crate::files::{CSV, file};

/// More than an address can represent, and more than any memory has.
const HUGE: [u64; 3] = [u64::MAX, 1 << 60, 1 << 45];

#[test]
fn a_huge_number_of_draws_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", "a\nb\n");
    for n in HUGE {
        let text = format!(
            "memory cannot hold {n} records at once: draw fewer, or from a file and in its order"
        );
        let check = |sampler: Sampler, mut population: Population| {
            let error = sampler.write(&mut population, &mut io::sink()).unwrap_err();
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::BadRequest, text.clone()));
        };
        for format in [Format::Lines, Format::JsonLines, CSV, Format::Fixed(2)] {
            let drawn = || Sampler::exactly(n).with_replacement();
            check(drawn(), Population::stream(&b"a\nb\n"[..], format));
            check(drawn().by(FetchMethod::Stream), Population::open([&path], format).unwrap());
            let mut population = Population::open([&path], format).unwrap();
            let error = drawn().shuffled().write(&mut population, &mut io::sink()).unwrap_err();
            let text = format!("{n} records in random order need temporary files of about ");
            assert_eq!(error.kind(), ErrorKind::BadRequest);
            assert!(error.to_string().starts_with(&text), "{error}");
        }
    }
}

#[test]
fn a_huge_number_that_needs_no_memory_is_drawn_or_too_many() {
    struct Full(usize);
    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", "1,a\n2,b\n");
    let key = || record_sampler::Column::Number(1);
    for n in HUGE {
        for format in [Format::Lines, CSV, Format::Fixed(4)] {
            let open = || Population::open([&path], format).unwrap();
            let repeated = Sampler::exactly(n).with_replacement();
            let error = repeated.write(&mut open(), &mut Full(5)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Write, "{format:?}: {error}");
            let stream = || Population::stream(&b"1,a\n2,b\n"[..], format);
            for few in [Sampler::exactly(n), Sampler::exactly(n).shuffled()] {
                for mut population in [open(), stream()] {
                    let error = few.records(&mut population).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::TooFew, "{format:?}: {error}");
                }
            }
        }
        for few in [Sampler::exactly(n).per(key()), Sampler::exactly(n).weighted_by(key())] {
            let mut population = Population::open([&path], CSV).unwrap();
            assert_eq!(few.records(&mut population).unwrap_err().kind(), ErrorKind::TooFew);
        }
    }
}

//! Texts of all formats, in pieces of any size.

use super::*;

const CSV: Format = Format::Csv { delimiter: b',' };

/// Joins the records of a text, fed in pieces of this many bytes, by `|`; or returns the error.
fn split(format: Format, text: &str, piece: usize) -> String {
    let mut splitter = Splitter::new(format, u64::MAX);
    let (mut records, mut open) = (Vec::new(), Vec::new());
    for piece in text.as_bytes().chunks(piece) {
        let mut rest = piece;
        while !rest.is_empty() {
            let end = splitter.end(rest).unwrap();
            let (record, more) = rest.split_at(end.unwrap_or(rest.len()));
            open.extend_from_slice(record);
            if end.is_some() {
                records.push(std::mem::take(&mut open));
            }
            rest = more;
        }
    }
    match splitter.finish() {
        Ok(true) => records.push(open),
        Ok(false) => {}
        Err((text, before_end)) => return format!("{text} {before_end} before the end"),
    }
    let text = |record: &Vec<u8>| {
        let bytes = if format == CSV { trimmed(record) } else { record };
        String::from_utf8_lossy(bytes).into_owned()
    };
    records.iter().map(text).collect::<Vec<_>>().join("|")
}

fn check(format: Format, text: &str, expected: &str) {
    for piece in [1, 2, 3, 5, 1000] {
        assert_eq!(split(format, text, piece), expected, "{text:?} by {piece}");
    }
}

#[test]
fn a_line_ends_with_its_line_feed_or_with_the_input() {
    check(Format::Lines, "a\nb\r\n\nc", "a\n|b\r\n|\n|c");
    check(Format::Lines, "", "");
    check(Format::Lines, "\n", "\n");
    check(Format::JsonLines, "{}\n[]", "{}\n|[]");
}

#[test]
fn a_csv_record_may_hold_line_breaks_in_quotes() {
    check(CSV, "a,b\n\"x\ny\",\"\"\"\n\"\n", "a,b\n|\"x\ny\",\"\"\"\n\"\n");
    check(CSV, "a\"b\nc\"d\n", "a\"b\n|c\"d\n");
    check(CSV, "\"a\"b\"\n1\n", "\"a\"b\"\n|1\n");
    check(CSV, "1,\"\"\n2,\" \"", "1,\"\"\n|2,\" \"");
    check(CSV, "\n\r\na\n\n\r\nb\n\r\n", "a\n|b\n");
    check(CSV, "\ra\n", "\ra\n");
    check(Format::Csv { delimiter: b';' }, "a:\"b\nc;\"d\n\"\n", "a:\"b\n|c;\"d\n\"\n");
}

#[test]
fn what_ends_within_a_record_is_reported() {
    check(CSV, "a\n\"b\nc", "a quote is never closed, it is opened 4 before the end");
    check(
        Format::Fixed(3),
        "abcdefgh",
        "the last record has 2 bytes instead of 3, it begins 2 before the end",
    );
    check(Format::Fixed(4), "abcdefgh", "abcd|efgh");
}

#[test]
fn passing_over_records_stops_at_the_limit() {
    let text = "ab\n".repeat(2000);
    for limit in [0u64, 1, 341, 342, 1500, 2000, 3000] {
        for format in [Format::Lines, CSV] {
            let passed = Splitter::new(format, 3).pass(text.as_bytes(), limit);
            assert_eq!(passed, Ok((limit.min(2000), (limit.min(2000) * 3) as usize)));
        }
    }
}

#[test]
fn a_record_that_is_too_large_is_found_where_it_begins() {
    let text = "ab\n\n\nabc\n";
    for (max, begins) in [(4, None), (3, Some(5)), (2, Some(0))] {
        for piece in [1, 2, 3, 5, 1000] {
            let mut splitter = Splitter::new(CSV, max);
            let found = (0i64..).step_by(piece).zip(text.as_bytes().chunks(piece)).find_map(
                |(start, piece)| {
                    let flaw = splitter.pass(piece, u64::MAX).err()?;
                    Some(flaw.after(start as usize))
                },
            );
            assert_eq!(found, begins.map(RecordFlaw::TooLarge), "{max} by {piece}");
        }
    }
}

#[test]
fn a_quote_behind_another_separator_that_is_not_closed_in_its_line_is_a_flaw() {
    for (delimiter, text, expected) in [
        (b',', "1;\"first\nsecond\"\n", Some((b';', 2))),
        (b',', "a\n\n1|\"x\"|\"y\nz\"\n", Some((b'|', 5))),
        (b',', "\"a\";\"b\nc\"\n", Some((b';', 4))),
        (b';', "a,\"b\n", Some((b',', 2))),
        (b':', "a\t\"b\n", Some((b'\t', 2))),
        (b',', "1;\"x\";\"y\"\n", None),
        (b',', "1;\"x \"\"y\"\"\"\n2;\"z\"\n", None),
        (b',', "5\" pipe\nsee;5\" pipe\n", None),
        (b',', "a,\";\"\n", None),
        (b'\t', "1,\"x\n", None),
    ] {
        for piece in [1, 2, 3, 5, 1000] {
            let mut splitter = Splitter::new(Format::Csv { delimiter }, u64::MAX);
            let found = (0i64..).step_by(piece).zip(text.as_bytes().chunks(piece)).find_map(
                |(start, piece)| {
                    let flaw = splitter.pass(piece, u64::MAX).err()?;
                    Some(flaw.after(start as usize))
                },
            );
            let expected = expected.map(|(separator, at)| RecordFlaw::Foreign(separator, at));
            assert_eq!(found, expected, "{text:?} by {piece}");
        }
    }
}

#[test]
fn a_record_ends_with_any_separator() {
    let zero = Format::Separated { separator: 0 };
    check(zero, "a\nb\0\0c", "a\nb\0|\0|c");
    check(zero, "\0", "\0");
    check(Format::Separated { separator: b';' }, "\"a;b\";", "\"a;|b\";");
}

#[test]
fn a_record_has_several_lines() {
    let two = Format::LineGroups { lines: 2 };
    check(two, "a\nb\nc\r\nd\n", "a\nb\n|c\r\nd\n");
    check(two, "\n\na\nb", "\n\n|a\nb");
    check(two, "", "");
    check(two, "a\nb\nc\n", "the last record has 1 lines instead of 2, it begins 2 before the end");
    let three = Format::LineGroups { lines: 3 };
    check(three, "a\nb", "the last record has 2 lines instead of 3, it begins 3 before the end");
}

#[test]
fn a_record_begins_with_a_mark() {
    let fasta = Format::Marked { mark: b'>' };
    check(fasta, ">a\nAC\nGT\n>b\n\n>c>\nA", ">a\nAC\nGT\n|>b\n\n|>c>\nA");
    check(fasta, ">\n>", ">\n|>");
    check(fasta, ">>\n", ">>\n");
    check(fasta, "", "");
    for text in ["a", "\n>a\n", ";\n"] {
        let mut splitter = Splitter::new(fasta, u64::MAX);
        assert_eq!(splitter.end(text.as_bytes()), Err(RecordFlaw::NoMark(0)));
    }
    let mut splitter = Splitter::new(fasta, u64::MAX);
    assert_eq!(splitter.pass(b">a\n>b\n>c", 9), Ok((2, 8)));
}

//! What has no bound in the data has one here: text for people, walks, edits of many levels, and
//! documents without end.

use fleece_codec::{CheckOptions, Doc, Edit, Encoder, SharedKeys, Value, fleece, json};

/// Longer texts are of no use to people.
const DEBUG_LEN_MAX: usize = 400;

fn check_debug(what: &dyn std::fmt::Debug) {
    for text in [format!("{what:?}"), format!("{what:#?}")] {
        assert!(text.len() <= DEBUG_LEN_MAX, "{} characters: {:.80}…", text.len(), text);
    }
}

#[test]
fn debug_is_short_however_much_there_is() {
    let text = "a long text ".repeat(10_000);
    let doc = Doc::check(fleece!([text.as_str()])).unwrap();
    check_debug(&doc);
    check_debug(&doc.root().at(0).unwrap());
    let doc = Doc::check(fleece!({(text.as_str()): 1})).unwrap();
    check_debug(&doc.root().as_dict().unwrap().iter().next().unwrap().0);
    check_debug(&doc.root().deep_iter().nth(1).unwrap());

    let mut encoder = Encoder::new();
    encoder.begin_array();
    encoder.write_str(&text);
    check_debug(&encoder);
    check_debug(&json::Lines::with(text.as_bytes(), encoder, json::ParseOptions::new()));

    let mut edit = Edit::new_dict();
    for i in 0..1000 {
        edit.set(&format!("key {i}"), text.as_str());
    }
    check_debug(&edit);
    let mut keys = SharedKeys::new();
    for i in 0..1000 {
        keys.add(&format!("key{i}"));
    }
    check_debug(&keys);
    let base = Encoder::amend_append(fleece!([text.as_str()]).into()).unwrap();
    check_debug(&base);
    check_debug(&CheckOptions::new().base(fleece!([text.as_str()]).into()));
}

/// A document of arrays within each other.
fn nested(levels: usize) -> Vec<u8> {
    let mut encoder = Encoder::new();
    for _ in 0..levels {
        encoder.begin_array();
    }
    for _ in 0..levels {
        encoder.end_array();
    }
    encoder.finish().unwrap()
}

#[test]
fn a_walk_leaves_nothing_out_however_deep_it_is() {
    let doc = CheckOptions::new().depth_limit(u16::MAX).check(nested(60_000)).unwrap();
    assert_eq!(doc.root().deep_iter().count(), 60_000);
    assert_eq!(doc.root().deep_iter().last().unwrap().depth, 59_999);
}

#[test]
fn an_edit_of_many_levels_needs_no_stack() {
    let mut edit = Edit::new_dict();
    let mut inner = &mut edit;
    for _ in 0..100_000 {
        inner = inner.entry("a");
    }
    inner.set("b", 1);
    let copy = edit.clone();
    let mut encoder = Encoder::new();
    let error = encoder.write_edit(&copy).unwrap_err();
    assert_eq!(error.kind(), fleece_codec::ErrorKind::TooDeep);

    let mut shallow = Edit::new_array();
    let mut inner = &mut shallow;
    for _ in 0..5000 {
        inner.push(Edit::new_array());
        inner = inner.items().last_mut().unwrap();
    }
    let mut encoder = Encoder::new();
    encoder.write_edit(&shallow).unwrap();
    let doc = CheckOptions::new().depth_limit(u16::MAX).check(encoder.finish().unwrap()).unwrap();
    assert_eq!(doc.root().deep_iter().count(), 5001);
}

/// A pipe whose reader has gone.
struct Broken;

impl std::io::Write for Broken {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_broken_pipe_is_recognised() {
    let options = json::PrintOptions::new();
    let error = json::to_writer(Value::undefined(), &options, Broken).unwrap_err();
    assert_eq!(error.io_error_kind(), Some(std::io::ErrorKind::BrokenPipe));
    assert_eq!(error.kind(), fleece_codec::ErrorKind::Io);
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn the_same_bytes_with_other_tables_are_not_equal() {
    let keys = |name: &str| {
        let mut keys = SharedKeys::new();
        keys.add(name);
        std::sync::Arc::new(keys)
    };
    let bytes = [0x70, 0x01, 0x00, 0x00, 0x00, 0x07, 0x80, 0x03];
    let with = |name: &str| Doc::check(&bytes[..]).unwrap().with_shared_keys(keys(name));
    assert!(with("id").root() == with("id").root());
    assert!(with("id").root() != with("no").root());
    assert!(with("id").root() == Doc::check(fleece!({"id": 7})).unwrap().root());
}

#[test]
fn arrays_are_read_from_both_ends_and_dicts_in_part() {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let numbers: Vec<i64> = (0..3000).collect();
    let mut encoder = Encoder::new();
    encoder.begin_array();
    numbers.iter().for_each(|&number| encoder.write_i64(number));
    encoder.end_array();
    let doc = Doc::check(encoder.finish().unwrap()).unwrap();
    let items = || doc.root().as_array().unwrap().iter().map(|item| item.as_i64().unwrap());
    assert!(items().rev().eq(numbers.iter().rev().copied()));
    for n in [0, 1, 2998, 2999, 3000] {
        assert_eq!(items().nth(n), numbers.get(n).copied());
        assert_eq!(items().nth_back(n), numbers.iter().rev().nth(n).copied());
    }
    let (mut both, mut ends) = (items(), numbers.iter().copied());
    while let Some(first) = both.next() {
        assert_eq!((Some(first), both.next_back()), (ends.next(), ends.next_back()));
    }

    let names = ["", "a", "ab", "b", "b.x", "b.y", "ba", "c"];
    for keys in [None, Some(SharedKeys::new())] {
        let mut encoder = Encoder::new();
        if let Some(keys) = keys {
            encoder.set_shared_keys(keys);
        }
        encoder.begin_dict();
        for name in names {
            encoder.write_key(name);
            encoder.write_null();
        }
        encoder.end_dict();
        let mut doc = Doc::check(encoder.finish().unwrap()).unwrap();
        if let Some(keys) = encoder.take_shared_keys() {
            doc = doc.with_shared_keys(keys.into());
        }
        let dict = doc.root().as_dict().unwrap();
        let sorted = |pairs: fleece_codec::DictRange<'_, '_>| {
            let mut found: Vec<String> =
                pairs.map(|(key, _)| key.as_str().unwrap().to_owned()).collect();
            found.sort();
            found
        };
        for from in names {
            let expected = names.iter().filter(|name| name.starts_with(from));
            assert!(sorted(dict.prefix(from)).iter().eq(expected), "{from}");
            for to in names {
                let range = (Included(from), Excluded(to));
                let expected = names.iter().filter(|name| **name >= from && **name < to);
                assert!(sorted(dict.range(range.0, range.1)).iter().eq(expected), "{from} {to}");
                let expected = names.iter().filter(|name| **name > from && **name <= to);
                let found = sorted(dict.range(Excluded(from), Included(to)));
                assert!(found.iter().eq(expected), "{from} {to}");
            }
        }
        assert_eq!(sorted(dict.range(Unbounded, Unbounded)).len(), names.len());
    }
}

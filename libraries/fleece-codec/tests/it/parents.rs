//! Dicts with parents: however they are read, the same pairs are there.

use fleece_codec::{CheckOptions, Dict, Doc, Encoder, ErrorKind, Key, Path, json};
use std::collections::BTreeMap;

/// A chain of `dicts` dicts, each with one pair of its own and the one before as its parent. The
/// name of pair 0 is `!`, and so on.
fn chain(dicts: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    for i in 0..dicts {
        let pair = [0x41, b'!' + i, 0x00, i];
        if i == 0 {
            bytes.extend([0x70, 0x01]);
        } else {
            // The one before takes 6 bytes if it is the first, else 10.
            let distance = if i == 1 { 10 } else { 14 };
            bytes.extend([0x70, 0x02, 0x08, 0x00, 0x80, distance / 2]);
        }
        bytes.extend(pair);
    }
    bytes.extend([0x80, if dicts == 1 { 3 } else { 5 }]);
    bytes
}

fn name(i: u8) -> String {
    char::from(b'!' + i).to_string()
}

/// What iteration, conversion to JSON, `serde` and a copy say of a dict, which must be the same.
fn pairs(dict: Dict<'_>, doc: &Doc<Vec<u8>>) -> BTreeMap<String, u64> {
    let iterated: BTreeMap<String, u64> = dict
        .iter()
        .map(|(key, value)| (key.as_str().unwrap().into(), value.as_u64().unwrap()))
        .collect();
    assert_eq!(dict.len(), iterated.len());
    let mut folded = BTreeMap::new();
    dict.iter().for_each(|(key, value)| {
        folded.insert(key.as_str().unwrap().to_owned(), value.as_u64().unwrap());
    });
    assert_eq!(folded, iterated);
    assert_eq!(
        serde_json::from_str::<BTreeMap<_, _>>(&json::to_string(doc.root()).unwrap()).unwrap(),
        iterated
    );
    assert_eq!(fleece_codec::from_value::<BTreeMap<_, _>>(doc.root()).unwrap(), iterated);
    let mut encoder = Encoder::new();
    encoder.write_value(doc.root());
    let copy = Doc::check(encoder.finish().unwrap()).unwrap();
    assert_eq!(copy.root().as_dict().unwrap().len(), iterated.len());
    iterated
}

#[test]
fn lookup_and_iteration_see_the_same_parents() {
    for dicts in [1, 2, 3, 63, 64, 65, 66, 90] {
        let doc = Doc::open(chain(dicts)).unwrap();
        let dict = doc.root().as_dict().unwrap();
        let iterated = pairs(dict, &doc);
        for i in 0..dicts {
            let expected = iterated.get(&name(i)).copied();
            let found = dict.get(&name(i)).and_then(fleece_codec::Value::as_u64);
            assert_eq!(found, expected, "pair {i} of {dicts} by its name");
            let key = Key::new(&name(i));
            assert_eq!(dict.get_key(&key).is_some(), expected.is_some(), "pair {i} of {dicts}");
            let path: Path = format!("\\{}", name(i)).parse().unwrap();
            assert_eq!(path.find(doc.root()).is_some(), expected.is_some(), "pair {i} of {dicts}");
        }
        assert_eq!(iterated.len(), usize::from(dicts.min(64)));
    }
}

#[test]
fn more_generations_than_are_read_are_refused() {
    for dicts in [1, 2, 3, 63, 64] {
        assert!(Doc::check(chain(dicts)).is_ok(), "{dicts}");
    }
    for dicts in [65, 66, 90] {
        let error = Doc::check(chain(dicts)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooDeep, "{dicts}: {error}");
    }
}

#[test]
fn generations_of_a_delta_and_its_base_count_together() {
    for (dicts, is_sound) in [(63, true), (64, false)] {
        let base = chain(dicts);
        // A dict whose parent is the last one of the base.
        let distance = (10 + 2 + 4) / 2;
        let delta = [0x70, 0x01, 0x08, 0x00, 0xC0, distance, 0x80, 0x03];
        let result = CheckOptions::new().base(base.into()).check(delta);
        assert_eq!(result.is_ok(), is_sound, "{dicts}: {result:?}");
    }
}

#[test]
fn a_parent_within_its_child_is_refused() {
    // A wide dict, and in the slot of its parent an empty one, which no parent can be read from.
    let bytes = [0x78, 0x01, 0x08, 0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x00, 0x80, 0x05];
    assert_eq!(Doc::check(bytes).unwrap_err().kind(), ErrorKind::BadParent);
}

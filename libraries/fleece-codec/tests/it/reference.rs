//! The rules of the original's validator, written down as plainly as possible, against
//! `Doc::check`.

use crate::{DEFECTS, vector};
use fleece_codec::{Doc, Key};
use proptest::prelude::*;

/// Follows the rules one value after the other, with recursion, and again for each reference.
/// `None` once that takes too long.
struct Reference<'b> {
    bytes: &'b [u8],
    steps: usize,
}

const STEPS_MAX: usize = 20_000;

enum Verdict {
    Valid,
    Invalid,
    TooLong,
}

impl Reference<'_> {
    fn document(&mut self) -> Verdict {
        let len = self.bytes.len();
        if len < 2 || !len.is_multiple_of(2) {
            return Verdict::Invalid;
        }
        if len > 2 && self.bytes[len - 2] < 0x80 {
            return Verdict::Invalid;
        }
        match self.slot(len - 2, 2) {
            _ if self.steps > STEPS_MAX => Verdict::TooLong,
            true => Verdict::Valid,
            false => Verdict::Invalid,
        }
    }

    fn number(&self, at: usize, width: usize) -> Option<usize> {
        let bytes = self.bytes.get(at..at + width)?;
        Some(bytes.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte)))
    }

    fn slot(&mut self, at: usize, width: usize) -> bool {
        let Some(word) = self.number(at, width) else { return false };
        let pointer = 1 << (8 * width - 1);
        if word & pointer == 0 {
            return self.value(at, at + width);
        }
        let is_extern = word & pointer >> 1 != 0;
        if is_extern && width == 4 {
            return false;
        }
        // Without a base, a narrow extern pointer is read as one of before 2018.
        let distance = word & (pointer - 1);
        match at.checked_sub(2 * distance) {
            Some(target) if distance > 0 && self.bytes[target] >= 0x80 => self.slot(target, 4),
            Some(target) if distance > 0 => self.value(target, at),
            _ => false,
        }
    }

    /// Whether the value at `at` ends before `end`, and all within it is sound.
    fn value(&mut self, at: usize, end: usize) -> bool {
        self.steps += 1;
        if self.steps > STEPS_MAX || at + 2 > end {
            return false;
        }
        let (first, second) = (usize::from(self.bytes[at]), usize::from(self.bytes[at + 1]));
        let size = match first >> 4 {
            0 | 3 => 2,
            1 => 2 + (first & 7),
            2 => {
                if first & 8 != 0 {
                    10
                } else {
                    6
                }
            }
            4 | 5 if first & 15 < 15 => 1 + (first & 15),
            4 | 5 => match self.varint(at + 1) {
                Some((len, start)) => start + len - at,
                // A defect: such a length passes.
                None => return true,
            },
            _ => {
                let mut count = (first & 7) << 8 | second;
                let mut slot = at + 2;
                if count == 2047 {
                    // A defect: such a count passes as none.
                    let Some((rest, next)) = self.varint(slot) else { return true };
                    (count, slot) = (count + rest, next + next % 2);
                }
                let width = if first & 8 != 0 { 4 } else { 2 };
                let slots = if first >> 4 == 7 { 2 * count } else { count };
                return slot + slots * width <= end.max(at + 2)
                    && (0..slots).all(|i| self.slot(slot + width * i, width));
            }
        };
        at + size <= end
    }

    fn varint(&self, at: usize) -> Option<(usize, usize)> {
        let mut value = 0_u128;
        for (i, &byte) in self.bytes.get(at..)?.iter().take(10).enumerate() {
            value |= u128::from(byte & 0x7F) << (7 * i);
            if byte < 0x80 {
                return u32::try_from(value).ok().map(|value| (value as usize, at + i + 1));
            }
        }
        None
    }
}

fn compare(bytes: &[u8]) -> Result<(), TestCaseError> {
    let ours = Doc::check(bytes);
    match (Reference { bytes, steps: 0 }.document(), ours) {
        (Verdict::Invalid, Ok(_)) => prop_assert!(false, "accepted: {bytes:02x?}"),
        (Verdict::Valid, Err(error)) => {
            prop_assert!(DEFECTS.contains(&error.kind()), "{error:?}: {bytes:02x?}");
        }
        _ => {}
    }
    Ok(())
}

/// What fuzzing found worth keeping. It runs the same bytes for panics; here the verdict counts,
/// and that lookups answer.
#[test]
fn kept_inputs_of_the_fuzzer_get_the_verdict_of_the_rules() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/decode");
    let mut documents = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        compare(&bytes).unwrap();
        documents += 1;
        let Ok(doc) = Doc::open(&bytes) else { continue };
        let (key, other) = (Key::new("name"), Key::new("longer than eight"));
        for visit in doc.root().deep_iter().take(1000) {
            let Some(dict) = visit.value.as_dict() else { continue };
            // The first time by search, the second time where it was found.
            for key in [&key, &key, &other] {
                assert_eq!(dict.get_key(key).is_some(), dict.get(key.name()).is_some());
            }
        }
    }
    assert!(documents > 100, "the corpus is there");
}

const SMALL: [&str; 9] = [
    "array_mixed",
    "one_person",
    "str_lengths",
    "api_delta_nested_appended",
    "api_reencode_value",
    "crafted_pointer_chain",
    "crafted_wide_inline_array",
    "nest_mixed",
    "dict_order",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn changed_documents_get_the_verdict_of_the_rules(
        name in prop::sample::select(&SMALL[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in 0..3_usize,
    ) {
        let mut bytes = vector(name);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        compare(&bytes[2 * cut..])?;
    }

    #[test]
    fn dense_bytes_get_the_verdict_of_the_rules(
        words in prop::collection::vec(
            prop_oneof![
                Just(0x6001_u16), Just(0x6002), Just(0x6801), Just(0x7001), Just(0x7801), Just(0x4142),
                Just(0x8001), Just(0x8002), Just(0x8003), Just(0x8000), 0x8000..0x8010_u16, Just(0x0800),
                Just(0x4F01), Just(0x67FF), Just(0x2400), Just(0x1100), any::<u16>(),
            ],
            1..24,
        ),
        last in 0x8001..0x8010_u16,
    ) {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.extend(last.to_be_bytes());
        compare(&bytes)?;
    }
}

//! Documents laid out slot by slot get the verdict of plainly written rules, and what is sound reads as it was checked.
//!
//! `FLEECE_DOCUMENTS=1000000 cargo test --release -p fleece-codec --test it structure -- --nocapture` takes that many.

mod generator;
mod oracle;

use fleece_codec::{CheckOptions, Doc, ErrorKind};
use generator::{Choices, Laid};
use oracle::Oracle;
use std::collections::BTreeSet;

/// The generator splitmix64.
struct Random(u64);

impl Choices for Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ (z >> 31)) * n as u128) >> 64) as usize
    }
}

#[derive(Debug, PartialEq)]
enum Verdict {
    Sound,
    Broken,
    /// Sound, but refused for the cost of values that overlap.
    Refused,
}

fn checked(laid: &Laid) -> Result<Doc<&[u8]>, ErrorKind> {
    let (base, delta) = laid.bytes.split_at(laid.start);
    let mut options = CheckOptions::new().depth_limit(laid.depth_limit);
    if laid.start > 0 {
        options = options.base(base.into());
    }
    options.check(delta).map_err(|error| error.kind())
}

fn compare(laid: &Laid) -> Verdict {
    if let (Ok(doc), Ok(copy)) = (Doc::open(&laid.bytes), Doc::open(laid.bytes.clone())) {
        // Whatever is in it, and even if not all of it is sound, there is an answer, the same from both sides.
        assert_eq!(doc.root() == copy.root(), copy.root() == doc.root(), "{laid:02x?}");
    }
    let mut oracle = Oracle::new(laid);
    match (oracle.document(), checked(laid)) {
        (Err(_), Err(_)) => Verdict::Broken,
        (Ok(()), Ok(doc)) => {
            if laid.start == 0 {
                read(&doc, &oracle);
            }
            Verdict::Sound
        }
        (Ok(()), Err(ErrorKind::Overlap)) if oracle.size_bytes > laid.bytes.len() => {
            Verdict::Refused
        }
        (Ok(()), Err(ErrorKind::TooDeep)) if oracle.shares_depth() => Verdict::Refused,
        (expected, ours) => {
            panic!("the rules say {expected:?}, the check says {ours:?}: {laid:02x?}")
        }
    }
}

/// Reads all that the root leads to: each string is text, each key has a name or a number, and nothing is met that the rules
/// did not come to.
fn read(doc: &Doc<&[u8]>, oracle: &Oracle<'_>) {
    let mut met = BTreeSet::new();
    let mut open = vec![doc.root()];
    while let Some(value) = open.pop() {
        assert!(oracle.followed.contains_key(&value.offset()), "{value:?}");
        if !met.insert(value.offset()) {
            continue;
        }
        assert!(value.as_str_bytes().is_none() || value.as_str().is_some());
        open.extend(value.as_array().into_iter().flatten());
        for (key, value) in value.as_dict().into_iter().flatten() {
            assert!(key.as_str().is_some() || key.shared_index().is_some());
            open.push(value);
        }
    }
}

#[test]
fn documents_laid_out_slot_by_slot_get_the_verdict_of_the_rules() {
    let documents = std::env::var("FLEECE_DOCUMENTS").map_or(3000, |n| n.parse().unwrap());
    let (mut sound, mut refused) = (0, 0);
    for seed in 0..documents {
        let laid = generator::lay_out(&mut Random(seed));
        match compare(&laid) {
            Verdict::Sound => sound += 1,
            Verdict::Refused => refused += 1,
            Verdict::Broken => {}
        }
    }
    println!("{documents} documents: {sound} sound, {refused} refused because they overlap");
    assert!(sound > documents * 3 / 10 && sound < documents * 7 / 10, "{sound} sound");
    assert!(refused <= documents / 50, "{refused} refused because they overlap");
}

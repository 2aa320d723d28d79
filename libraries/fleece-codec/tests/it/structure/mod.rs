//! Documents laid out slot by slot get the verdict of plainly written rules, and what is sound
//! reads as it was checked.
//!
//! `FLEECE_DOCUMENTS=10000000 cargo test --release -p fleece-codec --test it structure --
//! --nocapture` takes that many, and prints how many break which rule.

mod faults;
mod generator;
mod oracle;
mod random;
mod verdict;

use random::Random;
use std::collections::BTreeMap;
use verdict::{Verdict, compare};

/// The rules that a document can break without breaking another one.
const RULES: [&str; 15] = [
    "the length",
    "no pointer to the root",
    "a pointer to nowhere",
    "a pointer out of the document, or an extern one within",
    "a number ends too late",
    "a string or data ends too late",
    "a string is not UTF-8",
    "a varint is too large",
    "a varint has no end",
    "a collection ends too late",
    "too deep",
    "a key is neither a string nor a number from 0 to 2047",
    "a parent is not a dict",
    "a parent within its child",
    "too many parents",
];

#[test]
fn documents_laid_out_slot_by_slot_get_the_verdict_of_the_rules() {
    let documents = std::env::var("FLEECE_DOCUMENTS").map_or(3000, |n| n.parse().unwrap());
    let (mut sound, mut refused) = (0, 0);
    let mut alone = BTreeMap::from(RULES.map(|rule| (rule, 0)));
    for seed in 0..documents {
        let verdict = || compare(&generator::lay_out(&mut Random(seed)));
        let verdict = std::panic::catch_unwind(verdict)
            .unwrap_or_else(|_| panic!("the document of seed {seed} has the wrong verdict"));
        match verdict {
            Verdict::Sound => sound += 1,
            Verdict::Refused => refused += 1,
            Verdict::Broken(rules) if rules.len() == 1 => {
                *alone.entry(rules.first().unwrap()).or_default() += 1;
            }
            Verdict::Broken(_) => {}
        }
    }
    println!("{documents} documents: {sound} sound, {refused} refused because they overlap");
    for (rule, count) in &alone {
        println!("{count:>9} break one rule alone: {rule}");
    }
    assert!(sound > documents * 3 / 10 && sound < documents * 7 / 10, "{sound} sound");
    assert!(refused <= documents / 50, "{refused} refused because they overlap");
    assert_eq!(alone.len(), RULES.len(), "a rule is not in the list: {alone:?}");
    // Of ten million documents these are ten thousand.
    assert!(alone.values().all(|count| *count >= documents / 1000), "{alone:?}");
}

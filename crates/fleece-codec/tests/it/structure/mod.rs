//! Documents laid out slot by slot get the verdict of plainly written rules, and what is sound
//! reads as it was checked.
//!
//! `FLEECE_DOCUMENTS=1000000 cargo test --release -p fleece-codec --test it structure --
//! --nocapture` takes that many.

mod generator;
mod oracle;
mod verdict;

use generator::Choices;
use verdict::{Verdict, compare};

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

#[test]
fn documents_laid_out_slot_by_slot_get_the_verdict_of_the_rules() {
    let documents = std::env::var("FLEECE_DOCUMENTS").map_or(3000, |n| n.parse().unwrap());
    let (mut sound, mut refused) = (0, 0);
    for seed in 0..documents {
        let verdict = || compare(&generator::lay_out(&mut Random(seed)));
        let verdict = std::panic::catch_unwind(verdict)
            .unwrap_or_else(|_| panic!("the document of seed {seed} has the wrong verdict"));
        match verdict {
            Verdict::Sound => sound += 1,
            Verdict::Refused => refused += 1,
            Verdict::Broken => {}
        }
    }
    println!("{documents} documents: {sound} sound, {refused} refused because they overlap");
    assert!(sound > documents * 3 / 10 && sound < documents * 7 / 10, "{sound} sound");
    assert!(refused <= documents / 50, "{refused} refused because they overlap");
}

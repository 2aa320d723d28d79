//! Equality of documents that hold very much, or themselves, in few bytes.

use crate::data;
use fleece_codec::{CheckOptions, Doc, Encoder};
use std::sync::Arc;

/// An array of two items, each of which is the array before, and so on down to one of these two
/// numbers.
fn doubled(levels: usize, numbers: [u8; 2]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0x02, 0x00, numbers[0], 0x00, numbers[1]];
    for _ in 0..levels {
        bytes.extend([0x60, 0x02, 0x80, 0x04, 0x80, 0x05]);
    }
    bytes.extend([0x80, 0x03]);
    bytes
}

#[test]
fn arrays_that_contain_themselves_are_compared() {
    let bytes = [0x60, 0x02, 0x80, 0x01, 0x80, 0x02, 0x80, 0x03];
    let other = [0x60, 0x02, 0x80, 0x01, 0x00, 0x07, 0x80, 0x03];
    let (a, b) = (Doc::open(bytes).unwrap(), Doc::open(bytes).unwrap());
    let other = Doc::open(other).unwrap();
    assert!(a.root() == b.root());
    assert!(a.root() != other.root());
    assert!(other.root() != a.root());
}

#[test]
fn what_is_shared_is_compared_once() {
    let bomb = data("hostile/x099_bomb.fleece");
    let (a, b) = (Doc::check(bomb.clone()).unwrap(), Doc::check(bomb).unwrap());
    assert!(a.root() == b.root());

    let [same, copy, other] =
        [[1, 2], [1, 2], [1, 3]].map(|numbers| Doc::check(doubled(40, numbers)).unwrap());
    assert!(same.root() == copy.root());
    assert!(same.root() != other.root());
    assert!(other.root() != same.root());
}

#[test]
fn how_things_are_shared_does_not_matter() {
    let shared = Doc::check(doubled(12, [1, 1])).unwrap();
    let mut encoder = Encoder::new();
    encoder.write_value(shared.root());
    let copy = encoder.finish().unwrap();
    assert!(copy.len() > 4 << 12, "in the copy nothing is shared");
    let copy = Doc::check(copy).unwrap();
    assert!(shared.root() == copy.root());
    assert!(copy.root() == shared.root());
}

#[test]
fn long_strings_are_compared_once() {
    let document = |last: u8| {
        let mut encoder = Encoder::new();
        let mut text = "x".repeat(1 << 20);
        text.push(last.into());
        encoder.begin_array();
        encoder.write_str(&text);
        let text = encoder.last_value().unwrap();
        (0..20_000).for_each(|_| encoder.write_again(text));
        encoder.end_array();
        Doc::open(encoder.finish().unwrap()).unwrap()
    };
    assert!(document(b'a').root() == document(b'a').root());
    assert!(document(b'a').root() != document(b'b').root());
}

#[test]
fn values_that_need_far_more_steps_than_bytes_are_unequal() {
    // Every two bytes begin another array of 2046 items, and these are the arrays behind it.
    let mut bytes = [0x60, 0xFE].repeat(1024);
    bytes.extend([0x84, 0x00]);
    let (a, b) = (Doc::open(bytes.clone()).unwrap(), Doc::open(bytes).unwrap());
    assert!(a.root() == a.root());
    assert!(a.root() != b.root());
    assert!(b.root() != a.root());
}

#[test]
fn children_of_one_large_parent_end_the_comparison() {
    let bytes = family(600, 600);
    let (a, b) = (Doc::check(bytes.clone()).unwrap(), Doc::check(bytes).unwrap());
    assert!(a.root() != b.root());
    let bytes = family(20, 2000);
    let (a, b) = (Doc::check(bytes.clone()).unwrap(), Doc::check(bytes).unwrap());
    assert!(a.root() == b.root());
}

/// An array of dicts that all have the same parent.
fn family(pairs: u16, children: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    for i in 0..pairs {
        bytes.extend([
            0x43,
            b'0' + (i >> 8) as u8,
            b'0' + (i >> 4 & 15) as u8,
            b'0' + (i & 15) as u8,
        ]);
    }
    let parent = bytes.len();
    let pointer = |bytes: &mut Vec<u8>, target: usize| {
        let distance = (bytes.len() - target) as u32 / 2;
        bytes.extend((1 << 31 | distance).to_be_bytes());
    };
    bytes.extend((0x7800 | pairs).to_be_bytes());
    for i in 0..pairs {
        pointer(&mut bytes, 4 * usize::from(i));
        bytes.extend([0, 1, 0, 0]);
    }
    let first = bytes.len();
    for _ in 0..children {
        bytes.extend([0x78, 0x01, 0x08, 0x00, 0x00, 0x00]);
        pointer(&mut bytes, parent);
    }
    let array = bytes.len();
    bytes.extend((0x6800 | children).to_be_bytes());
    for i in 0..children {
        pointer(&mut bytes, first + 10 * usize::from(i));
    }
    pointer(&mut bytes, array);
    bytes.extend([0x80, 0x02]);
    bytes
}

#[test]
fn the_same_delta_of_two_bases_is_not_the_same() {
    // An array of a pointer into the base, to its number.
    let delta = [0x60, 0x01, 0xC0, 0x02, 0x80, 0x02];
    let open = |number: u8| {
        let base: Arc<[u8]> = [0x00, number].into();
        CheckOptions::new().base(base).check(&delta).unwrap()
    };
    assert_eq!(open(7).root().at(0).unwrap().as_i64(), Some(7));
    assert!(open(7).root() == open(7).root());
    assert!(open(7).root() != open(8).root());
}

//! Values that lie within the collection that refers to them, made by hand, further from its start
//! than one block of the check.

use fleece_codec::{CheckOptions, Doc, ErrorKind};

/// The slots before the ones that matter: with them these are more than 128 bytes after the start
/// of the array.
const FILLERS: usize = 40;

/// What the broken pointers of [`Row::hide`] lead to: a string that is not UTF-8.
const LATIN1: [u8; 4] = [0x42, 0xE9, 0xE9, 0x00];

/// An array of wide slots, after [`LATIN1`]. A small number takes two bytes of its slot; what
/// stands in the other two is looked at only by what points there.
struct Row {
    slots: Vec<[u8; 4]>,
}

impl Row {
    const START: usize = LATIN1.len() + 2;

    fn new() -> Self {
        Self { slots: vec![[0; 4]; FILLERS] }
    }

    /// Where the next slot will be.
    fn at(&self) -> usize {
        Self::START + 4 * self.slots.len()
    }

    /// Hides a collection of two slots, of which the second one is free: its header ends one slot,
    /// the other ends the next one.
    fn hide(&mut self, header: u16, first: u16, second: u16) -> usize {
        let place = self.at() + 2;
        let number = 0_u16;
        for pair in [[number, header], [first, second]] {
            let word = u32::from(pair[0]) << 16 | u32::from(pair[1]);
            self.slots.push(word.to_be_bytes());
        }
        place
    }

    /// A slot that holds an array of one pointer.
    fn inline_array_to(&mut self, target: usize) {
        let [a, b] = narrow(self.at() + 2, target).to_be_bytes();
        self.slots.push([0x60, 0x01, a, b]);
    }

    fn pointer_to(&mut self, target: usize) {
        let distance = (self.at() - target) as u32 / 2;
        self.slots.push((0x8000_0000 | distance).to_be_bytes());
    }

    fn document(&self) -> Vec<u8> {
        let mut bytes = LATIN1.to_vec();
        bytes.extend((0x6800 | self.slots.len() as u16).to_be_bytes());
        bytes.extend(self.slots.concat());
        let root = narrow(bytes.len(), LATIN1.len());
        bytes.extend(root.to_be_bytes());
        bytes
    }
}

fn narrow(at: usize, target: usize) -> u16 {
    0x8000 | ((at - target) / 2) as u16
}

/// What can be wrong with a collection, as its header and its two slots: the second one is at `at`.
fn defects(at: usize) -> [(&'static str, [u16; 3], ErrorKind); 4] {
    [
        ("an array that contains itself", [0x6002, 0, narrow(at, at - 4)], ErrorKind::BadPointer),
        ("a key that is data", [0x7001, 0x5161, 0], ErrorKind::BadKey),
        ("a pointer before the start", [0x6002, 0, 0xBFFF], ErrorKind::BadPointer),
        ("a string that is not UTF-8", [0x6002, 0, narrow(at, 0)], ErrorKind::BadUtf8),
    ]
}

/// Lays out each defect and a sound collection, and lets `refer` add slots that lead there.
fn check(refer: impl Fn(&mut Row, usize)) {
    let second = Row::START + 4 * FILLERS + 6;
    let mut accepted = Vec::new();
    for (name, [header, first, second], kind) in defects(second) {
        let mut row = Row::new();
        let hidden = row.hide(header, first, second);
        let sound = Doc::check(row.document());
        assert!(sound.is_ok(), "{name}, to which nothing leads: {sound:?}");
        refer(&mut row, hidden);
        match Doc::check(row.document()) {
            Ok(_) => accepted.push(name),
            Err(error) => assert_eq!(error.kind(), kind, "{name}: {error}"),
        }
    }
    assert!(accepted.is_empty(), "accepted: {accepted:?}");
    let mut row = Row::new();
    let hidden = row.hide(0x6002, 7, 8);
    refer(&mut row, hidden);
    let sound = Doc::check(row.document());
    assert!(sound.is_ok(), "{sound:?}");
}

#[test]
fn targets_of_an_array_in_a_slot_are_checked() {
    check(Row::inline_array_to);
}

#[test]
fn targets_of_inner_values_are_checked() {
    check(|row, hidden| {
        let at = row.at() + 6;
        let inner = row.hide(0x6002, 0, narrow(at, hidden));
        row.pointer_to(inner);
    });
}

#[test]
fn targets_of_inner_values_over_several_steps_are_checked() {
    check(|row, hidden| {
        let mut last = hidden;
        for _ in 0..40 {
            let at = row.at() + 6;
            last = row.hide(0x6002, 0, narrow(at, last));
        }
        row.inline_array_to(last);
    });
}

#[test]
fn an_inner_value_is_looked_at_again_where_it_is_deeper() {
    let mut row = Row::new();
    let hidden = row.hide(0x6002, 7, 8);
    row.pointer_to(hidden);
    row.inline_array_to(hidden);
    let at = row.at() + 6;
    let inner = row.hide(0x6002, 0, narrow(at, hidden));
    row.inline_array_to(inner);
    // The row, the array in its slot, the inner value, and the one within that.
    assert!(CheckOptions::new().depth_limit(4).check(row.document()).is_ok());
    let error = CheckOptions::new().depth_limit(3).check(row.document()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooDeep);
}

#[test]
fn an_inner_value_that_doubles_at_each_step_takes_linear_time() {
    // Each holds the one before twice: by a pointer, and by an array in a slot, which is deeper.
    let mut row = Row::new();
    let mut last = row.hide(0x6002, 7, 8);
    for _ in 0..60 {
        let at = row.at() + 4;
        let place = at - 2;
        // A wide array of the next two slots.
        row.slots.push([0, 0, 0x68, 0x02]);
        row.pointer_to(last);
        row.inline_array_to(last);
        last = place;
    }
    row.pointer_to(last);
    let checked = CheckOptions::new().check(row.document());
    assert!(checked.is_ok(), "{checked:?}");
    let limit = |levels| CheckOptions::new().depth_limit(levels).check(row.document());
    // The row, 60 steps of two levels, and the array at the end.
    assert!(limit(122).is_ok());
    assert_eq!(limit(121).unwrap_err().kind(), ErrorKind::TooDeep);
}

#[test]
fn an_array_holds_what_fits_into_its_slots_or_ends_before_them() {
    // An int of one byte, a simple value, and no or one character or byte.
    let fits = |first: u8| matches!(first, 0x00..=0x10 | 0x18 | 0x30..=0x3F | 0x40 | 0x41 | 0x4F..=0x51 | 0x5F);
    for first in 0..0x60 {
        let document = [0x60, 0x01, first, 0x00, 0x80, 0x02];
        assert_eq!(Doc::check(&document[..]).is_ok(), fits(first), "{document:02x?}");
    }
    let one = [0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xF0, 0x3F];
    let behind = [&one[..], &[0x60, 0x01, 0x80, 0x06, 0x80, 0x02]].concat();
    assert_eq!(Doc::check(&behind[..]).unwrap().root().at(0).unwrap().as_f64(), Some(1.0));
    let within = [&one[..2], &[0x60, 0x01, 0x80, 0x02, 0x80, 0x02]].concat();
    assert_eq!(Doc::check(&within[..]).unwrap_err().kind(), ErrorKind::BadPointer);
}

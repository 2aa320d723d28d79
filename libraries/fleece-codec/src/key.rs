//! Keys for lookups: the order of dict keys, and the reusable `Key`.

use crate::encoder::Packed;
use crate::shared_keys::SharedKeys;
use crate::value::Value;
use crate::wire::tag;
use alloc::boxed::Box;
use core::cmp::Ordering;
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A key for many lookups. It remembers at which index it was found last, and its number among the
/// shared keys.
///
/// Several threads may use it at once; what it remembers is only a hint.
///
/// ```
/// use fleece_codec::{fleece, Doc, Key};
/// let doc = Doc::open(fleece!([{"name": "Ada"}, {"name": "Alan"}]))?;
/// let key = Key::new("name");
/// let names: Vec<&str> = doc.root().as_array().unwrap().iter()
///     .filter_map(|person| person.as_dict()?.get_key(&key)?.as_str())
///     .collect();
/// assert_eq!(names, ["Ada", "Alan"]);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub struct Key {
    name: Box<str>,
    /// The first sixteen bytes of the name with its header, as the format stores it, and a mask of
    /// those that count. A name of more than 127 bytes never matches.
    packed: u128,
    mask: u128,
    hint: AtomicU32,
    number: CachedNumber,
}

impl Key {
    /// A key of this name.
    ///
    /// ```
    /// # use fleece_codec::Key;
    /// assert_eq!(Key::new("name").name(), "name");
    /// ```
    pub fn new(name: &str) -> Self {
        let (packed, mask) = packed(name.as_bytes());
        let (hint, number) = (AtomicU32::new(0), CachedNumber::default());
        Self { name: name.into(), packed, mask, hint, number }
    }

    /// The name.
    ///
    /// ```
    /// # use fleece_codec::Key;
    /// assert_eq!(Key::new("age").name(), "age");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    #[inline(always)]
    pub(crate) fn needle(&self) -> Needle<'_> {
        Needle::new(self.name.as_bytes())
    }

    /// The number of the name in this table.
    #[inline]
    pub(crate) fn number_in(&self, keys: &SharedKeys) -> Option<u16> {
        if let Some(number) = self.number.load(keys.identity()) {
            return Some(number);
        }
        let number = keys.index_of(&self.name)?;
        self.number.store(keys.identity(), number);
        Some(number)
    }

    /// Whether the string at `at`, of which these are the first sixteen bytes, is this name as the
    /// format stores it.
    #[inline(always)]
    pub(crate) fn is(&self, stored: &[u8; 16], bytes: &[u8], at: usize) -> bool {
        u128::from_le_bytes(*stored) & self.mask == self.packed
            && (self.name.len() < 15 || self.ends_like(bytes, at))
    }

    /// Whether the bytes after the first sixteen are the rest of a long name.
    #[inline]
    fn ends_like(&self, bytes: &[u8], at: usize) -> bool {
        let rest = bytes.get(at + 16..).and_then(|rest| rest.get(..self.name.len() - 14));
        rest == self.name.as_bytes().get(14..)
    }

    #[inline(always)]
    pub(crate) fn hint(&self) -> usize {
        self.hint.load(Relaxed) as usize
    }

    #[inline]
    pub(crate) fn set_hint(&self, index: usize) {
        self.hint.store(index as u32, Relaxed);
    }
}

/// The number of a key in one table.
#[derive(Default)]
struct CachedNumber {
    /// The table's identity in the upper 48 bits, the number in the lower 16.
    #[cfg(target_has_atomic = "64")]
    number: core::sync::atomic::AtomicU64,
}

#[cfg(target_has_atomic = "64")]
impl CachedNumber {
    #[inline(always)]
    fn load(&self, table: u64) -> Option<u16> {
        let known = self.number.load(Relaxed);
        (known >> 16 == table).then_some(known as u16)
    }

    fn store(&self, table: u64, number: u16) {
        self.number.store(table << 16 | u64::from(number), Relaxed);
    }
}

/// Without 64-bit atomics, identity and number cannot be read at once, so a key remembers neither.
#[cfg(not(target_has_atomic = "64"))]
impl CachedNumber {
    fn load(&self, _table: u64) -> Option<u16> {
        None
    }

    fn store(&self, _table: u64, _number: u16) {}
}

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl Clone for Key {
    fn clone(&self) -> Self {
        Self::new(&self.name)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.name).finish()
    }
}

/// The key that a search looks for.
#[derive(Clone, Copy)]
pub(crate) enum Needle<'k> {
    Name(&'k [u8]),
    /// The number of a shared key.
    Shared(u16),
}

impl<'k> Needle<'k> {
    #[inline(always)]
    pub(crate) fn new(name: &'k [u8]) -> Self {
        Self::Name(name)
    }

    pub(crate) fn shared(index: u16) -> Self {
        Self::Shared(index)
    }

    /// The order of a stored key relative to this one: numbers first, then strings by bytes, a
    /// prefix first.
    pub(crate) fn order_of(self, key: Value<'_>) -> Ordering {
        let is_name = key.first_byte() >> 4 == tag::STRING;
        match self {
            Self::Name(name) if is_name => key.payload().unwrap_or_default().cmp(name),
            Self::Name(_) => Ordering::Less,
            Self::Shared(_) if is_name => Ordering::Greater,
            Self::Shared(index) => key.to_i64().cmp(&i64::from(index)),
        }
    }
}

/// The order of two stored keys.
pub(crate) fn compare_keys(a: Value<'_>, b: Value<'_>) -> Ordering {
    match (a.as_str_bytes(), b.as_str_bytes()) {
        (Some(a), Some(b)) => a.cmp(b),
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (None, None) => a.to_i64().cmp(&b.to_i64()),
    }
}

/// The first eight bytes as a number that compares as they do; missing bytes are 0.
#[inline(always)]
pub(crate) fn prefix(name: &[u8]) -> u64 {
    if let Some(eight) = name.first_chunk() {
        return u64::from_be_bytes(*eight);
    }
    let len = name.len();
    // The two halves overlap if there are less than eight bytes.
    if let (Some(front), Some(back)) = (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        let (front, back) = (u32::from_be_bytes(*front), u32::from_be_bytes(*back));
        return u64::from(front) << 32 | u64::from(back) << (64 - 8 * len);
    }
    let byte = |at: usize| name.get(at).map_or(0, |&byte| u64::from(byte));
    byte(0) << 56 | byte(1) << 48 | byte(2) << 40
}

/// The first sixteen bytes of a name as the format stores it, and a mask of those that it takes;
/// for very long names, a pair that nothing matches.
fn packed(name: &[u8]) -> (u128, u128) {
    if let Some(start) = name.get(..14).filter(|_| name.len() > 14) {
        if name.len() > 127 {
            return (1, 0);
        }
        let mut stored = [0x4F; 16];
        stored[1] = name.len() as u8;
        stored[2..].copy_from_slice(start);
        return (u128::from_le_bytes(stored), u128::MAX);
    }
    let packed = Packed::new(name);
    (u128::from_le_bytes(packed.stored()), u128::MAX >> (8 * (15 - name.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_compare_as_the_names_do() {
        let names = ["", "a", "a\0", "ab", "abc", "abcd", "abcde", "abcdefg", "abcdefgh", "b"];
        for (i, a) in names.iter().enumerate() {
            for b in &names[i..] {
                assert!(prefix(a.as_bytes()) <= prefix(b.as_bytes()), "{a:?} {b:?}");
            }
            let mut padded = [0; 8];
            padded[..a.len()].copy_from_slice(a.as_bytes());
            assert_eq!(prefix(a.as_bytes()), u64::from_be_bytes(padded), "{a:?}");
        }
    }

    #[test]
    fn a_key_knows_its_stored_form() {
        let is =
            |name: &str, stored: &[u8]| Key::new(name).is(stored.first_chunk().unwrap(), stored, 0);
        assert!(is("", b"@234567890123456"));
        assert!(is("abc", b"Cabc567890123456"));
        assert!(!is("abc", b"Dabcd67890123456"));
        assert!(!is("abc", b"Cabx567890123456"));
        assert!(is("abcdefghijklmn", b"Nabcdefghijklmn6"));
        assert!(is("abcdefghijklmno", b"O\x0Fabcdefghijklmno"));
        assert!(!is("abcdefghijklmno", b"O\x0Fabcdefghijklmnx"));
        assert!(!is("abcdefghijklmno", b"O\x0Fabcdefghijklmn"));
        assert!(!is("abcdefghijklmno", b"O\x10abcdefghijklmno"));
        assert!(is("abcdefghijklmnop", b"O\x10abcdefghijklmnop"));
    }
}

//! Keys to look up: the order of dict keys, and the reusable `Key`.

use crate::encoder::Packed;
use crate::shared_keys::SharedKeys;
use crate::value::Value;
use crate::wire::tag;
use alloc::boxed::Box;
use core::cmp::Ordering;
use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// A key for many lookups. It remembers at which index it was found last, and its number among the shared keys.
///
/// May be used by several threads at once; the memory is only a hint.
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
    /// The name with its header as the format stores it, and which bytes of sixteen that takes. A name that is too long is never found.
    packed: u128,
    mask: u128,
    hint: AtomicU32,
    /// The table's identity in the upper, the number of the key in the lower 16 bits.
    shared: AtomicU64,
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
        Self { name: name.into(), packed, mask, hint: AtomicU32::new(0), shared: AtomicU64::new(0) }
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

    #[cold]
    pub(crate) fn needle_with(&self, keys: Option<&SharedKeys>) -> Needle<'_> {
        let Some(keys) = keys else { return self.needle() };
        let known = self.shared.load(Relaxed);
        if known >> 16 == keys.identity() {
            return Needle::shared(known as u16);
        }
        match keys.index_of(&self.name) {
            Some(index) => {
                self.shared.store(keys.identity() << 16 | u64::from(index), Relaxed);
                Needle::shared(index)
            }
            None => self.needle(),
        }
    }

    /// Whether the sixteen bytes begin with this name as the format stores it.
    #[inline(always)]
    pub(crate) fn is(&self, stored: u128) -> bool {
        stored & self.mask == self.packed
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

/// What a search looks for.
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

    #[inline(always)]
    pub(crate) fn name(self) -> Option<&'k [u8]> {
        match self {
            Self::Name(name) => Some(name),
            Self::Shared(_) => None,
        }
    }

    /// How a stored key compares to this: numbers first, then strings by bytes, a prefix first.
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

/// The first eight bytes, so that they compare as a number; missing ones are 0.
#[inline(always)]
pub(crate) fn prefix(name: &[u8]) -> u64 {
    if let Some(eight) = name.first_chunk() {
        return u64::from_be_bytes(*eight);
    }
    let len = name.len();
    // Two halves, which overlap if there are fewer bytes than they have room for.
    if let (Some(front), Some(back)) = (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        let (front, back) = (u32::from_be_bytes(*front), u32::from_be_bytes(*back));
        return u64::from(front) << 32 | u64::from(back) << (64 - 8 * len);
    }
    let byte = |at: usize| name.get(at).map_or(0, |&byte| u64::from(byte));
    byte(0) << 56 | byte(1) << 48 | byte(2) << 40
}

/// A name of at most 14 bytes as the format stores it, and which bytes of sixteen that takes; for longer ones, what nothing is equal to.
fn packed(name: &[u8]) -> (u128, u128) {
    if name.len() > 14 {
        return (1, 0);
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
        let is = |name: &str, stored: &[u8; 16]| Key::new(name).is(u128::from_le_bytes(*stored));
        assert!(is("", b"@234567890123456"));
        assert!(is("abc", b"Cabc567890123456"));
        assert!(!is("abc", b"Dabcd67890123456"));
        assert!(!is("abc", b"Cabx567890123456"));
        assert!(is("abcdefghijklmn", b"Nabcdefghijklmn6"));
        assert!(!is("abcdefghijklmno", b"O\x0Fabcdefghijklm6"[..16].try_into().unwrap()));
    }
}

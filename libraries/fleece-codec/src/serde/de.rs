//! `Deserializer` for values and keys, and the access to items and pairs that `serde` needs. In
//! bytes that were not checked, each value is checked when it is reached.

use alloc::boxed::Box;
use core::cell::Cell;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::array::Slots;
use crate::check::CheckOptions;
use crate::check::scan::{FIXED_SIZE, Layout};
use crate::dict::{DictIter, DictKey};
use crate::error::{Error, ErrorKind};
use crate::limits::{SERDE_DEPTH, SERDE_VALUES_MIN, SERDE_VALUES_PER_BYTE};
use crate::number::Number;
use crate::value::{Kind, Value};
use crate::wire::{Source, narrow_target, tag, u16_at, u32_at, varint, wide_target};
use crate::{Array, Dict, Result};

macro_rules! delegate {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $name<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value> {
            let state = DeserializeState::new(self.source.size_bytes());
            ValueDeserializer { value: self, depth: 0, state: &state }.$name($($argument,)* visitor)
        })*
    };
}

/// A value deserializes like the JSON it stands for; data as bytes, `undefined` like `null`.
impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Error;

    delegate! {
        deserialize_any();
        deserialize_option();
        deserialize_newtype_struct(name: &'static str);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_ignored_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_f32();
        deserialize_f64();
        deserialize_str();
        deserialize_string();
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct identifier
    }
}

/// A value, and the number of collections around it.
#[derive(Clone, Copy)]
pub(super) struct ValueDeserializer<'de, 'r> {
    pub(super) value: Value<'de>,
    pub(super) depth: usize,
    pub(super) state: &'r DeserializeState<'de>,
}

impl<'de, 'r> ValueDeserializer<'de, 'r> {
    #[inline]
    fn text(self) -> Result<&'de str> {
        let text = self.value.as_str();
        text.ok_or_else(|| Error::at(ErrorKind::BadUtf8, self.value.at, "a string is not UTF-8"))
    }

    #[inline]
    fn array<V: Visitor<'de>>(self, array: Array<'de>, visitor: V) -> Result<V::Value> {
        let (slots, state) = (array.slots.clamped(1), self.state);
        let len = slots.count;
        let mut items = ItemAccess { slots, len, depth: state.enter(self.depth, len)?, state };
        let result = visitor.visit_seq(&mut items)?;
        if items.slots.count > 0 {
            return Err(wrong_len(len));
        }
        state.leave();
        Ok(result)
    }

    #[inline]
    fn dict<V: Visitor<'de>>(self, dict: Dict<'de>, visitor: V) -> Result<V::Value> {
        visitor.visit_map(self.pairs(dict)?)
    }

    #[inline]
    fn pairs(self, dict: Dict<'de>) -> Result<PairAccess<'de, 'r>> {
        if dict.has_parent() {
            return self.inherited_pairs(dict);
        }
        let (slots, state) = (dict.slots.clamped(2), self.state);
        let depth = state.enter(self.depth, slots.count)?;
        Ok(PairAccess { slots, inherited: None, depth, state })
    }

    #[cold]
    fn inherited_pairs(self, dict: Dict<'de>) -> Result<PairAccess<'de, 'r>> {
        let (mut slots, state) = (dict.slots, self.state);
        state.check(slots.source.bytes)?;
        // All generations are read.
        let len = dict.generations().map(|dict| DictIter::stored(dict.slots).len()).sum();
        slots.count = 0;
        let rest = InheritedPairs { rest: dict.iter(), name: "", value: Value::undefined() };
        let depth = state.enter(self.depth, len)?;
        Ok(PairAccess { slots, inherited: Some(Box::new(rest)), depth, state })
    }

    /// Visits a value that is not of the expected type; the visitor may refuse it.
    #[cold]
    #[inline(never)]
    fn other<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_any(visitor)
    }

    /// Checks a value that the type ignores.
    fn ignore(self) -> Result<()> {
        match self.value.kind() {
            Kind::String => self.text().map(drop),
            Kind::Array | Kind::Dict => self.state.check(self.value.source.bytes),
            _ => Ok(()),
        }
    }
}

/// A fast path for the expected type; other types take the general path.
macro_rules! expect {
    ($($method:ident($($argument:ident: $type:ty),*) $self:ident, $found:ident: $look:expr => $take:ident;)*) => {
        $(#[inline]
        fn $method<V: Visitor<'de>>($self, $($argument: $type,)* visitor: V) -> Result<V::Value> {
            match $look {
                Some($found) => $self.$take($found, visitor),
                None => $self.deserialize_any(visitor),
            }
        })*
    };
}

macro_rules! expect_number {
    ($($method:ident)*) => {
        $(#[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.value.number() {
                Some(number) => visit_number(number, visitor),
                None => self.other(visitor),
            }
        })*
    };
}

#[inline]
fn visit_number<'de, V: Visitor<'de>>(number: Number, visitor: V) -> Result<V::Value> {
    match number {
        Number::Signed(n) => match u64::try_from(n) {
            Ok(n) => visitor.visit_u64(n),
            Err(_) => visitor.visit_i64(n),
        },
        Number::Unsigned(n) => visitor.visit_u64(n),
        Number::Float(n) => visitor.visit_f32(n),
        Number::Double(n) => visitor.visit_f64(n),
    }
}

impl<'de> Deserializer<'de> for ValueDeserializer<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let value = self.value;
        match value.kind() {
            Kind::Undefined | Kind::Null => visitor.visit_unit(),
            Kind::Bool => visitor.visit_bool(value.to_bool()),
            Kind::Number => match value.number() {
                Some(number) => visit_number(number, visitor),
                None => visitor.visit_unit(),
            },
            Kind::String => visitor.visit_borrowed_str(self.text()?),
            Kind::Data => visitor.visit_borrowed_bytes(value.as_data().unwrap_or_default()),
            Kind::Array => match value.as_array() {
                Some(array) => self.array(array, visitor),
                None => visitor.visit_unit(),
            },
            Kind::Dict => match value.as_dict() {
                Some(dict) => self.dict(dict, visitor),
                None => visitor.visit_unit(),
            },
        }
    }

    expect_number! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }

    expect! {
        deserialize_seq() self, found: self.value.as_array() => array;
        deserialize_tuple(_len: usize) self, found: self.value.as_array() => array;
        deserialize_tuple_struct(_name: &'static str, _len: usize) self,
            found: self.value.as_array() => array;
        deserialize_map() self, found: self.value.as_dict() => dict;
        deserialize_struct(_name: &'static str, _fields: &'static [&'static str]) self,
            found: self.value.as_dict() => dict;
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value.as_bool() {
            Some(value) => visitor.visit_bool(value),
            None => self.other(visitor),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value.as_str() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => self.other(visitor),
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value.kind() {
            Kind::Undefined | Kind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if self.value.kind() == Kind::String {
            return visitor.visit_enum(self.text()?.into_deserializer());
        }
        let wrong = || {
            let message = "an enum is a string or a dict of one pair";
            Error::at(ErrorKind::WrongType, self.value.at, message)
        };
        let mut pairs = self.pairs(self.value.as_dict().ok_or_else(wrong)?)?;
        let name = pairs.take_name()?.ok_or_else(wrong)?;
        let content = pairs.take_value()?;
        if pairs.take_name()?.is_some() {
            return Err(wrong());
        }
        visitor
            .visit_enum(VariantDeserializer { name, content })
            .map_err(|error| error.in_key(name))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if !self.state.is_checked() {
            self.ignore()?;
        }
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct identifier
    }
}

fn wrong_len(len: usize) -> Error {
    Error::invalid_length(len, &"fewer items")
}

struct VariantDeserializer<'de, 'r> {
    name: &'de str,
    content: ValueDeserializer<'de, 'r>,
}

impl<'de, 'r> EnumAccess<'de> for VariantDeserializer<'de, 'r> {
    type Error = Error;
    type Variant = ValueDeserializer<'de, 'r>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self::Variant)> {
        let name = seed.deserialize(BorrowedStrDeserializer::<Error>::new(self.name))?;
        Ok((name, self.content))
    }
}

impl<'de> VariantAccess<'de> for ValueDeserializer<'de, '_> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        serde::Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_any(visitor)
    }
}

/// The number of names that are remembered.
const NAMES: usize = 32;

/// The state of one call, which all its values share.
pub(super) struct DeserializeState<'de> {
    /// The number of items and pairs that may still be visited: a small document with shared
    /// collections may have very many.
    values_left: Cell<usize>,
    /// Slots are read without checks: the whole document was checked, or the caller wants no check.
    is_checked: Cell<bool>,
    /// The number of collections that were not read to their end.
    unread: Cell<usize>,
    /// A cache of names, by the number of pairs behind each: dicts of one kind have the same names
    /// at the same indexes, and these are stored once.
    names: [Cell<&'de str>; NAMES],
}

impl<'de> DeserializeState<'de> {
    /// The state for values that are not checked, in a document of this size.
    pub(super) fn new(size_bytes: usize) -> Self {
        let values = size_bytes.saturating_mul(SERDE_VALUES_PER_BYTE);
        let values_left = Cell::new(values.saturating_add(SERDE_VALUES_MIN));
        let names = [const { Cell::new("") }; NAMES];
        Self { values_left, is_checked: Cell::new(true), unread: Cell::new(0), names }
    }

    /// The state for a document that must be valid. Checks the root now, and other values when they
    /// are reached.
    pub(super) fn strict(root: Value<'de>) -> Result<Self> {
        let bytes = root.source.bytes;
        let state = Self { is_checked: Cell::new(false), ..Self::new(bytes.len()) };
        let leads_to_root = |at: Option<usize>, wide| {
            at.is_some_and(|at| sound_target(bytes, at, wide, false) == Some(root.at))
        };
        let is_far = bytes.ends_with(&[0x80, 0x02]);
        let is_sound = leads_to_root(bytes.len().checked_sub(2), false)
            || is_far && leads_to_root(bytes.len().checked_sub(6), true);
        if !is_sound {
            state.check(bytes)?;
        }
        Ok(state)
    }

    /// Enters a collection at this depth with `len` items or pairs, and returns the depth of its
    /// content.
    #[inline]
    pub(super) fn enter(&self, depth: usize, len: usize) -> Result<usize> {
        let Some(values_left) = self.values_left.get().checked_sub(len) else {
            return Err(Error::new(ErrorKind::TooLarge, "far more values than bytes"));
        };
        self.values_left.set(values_left);
        self.unread.set(self.unread.get() + 1);
        if depth < SERDE_DEPTH {
            return Ok(depth + 1);
        }
        Err(Error::new(ErrorKind::TooDeep, "collections are nested too deeply to be deserialized"))
    }

    /// Records that a collection was read to its end.
    #[inline]
    fn leave(&self) {
        self.unread.set(self.unread.get().wrapping_sub(1));
    }

    /// Checks the document if the type has left something out: if a collection was not read to its
    /// end.
    pub(super) fn finish(&self, bytes: &[u8]) -> Result<()> {
        if self.unread.get() == 0 { Ok(()) } else { self.check(bytes) }
    }

    #[inline]
    fn is_checked(&self) -> bool {
        self.is_checked.get()
    }

    /// Checks the whole document, if it must be valid and was not checked before. This is needed
    /// when a slot is not plain.
    #[cold]
    pub(super) fn check(&self, bytes: &[u8]) -> Result<()> {
        if !self.is_checked() {
            CheckOptions::new().check(bytes)?;
            self.is_checked.set(true);
        }
        Ok(())
    }

    /// The name that the first slot leads to, if it is the one that was read at this index before.
    /// A name that was read before is valid here, too, if it ends before the slot.
    #[inline(always)]
    fn known_name(&self, slots: &Slots<'de>) -> Option<&'de str> {
        let word = if slots.wide { 0 } else { u16_at(slots.source.bytes, slots.first)? };
        let name = self.names[slots.count % NAMES].get();
        let distance = usize::from(word << 1);
        // The address also identifies the bytes.
        let start = slots.source.bytes.as_ptr().addr() + slots.first + 1;
        let is_same = (0x8000..0xC000).contains(&word)
            && name.as_ptr().addr() == start.wrapping_sub(distance)
            && name.len() < distance;
        is_same.then_some(name)
    }

    #[inline(always)]
    fn remember(&self, place: usize, name: &'de str) {
        self.names[place % NAMES].set(name);
    }

    /// Takes the first slot; the caller decrements the count.
    #[inline(always)]
    pub(super) fn take(&self, slots: &mut Slots<'de>) -> Result<Value<'de>> {
        let (source, at, wide) = (slots.source, slots.first, slots.wide);
        slots.first += if wide { 4 } else { 2 };
        match sound_target(source.bytes, at, wide, self.is_checked()) {
            Some(target) => Ok(Value { source, at: target }),
            None => self.take_rare(source, at, wide),
        }
    }

    /// A separate function with plain arguments, which are passed in registers.
    #[inline(never)]
    fn take_rare(&self, source: Source<'de>, at: usize, wide: bool) -> Result<Value<'de>> {
        self.check(source.bytes)?;
        let value = if wide { source.wide(at) } else { source.narrow(at) };
        Ok(value.unwrap_or_else(Value::undefined))
    }
}

/// The target of the slot at `at`, if the slot holds a value that fits it, or a plain pointer to
/// one that ends before the slot. If the document was checked, ends are not tested.
#[inline(always)]
fn sound_target(bytes: &[u8], at: usize, wide: bool, is_checked: bool) -> Option<usize> {
    let (target, room) = if wide {
        let word = u32_at(bytes, at)?;
        let distance = (word & 0x3FFF_FFFF) as usize * 2;
        (wide_target(bytes, at, word)?, if word < 0x8000_0000 { 4 } else { distance })
    } else {
        let word = u16_at(bytes, at)?;
        let distance = usize::from(word & 0x3FFF) * 2;
        (narrow_target(bytes, at, word)?, if word < 0x8000 { 2 } else { distance })
    };
    (is_checked || fits(bytes, target, room)).then_some(target)
}

/// Whether a value takes at most `room` bytes.
#[inline(always)]
fn fits(bytes: &[u8], at: usize, room: usize) -> bool {
    let Some(&first) = bytes.get(at) else { return false };
    // The size is 0 if it depends on more than the first byte.
    let size = usize::from(FIXED_SIZE[usize::from(first)]);
    if size > 0 {
        return size <= room;
    }
    match bytes.get(at + 1) {
        Some(&len) if first & 0xEF == 0x4F && len < 0x80 => usize::from(len) + 2 <= room,
        _ => end(bytes, at).is_some_and(|end| end - at <= room),
    }
}

/// The end of a collection, or of a long string or data.
#[inline(never)]
fn end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at)? >> 4 <= tag::DATA {
        return varint(bytes, at + 1).map(|(len, start)| start + len);
    }
    Layout::from_header(bytes, at).map(|layout| layout.end)
}

pub(super) struct ItemAccess<'de, 'r> {
    pub(super) slots: Slots<'de>,
    pub(super) len: usize,
    pub(super) depth: usize,
    pub(super) state: &'r DeserializeState<'de>,
}

impl<'de> SeqAccess<'de> for &mut ItemAccess<'de, '_> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.slots.count == 0 {
            return Ok(None);
        }
        self.slots.count -= 1;
        let value = self.state.take(&mut self.slots)?;
        match seed.deserialize(ValueDeserializer { value, depth: self.depth, state: self.state }) {
            Ok(item) => Ok(Some(item)),
            Err(error) => Err(error.in_item(self.len - self.slots.count - 1)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.slots.count)
    }
}

pub(super) struct PairAccess<'de, 'r> {
    /// The slots that are left; none in a dict with a parent.
    pub(super) slots: Slots<'de>,
    pub(super) inherited: Option<Box<InheritedPairs<'de>>>,
    pub(super) depth: usize,
    pub(super) state: &'r DeserializeState<'de>,
}

/// The pairs of a dict with a parent.
pub(super) struct InheritedPairs<'de> {
    pub(super) rest: DictIter<'de>,
    /// The pair whose name was read last.
    pub(super) name: &'de str,
    pub(super) value: Value<'de>,
}

impl<'de, 'r> PairAccess<'de, 'r> {
    #[inline(always)]
    fn take_name(&mut self) -> Result<Option<&'de str>> {
        if self.slots.count == 0 {
            return self.take_inherited();
        }
        self.slots.count -= 1;
        if let Some(name) = self.state.known_name(&self.slots) {
            self.slots.first += 2;
            return Ok(Some(name));
        }
        let key = self.state.take(&mut self.slots)?;
        match key.as_str() {
            Some(name) => {
                self.state.remember(self.slots.count, name);
                Ok(Some(name))
            }
            None => name(DictKey { value: key }).map(Some),
        }
    }

    #[inline(never)]
    fn take_inherited(&mut self) -> Result<Option<&'de str>> {
        let next = self.inherited.as_mut().and_then(|inherited| inherited.rest.next());
        let (Some((key, value)), Some(inherited)) = (next, &mut self.inherited) else {
            self.state.leave();
            return Ok(None);
        };
        (inherited.name, inherited.value) = (name(key)?, value);
        Ok(Some(inherited.name))
    }

    #[inline(always)]
    fn take_value(&mut self) -> Result<ValueDeserializer<'de, 'r>> {
        let value = match &self.inherited {
            None => self.state.take(&mut self.slots)?,
            Some(inherited) => inherited.value,
        };
        Ok(ValueDeserializer { value, depth: self.depth, state: self.state })
    }

    /// Adds the name that was read last to the path of the error.
    #[cold]
    fn in_pair(&self, error: Error) -> Error {
        if let Some(inherited) = &self.inherited {
            return error.in_key(inherited.name);
        }
        let mut slots = self.slots;
        slots.first -= if slots.wide { 8 } else { 4 };
        error.in_key(name(DictKey { value: slots.take_slot() }).unwrap_or_default())
    }
}

impl<'de> MapAccess<'de> for PairAccess<'de, '_> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some(name) = self.take_name()? else { return Ok(None) };
        seed.deserialize(KeyDeserializer { name }).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let value = self.take_value()?;
        seed.deserialize(value).map_err(|error| self.in_pair(error))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inherited.is_none().then_some(self.slots.count)
    }
}

#[inline(never)]
fn name(key: DictKey<'_>) -> Result<&str> {
    let message = "a key is not UTF-8, or a shared key has no name in the table";
    key.as_str().ok_or_else(|| Error::new(ErrorKind::UnknownSharedKey, message))
}

/// A key of a dict: a string, or the value parsed from it if the map has keys of another type.
pub(super) struct KeyDeserializer<'de> {
    pub(super) name: &'de str,
}

macro_rules! parsed_keys {
    ($($name:ident $visit:ident;)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.name.parse() {
                Ok(key) => visitor.$visit(key),
                Err(_) => Err(Error::invalid_value(Unexpected::Str(self.name), &visitor)),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for KeyDeserializer<'de> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(self.name)
    }

    parsed_keys! {
        deserialize_bool visit_bool;
        deserialize_i8 visit_i8;
        deserialize_i16 visit_i16;
        deserialize_i32 visit_i32;
        deserialize_i64 visit_i64;
        deserialize_i128 visit_i128;
        deserialize_u8 visit_u8;
        deserialize_u16 visit_u16;
        deserialize_u32 visit_u32;
        deserialize_u64 visit_u64;
        deserialize_u128 visit_u128;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        BorrowedStrDeserializer::new(self.name).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

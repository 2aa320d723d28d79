//! Values as a `Deserializer`.

use super::keys::KeyDeserializer;
use crate::array::ArrayIter;
use crate::dict::{DictIter, DictKey};
use crate::error::{Error, ErrorKind};
use crate::limits::{SERDE_DEPTH, SERDE_VALUES_MIN, SERDE_VALUES_PER_BYTE};
use crate::number::Number;
use crate::value::{Kind, Value};
use crate::{Array, Dict, Result};
use core::cell::Cell;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

macro_rules! delegate {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $name<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value> {
            let budget = Budget::of(self);
            Nested { value: self, depth: 0, budget: &budget }.$name($($argument,)* visitor)
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

/// How many items and pairs may still be visited: of a small document in which collections are shared there may be very many.
struct Budget(Cell<usize>);

impl Budget {
    fn of(value: Value<'_>) -> Self {
        let values = value.source.size_bytes().saturating_mul(SERDE_VALUES_PER_BYTE);
        Self(Cell::new(values.saturating_add(SERDE_VALUES_MIN)))
    }

    #[inline]
    fn spend(&self, values: usize) -> Result<()> {
        match self.0.get().checked_sub(values) {
            Some(left) => {
                self.0.set(left);
                Ok(())
            }
            None => Err(Error::new(ErrorKind::TooLarge, "far more values than bytes")),
        }
    }
}

/// A value, and how many collections are around it.
#[derive(Clone, Copy)]
struct Nested<'de, 'b> {
    value: Value<'de>,
    depth: usize,
    budget: &'b Budget,
}

impl<'de> Nested<'de, '_> {
    /// The depth of what is within this collection, which has so many items or pairs.
    #[inline]
    fn enter(self, len: usize) -> Result<usize> {
        self.budget.spend(len)?;
        if self.depth < SERDE_DEPTH {
            return Ok(self.depth + 1);
        }
        Err(Error::new(ErrorKind::TooDeep, "collections are nested too deeply to be deserialized"))
    }

    #[inline]
    fn text(self) -> Result<&'de str> {
        let text = self.value.as_str();
        text.ok_or_else(|| Error::at(ErrorKind::BadUtf8, self.value.at, "a string is not UTF-8"))
    }

    #[inline]
    fn array<V: Visitor<'de>>(self, array: Array<'de>, visitor: V) -> Result<V::Value> {
        let len = array.len();
        let (depth, budget) = (self.enter(len)?, self.budget);
        let mut items = Items { rest: array.iter(), len, depth, budget };
        let result = visitor.visit_seq(&mut items)?;
        if items.rest.len() > 0 {
            return Err(wrong_len(len));
        }
        Ok(result)
    }

    #[inline]
    fn dict<V: Visitor<'de>>(self, dict: Dict<'de>, visitor: V) -> Result<V::Value> {
        let rest = dict.iter();
        let len = match rest.size_hint().1 {
            Some(len) => len,
            // All generations are read.
            None => dict.generations().map(|dict| DictIter::stored(dict.slots).len()).sum(),
        };
        let (depth, budget) = (self.enter(len)?, self.budget);
        let name = "";
        visitor.visit_map(Pairs { rest, next: Value::undefined(), name, depth, budget })
    }
}

/// What the visitor expects is looked for first; anything else goes the long way.
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
                None => self.deserialize_any(visitor),
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

impl<'de> Deserializer<'de> for Nested<'de, '_> {
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
            None => self.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value.as_str() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => self.deserialize_any(visitor),
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
        let (depth, budget) = (self.enter(1)?, self.budget);
        let mut pairs = self.value.as_dict().into_iter().flatten();
        let (Some((key, value)), None) = (pairs.next(), pairs.next()) else {
            let message = "an enum is a string or a dict of one pair";
            return Err(Error::at(ErrorKind::WrongType, self.value.at, message));
        };
        let name = name(key)?;
        let content = Nested { value, depth, budget };
        visitor.visit_enum(Variant { name, content }).map_err(|error| error.in_key(name))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct identifier
    }
}

fn wrong_len(len: usize) -> Error {
    Error::invalid_length(len, &"fewer items")
}

#[inline]
fn name(key: DictKey<'_>) -> Result<&str> {
    let message = "a key is not UTF-8, or a shared key has no name in the table";
    key.as_str().ok_or_else(|| Error::new(ErrorKind::UnknownSharedKey, message))
}

struct Items<'de, 'b> {
    rest: ArrayIter<'de>,
    len: usize,
    depth: usize,
    budget: &'b Budget,
}

impl<'de> SeqAccess<'de> for &mut Items<'de, '_> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(value) = self.rest.next() else { return Ok(None) };
        let (depth, budget) = (self.depth, self.budget);
        match seed.deserialize(Nested { value, depth, budget }) {
            Ok(item) => Ok(Some(item)),
            Err(error) => Err(error.in_item(self.len - self.rest.len() - 1)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Pairs<'de, 'b> {
    rest: DictIter<'de>,
    /// The value of the last key.
    next: Value<'de>,
    name: &'de str,
    depth: usize,
    budget: &'b Budget,
}

impl<'de> MapAccess<'de> for Pairs<'de, '_> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        (self.name, self.next) = (name(key)?, value);
        seed.deserialize(KeyDeserializer { name: self.name }).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let (value, depth, budget) = (self.next, self.depth, self.budget);
        let result = seed.deserialize(Nested { value, depth, budget });
        result.map_err(|error| error.in_key(self.name))
    }

    fn size_hint(&self) -> Option<usize> {
        self.rest.size_hint().1
    }
}

struct Variant<'de, 'b> {
    name: &'de str,
    content: Nested<'de, 'b>,
}

impl<'de, 'b> EnumAccess<'de> for Variant<'de, 'b> {
    type Error = Error;
    type Variant = Nested<'de, 'b>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self::Variant)> {
        let name = seed.deserialize(BorrowedStrDeserializer::<Error>::new(self.name))?;
        Ok((name, self.content))
    }
}

impl<'de> VariantAccess<'de> for Nested<'de, '_> {
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

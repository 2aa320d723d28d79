//! Values as a `Deserializer`.

use super::access::{Inherited, Items, Pairs};
use super::reading::Reading;
use crate::dict::DictIter;
use crate::error::{Error, ErrorKind};
use crate::number::Number;
use crate::value::{Kind, Value};
use crate::{Array, Dict, Result};
use alloc::boxed::Box;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

macro_rules! delegate {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $name<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value> {
            let reading = Reading::new(self.source.size_bytes());
            Nested { value: self, depth: 0, reading: &reading }.$name($($argument,)* visitor)
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

/// A value, and how many collections are around it.
#[derive(Clone, Copy)]
pub(super) struct Nested<'de, 'r> {
    pub(super) value: Value<'de>,
    pub(super) depth: usize,
    pub(super) reading: &'r Reading<'de>,
}

impl<'de, 'r> Nested<'de, 'r> {
    #[inline]
    fn text(self) -> Result<&'de str> {
        let text = self.value.as_str();
        text.ok_or_else(|| Error::at(ErrorKind::BadUtf8, self.value.at, "a string is not UTF-8"))
    }

    #[inline]
    fn array<V: Visitor<'de>>(self, array: Array<'de>, visitor: V) -> Result<V::Value> {
        let (slots, reading) = (array.slots.clamped(1), self.reading);
        let len = slots.count;
        let mut items = Items { slots, len, depth: reading.enter(self.depth, len)?, reading };
        let result = visitor.visit_seq(&mut items)?;
        if items.slots.count > 0 {
            return Err(wrong_len(len));
        }
        reading.leave();
        Ok(result)
    }

    #[inline]
    fn dict<V: Visitor<'de>>(self, dict: Dict<'de>, visitor: V) -> Result<V::Value> {
        visitor.visit_map(self.pairs(dict)?)
    }

    #[inline]
    fn pairs(self, dict: Dict<'de>) -> Result<Pairs<'de, 'r>> {
        if dict.has_parent() {
            return self.inherited_pairs(dict);
        }
        let (slots, reading) = (dict.slots.clamped(2), self.reading);
        let depth = reading.enter(self.depth, slots.count)?;
        Ok(Pairs { slots, inherited: None, depth, reading })
    }

    #[cold]
    fn inherited_pairs(self, dict: Dict<'de>) -> Result<Pairs<'de, 'r>> {
        let (mut slots, reading) = (dict.slots, self.reading);
        reading.check(slots.source.bytes)?;
        // All generations are read.
        let len = dict.generations().map(|dict| DictIter::stored(dict.slots).len()).sum();
        slots.count = 0;
        let rest = Inherited { rest: dict.iter(), name: "", value: Value::undefined() };
        let depth = reading.enter(self.depth, len)?;
        Ok(Pairs { slots, inherited: Some(Box::new(rest)), depth, reading })
    }

    /// What is not of the expected type, which the visitor may take or not.
    #[cold]
    #[inline(never)]
    fn other<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_any(visitor)
    }

    /// What is ignored must be sound, too.
    fn ignore(self) -> Result<()> {
        match self.value.kind() {
            Kind::String => self.text().map(drop),
            Kind::Array | Kind::Dict => self.reading.check(self.value.source.bytes),
            _ => Ok(()),
        }
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
        visitor.visit_enum(Variant { name, content }).map_err(|error| error.in_key(name))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if !self.reading.is_checked() {
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

struct Variant<'de, 'r> {
    name: &'de str,
    content: Nested<'de, 'r>,
}

impl<'de, 'r> EnumAccess<'de> for Variant<'de, 'r> {
    type Error = Error;
    type Variant = Nested<'de, 'r>;

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

//! Values as a `Deserializer`.

use crate::Result;
use crate::array::ArrayIter;
use crate::dict::{DictIter, DictKey};
use crate::error::{Error, ErrorKind};
use crate::limits::SERDE_DEPTH;
use crate::number::Number;
use crate::value::{Kind, Value};
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

macro_rules! delegate {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $name<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value> {
            Nested { value: self, depth: 0 }.$name($($argument,)* visitor)
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
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier
    }
}

/// A value, and how many collections are around it.
#[derive(Clone, Copy)]
struct Nested<'de> {
    value: Value<'de>,
    depth: usize,
}

impl<'de> Nested<'de> {
    fn inner(depth: usize) -> Result<usize> {
        if depth < SERDE_DEPTH {
            return Ok(depth + 1);
        }
        Err(Error::new(ErrorKind::TooDeep, "collections are nested too deeply to be deserialized"))
    }

    fn text(self) -> Result<&'de str> {
        let text = self.value.as_str();
        text.ok_or_else(|| Error::at(ErrorKind::BadUtf8, self.value.at, "a string is not UTF-8"))
    }
}

impl<'de> Deserializer<'de> for Nested<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let value = self.value;
        match value.kind() {
            Kind::Undefined | Kind::Null => visitor.visit_unit(),
            Kind::Bool => visitor.visit_bool(value.to_bool()),
            Kind::Number => match value.number() {
                Some(Number::Signed(n)) => match u64::try_from(n) {
                    Ok(n) => visitor.visit_u64(n),
                    Err(_) => visitor.visit_i64(n),
                },
                Some(Number::Unsigned(n)) => visitor.visit_u64(n),
                Some(Number::Float(n)) => visitor.visit_f32(n),
                Some(Number::Double(n)) => visitor.visit_f64(n),
                None => visitor.visit_unit(),
            },
            Kind::String => visitor.visit_borrowed_str(self.text()?),
            Kind::Data => visitor.visit_borrowed_bytes(value.as_data().unwrap_or_default()),
            Kind::Array => {
                let depth = Self::inner(self.depth)?;
                let array = value.as_array();
                let mut items = Items { items: array.map(crate::Array::iter), depth };
                let result = visitor.visit_seq(&mut items)?;
                if items.items.is_some_and(|mut rest| rest.next().is_some()) {
                    return Err(wrong_len(array.map_or(0, crate::Array::len)));
                }
                Ok(result)
            }
            Kind::Dict => {
                let depth = Self::inner(self.depth)?;
                let Some(dict) = value.as_dict() else { return visitor.visit_unit() };
                visitor.visit_map(Pairs { rest: dict.iter(), next: None, depth })
            }
        }
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
        let depth = Self::inner(self.depth)?;
        let mut pairs = self.value.as_dict().into_iter().flatten();
        let (Some((key, value)), None) = (pairs.next(), pairs.next()) else {
            let message = "an enum is a string or a dict of one pair";
            return Err(Error::at(ErrorKind::WrongType, self.value.at, message));
        };
        visitor.visit_enum(Variant { name: name(key)?, content: Nested { value, depth } })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier
    }
}

fn wrong_len(len: usize) -> Error {
    Error::invalid_length(len, &"fewer items")
}

fn name(key: DictKey<'_>) -> Result<&str> {
    let message = "a key is not UTF-8, or a shared key has no name in the table";
    key.as_str().ok_or_else(|| Error::new(ErrorKind::UnknownSharedKey, message))
}

struct Items<'de> {
    items: Option<ArrayIter<'de>>,
    depth: usize,
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let item = self.items.as_mut().and_then(Iterator::next);
        item.map(|value| seed.deserialize(Nested { value, depth: self.depth })).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        self.items.as_ref().map(ExactSizeIterator::len)
    }
}

struct Pairs<'de> {
    rest: DictIter<'de>,
    next: Option<Value<'de>>,
    depth: usize,
}

impl<'de> MapAccess<'de> for Pairs<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.next = Some(value);
        seed.deserialize(KeyDeserializer { name: name(key)? }).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let value = self.next.take();
        let value = value.ok_or_else(|| Error::new(ErrorKind::State, "a value before its key"))?;
        seed.deserialize(Nested { value, depth: self.depth })
    }

    fn size_hint(&self) -> Option<usize> {
        self.rest.size_hint().1
    }
}

/// A key of a dict: a string, or what a string says where a map has keys of another type.
struct KeyDeserializer<'de> {
    name: &'de str,
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

struct Variant<'de> {
    name: &'de str,
    content: Nested<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Error;
    type Variant = Nested<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Nested<'de>)> {
        let name = seed.deserialize(BorrowedStrDeserializer::<Error>::new(self.name))?;
        Ok((name, self.content))
    }
}

impl<'de> VariantAccess<'de> for Nested<'de> {
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

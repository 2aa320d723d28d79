//! The `Serializer`: turns any `Serialize` type into encoder calls.

use crate::Result;
use crate::encoder::Encoder;
use crate::error::{Error, ErrorKind};
use alloc::string::{String, ToString};
use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant,
};

pub(super) struct Serializer<'e> {
    pub(super) encoder: &'e mut Encoder,
}

/// An open collection, inside a dict of one pair if it belongs to a variant of an enum.
pub(super) struct CollectionSerializer<'e> {
    encoder: &'e mut Encoder,
    is_variant: bool,
}

impl<'e> Serializer<'e> {
    fn array(self) -> CollectionSerializer<'e> {
        self.encoder.begin_array();
        CollectionSerializer { encoder: self.encoder, is_variant: false }
    }

    fn dict(self) -> CollectionSerializer<'e> {
        self.encoder.begin_dict();
        CollectionSerializer { encoder: self.encoder, is_variant: false }
    }

    fn variant(self, variant: &str) -> Self {
        self.encoder.begin_dict();
        self.encoder.write_key(variant);
        self
    }
}

/// Integers that are not negative are written as unsigned, as they are from JSON text.
fn write_i64(encoder: &mut Encoder, value: i64) {
    match u64::try_from(value) {
        Ok(value) => encoder.write_u64(value),
        Err(_) => encoder.write_i64(value),
    }
}

fn too_large() -> Error {
    Error::new(ErrorKind::NotRepresentable, "an integer has more than 64 bits")
}

macro_rules! ints {
    ($($name:ident $type:ty),*) => {
        $(fn $name(self, value: $type) -> Result<()> {
            write_i64(self.encoder, value.into());
            Ok(())
        })*
    };
}

impl<'e> serde::Serializer for Serializer<'e> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = CollectionSerializer<'e>;
    type SerializeTuple = CollectionSerializer<'e>;
    type SerializeTupleStruct = CollectionSerializer<'e>;
    type SerializeTupleVariant = CollectionSerializer<'e>;
    type SerializeMap = CollectionSerializer<'e>;
    type SerializeStruct = CollectionSerializer<'e>;
    type SerializeStructVariant = CollectionSerializer<'e>;

    ints!(serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64);
    ints!(serialize_u8 u8, serialize_u16 u16, serialize_u32 u32);

    fn serialize_u64(self, value: u64) -> Result<()> {
        self.encoder.write_u64(value);
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<()> {
        match (u64::try_from(value), i64::try_from(value)) {
            (Ok(value), _) => self.encoder.write_u64(value),
            (_, Ok(value)) => self.encoder.write_i64(value),
            _ => return Err(too_large()),
        }
        Ok(())
    }

    fn serialize_u128(self, value: u128) -> Result<()> {
        self.serialize_u64(value.try_into().map_err(|_| too_large())?)
    }

    fn serialize_bool(self, value: bool) -> Result<()> {
        self.encoder.write_bool(value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<()> {
        self.encoder.write_f32(value);
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<()> {
        self.encoder.write_f64(value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        self.encoder.write_str(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<()> {
        self.encoder.write_data(value);
        Ok(())
    }

    fn serialize_none(self) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.encoder.write_null();
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        let Self { encoder } = self.variant(variant);
        value.serialize(Serializer { encoder })?;
        encoder.end_dict();
        Ok(())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<CollectionSerializer<'e>> {
        Ok(self.array())
    }

    fn serialize_tuple(self, _len: usize) -> Result<CollectionSerializer<'e>> {
        Ok(self.array())
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<CollectionSerializer<'e>> {
        Ok(self.array())
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<CollectionSerializer<'e>> {
        Ok(CollectionSerializer { is_variant: true, ..self.variant(variant).array() })
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<CollectionSerializer<'e>> {
        Ok(self.dict())
    }

    fn serialize_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<CollectionSerializer<'e>> {
        Ok(self.dict())
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<CollectionSerializer<'e>> {
        Ok(CollectionSerializer { is_variant: true, ..self.variant(variant).dict() })
    }
}

impl CollectionSerializer<'_> {
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(Serializer { encoder: self.encoder })
    }

    fn end_array(self) {
        self.encoder.end_array();
        if self.is_variant {
            self.encoder.end_dict();
        }
    }

    fn end_dict(self) {
        self.encoder.end_dict();
        if self.is_variant {
            self.encoder.end_dict();
        }
    }
}

macro_rules! arrays {
    ($($trait:ident $item:ident),*) => {
        $(impl $trait for CollectionSerializer<'_> {
            type Ok = ();
            type Error = Error;

            fn $item<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<()> {
                self.value(item)
            }

            fn end(self) -> Result<()> {
                self.end_array();
                Ok(())
            }
        })*
    };
}

arrays!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

macro_rules! structs {
    ($($trait:ident),*) => {
        $(impl $trait for CollectionSerializer<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<()> {
                self.encoder.write_key(key);
                self.value(value)
            }

            fn end(self) -> Result<()> {
                self.end_dict();
                Ok(())
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for CollectionSerializer<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        let key = key.serialize(KeySerializer)?;
        self.encoder.write_key(&key);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.value(value)
    }

    fn end(self) -> Result<()> {
        self.end_dict();
        Ok(())
    }
}

/// Converts a map's key to a string, as JSON libraries do.
struct KeySerializer;

fn not_a_key<T>() -> Result<T> {
    Err(Error::new(ErrorKind::BadKey, "a key of a map is neither a string nor an integer"))
}

macro_rules! printed_keys {
    ($($name:ident $type:ty),*) => {
        $(fn $name(self, value: $type) -> Result<String> {
            Ok(value.to_string())
        })*
    };
}

macro_rules! no_keys {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(fn $name(self, $(_: $argument),*) -> Result<$result> {
            not_a_key()
        })*
    };
}

impl serde::Serializer for KeySerializer {
    type Ok = String;
    type Error = Error;
    type SerializeSeq = Impossible<String, Error>;
    type SerializeTuple = Impossible<String, Error>;
    type SerializeTupleStruct = Impossible<String, Error>;
    type SerializeTupleVariant = Impossible<String, Error>;
    type SerializeMap = Impossible<String, Error>;
    type SerializeStruct = Impossible<String, Error>;
    type SerializeStructVariant = Impossible<String, Error>;

    printed_keys!(
        serialize_bool bool, serialize_i8 i8, serialize_i16 i16, serialize_i32 i32,
        serialize_i64 i64, serialize_i128 i128, serialize_u8 u8, serialize_u16 u16,
        serialize_u32 u32, serialize_u64 u64, serialize_u128 u128, serialize_char char,
        serialize_str &str
    );

    no_keys! {
        serialize_f32(f32) -> String;
        serialize_f64(f64) -> String;
        serialize_bytes(&[u8]) -> String;
        serialize_none() -> String;
        serialize_unit() -> String;
        serialize_unit_struct(&'static str) -> String;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<String> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &str, _: u32, variant: &'static str) -> Result<String> {
        Ok(variant.to_string())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<String> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<String> {
        not_a_key()
    }
}

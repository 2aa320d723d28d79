//! The `fleece!` macro, and the trait of the values that it can write.

use crate::encoder::Encoder;
use crate::value::Value;
use alloc::string::String;
use alloc::vec::Vec;

/// Makes a document, a `Vec<u8>`, from a literal that looks like JSON and may hold expressions.
///
/// Keys are string literals or expressions in parentheses. NaN becomes `null`, and of equal keys
/// the last one stays.
///
/// # Panics
///
/// If the document would be 2 GiB or longer.
///
/// ```
/// use fleece_codec::{fleece, json, Doc};
/// let name = String::from("Ada");
/// let bytes = fleece!({"name": name, "born": 1800 + 15, ("k".repeat(2)): [null, true, -1.5, {}]});
/// assert_eq!(json::to_string(Doc::open(bytes)?.root())?, r#"{"born":1815,"kk":[null,true,-1.5,{}],"name":"Ada"}"#);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[macro_export]
macro_rules! fleece {
    ($($value:tt)+) => {{
        let mut encoder = $crate::Encoder::new();
        $crate::__fleece_items!(encoder $($value)+);
        encoder.finish().expect("a literal is one value of less than 2 GiB")
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fleece_items {
    ($encoder:ident) => {};
    ($encoder:ident null $(, $($rest:tt)*)?) => {
        $encoder.write_null();
        $crate::__fleece_items!($encoder $($($rest)*)?);
    };
    ($encoder:ident [$($items:tt)*] $(, $($rest:tt)*)?) => {
        $encoder.begin_array();
        $crate::__fleece_items!($encoder $($items)*);
        $encoder.end_array();
        $crate::__fleece_items!($encoder $($($rest)*)?);
    };
    ($encoder:ident {$($pairs:tt)*} $(, $($rest:tt)*)?) => {
        $encoder.begin_dict();
        $crate::__fleece_pairs!($encoder $($pairs)*);
        $encoder.end_dict();
        $crate::__fleece_items!($encoder $($($rest)*)?);
    };
    ($encoder:ident $value:expr $(, $($rest:tt)*)?) => {
        $crate::WriteFleece::write_fleece(&$value, &mut $encoder);
        $crate::__fleece_items!($encoder $($($rest)*)?);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fleece_pairs {
    ($encoder:ident) => {};
    ($encoder:ident ($key:expr): $($rest:tt)+) => {
        $encoder.write_key(::core::convert::AsRef::<str>::as_ref(&$key));
        $crate::__fleece_value!($encoder $($rest)+);
    };
    ($encoder:ident $key:literal: $($rest:tt)+) => {
        $encoder.write_key($key);
        $crate::__fleece_value!($encoder $($rest)+);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fleece_value {
    ($encoder:ident null $(, $($rest:tt)*)?) => {
        $encoder.write_null();
        $crate::__fleece_pairs!($encoder $($($rest)*)?);
    };
    ($encoder:ident [$($items:tt)*] $(, $($rest:tt)*)?) => {
        $crate::__fleece_items!($encoder [$($items)*]);
        $crate::__fleece_pairs!($encoder $($($rest)*)?);
    };
    ($encoder:ident {$($pairs:tt)*} $(, $($rest:tt)*)?) => {
        $crate::__fleece_items!($encoder {$($pairs)*});
        $crate::__fleece_pairs!($encoder $($($rest)*)?);
    };
    ($encoder:ident $value:expr $(, $($rest:tt)*)?) => {
        $crate::WriteFleece::write_fleece(&$value, &mut $encoder);
        $crate::__fleece_pairs!($encoder $($($rest)*)?);
    };
}

/// A value that can be an expression in [`fleece!`].
///
/// ```
/// use fleece_codec::{fleece, Encoder, WriteFleece};
/// struct Celsius(f64);
/// impl WriteFleece for Celsius {
///     fn write_fleece(&self, encoder: &mut Encoder) {
///         encoder.write_f64(self.0);
///     }
/// }
/// assert_eq!(fleece!([Celsius(36.6)]), fleece!([36.6]));
/// ```
pub trait WriteFleece {
    /// Writes exactly one value.
    ///
    /// ```
    /// use fleece_codec::{Encoder, WriteFleece};
    /// let mut encoder = Encoder::new();
    /// [1, 2].write_fleece(&mut encoder);
    /// assert_eq!(encoder.finish()?, fleece_codec::fleece!([1, 2]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    fn write_fleece(&self, encoder: &mut Encoder);
}

macro_rules! write_fleece {
    ($($type:ty, $value:ident, $encoder:ident => $write:expr;)*) => {
        $(impl WriteFleece for $type {
            fn write_fleece(&self, $encoder: &mut Encoder) {
                let $value = self;
                $write
            }
        })*
    };
}

write_fleece! {
    (), _unit, encoder => encoder.write_null();
    bool, value, encoder => encoder.write_bool(*value);
    i8, value, encoder => write_int(*value, encoder);
    i16, value, encoder => write_int(*value, encoder);
    i32, value, encoder => write_int(*value, encoder);
    i64, value, encoder => write_int(*value, encoder);
    u8, value, encoder => encoder.write_u64((*value).into());
    u16, value, encoder => encoder.write_u64((*value).into());
    u32, value, encoder => encoder.write_u64((*value).into());
    u64, value, encoder => encoder.write_u64(*value);
    usize, value, encoder => encoder.write_u64(*value as u64);
    f32, value, encoder => if value.is_nan() { encoder.write_null() } else { encoder.write_f32(*value) };
    f64, value, encoder => if value.is_nan() { encoder.write_null() } else { encoder.write_f64(*value) };
    str, value, encoder => encoder.write_str(value);
    String, value, encoder => encoder.write_str(value);
    Value<'_>, value, encoder => encoder.write_value(*value);
}

/// Integers that are not negative are written as unsigned, as they are from JSON text.
fn write_int(value: impl Into<i64>, encoder: &mut Encoder) {
    let value = value.into();
    match u64::try_from(value) {
        Ok(value) => encoder.write_u64(value),
        Err(_) => encoder.write_i64(value),
    }
}

impl<T: WriteFleece + ?Sized> WriteFleece for &T {
    fn write_fleece(&self, encoder: &mut Encoder) {
        (**self).write_fleece(encoder);
    }
}

impl<T: WriteFleece> WriteFleece for Option<T> {
    fn write_fleece(&self, encoder: &mut Encoder) {
        match self {
            Some(value) => value.write_fleece(encoder),
            None => encoder.write_null(),
        }
    }
}

impl<T: WriteFleece> WriteFleece for [T] {
    fn write_fleece(&self, encoder: &mut Encoder) {
        encoder.begin_array();
        for item in self {
            item.write_fleece(encoder);
        }
        encoder.end_array();
    }
}

impl<T: WriteFleece, const N: usize> WriteFleece for [T; N] {
    fn write_fleece(&self, encoder: &mut Encoder) {
        self.as_slice().write_fleece(encoder);
    }
}

impl<T: WriteFleece> WriteFleece for Vec<T> {
    fn write_fleece(&self, encoder: &mut Encoder) {
        self.as_slice().write_fleece(encoder);
    }
}

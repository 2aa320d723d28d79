//! Writing of scalars: slots, bytes and padding; and references to values that were written before.

use super::collection::Expects;
use super::strings::{NOWHERE, Packed, SHARED_DISTANCE_MAX, SHARED_LEN_MAX};
use super::{Encoder, POINTER};
use crate::error::{Error, ErrorKind};
use crate::wire::{FALSE, NULL, TRUE, UNDEFINED};
use crate::{Result, timestamp};

/// Scalars.
impl Encoder {
    /// Writes `null`.
    ///
    /// ```
    /// # use fleece_codec::Encoder;
    /// Encoder::new().write_null();
    /// ```
    #[inline]
    pub fn write_null(&mut self) {
        self.push_inline(NULL);
    }

    /// Writes `undefined`, which JSON does not have.
    ///
    /// ```
    /// # use fleece_codec::Encoder;
    /// Encoder::new().write_undefined();
    /// ```
    pub fn write_undefined(&mut self) {
        self.push_inline(UNDEFINED);
    }

    /// Writes a boolean.
    ///
    /// ```
    /// # use fleece_codec::Encoder;
    /// Encoder::new().write_bool(true);
    /// ```
    #[inline]
    pub fn write_bool(&mut self, value: bool) {
        self.push_inline(if value { TRUE } else { FALSE });
    }

    /// Writes an integer; outside the range -2048 to 2047, it is stored as a signed one.
    ///
    /// ```
    /// # use fleece_codec::{Doc, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.write_i64(-2049);
    /// assert_eq!(Doc::open(encoder.finish()?)?.root().as_i64(), Some(-2049));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn write_i64(&mut self, value: i64) {
        if (-2048..2048).contains(&value) {
            return self.push_inline(value as u16 & 0x0FFF);
        }
        // The magnitude's bits and one for the sign.
        let bits = 65 - (if value < 0 { !value } else { value }).leading_zeros();
        self.long_int(value as u64, bits.div_ceil(8), 0x10);
    }

    /// Writes an integer; from 2048 on as an unsigned one, which is how JSON's positive integers
    /// are stored.
    ///
    /// ```
    /// # use fleece_codec::{Doc, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.write_u64(u64::MAX);
    /// assert_eq!(Doc::open(encoder.finish()?)?.root().as_u64(), Some(u64::MAX));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn write_u64(&mut self, value: u64) {
        if value < 2048 {
            return self.push_inline(value as u16);
        }
        self.long_int(value, (64 - value.leading_zeros()).div_ceil(8), 0x18);
    }

    #[inline]
    fn long_int(&mut self, value: u64, bytes: u32, tag: u8) {
        self.push_pointer();
        let number = u128::from(value & (u64::MAX >> (64 - 8 * bytes))) << 8;
        let stored = number | u128::from(tag | (bytes as u8 - 1));
        self.append_16(stored.to_le_bytes(), 1 + bytes as usize);
    }

    /// Writes a double, in 6 bytes if a float has the same value, else in 10. NaN is refused.
    ///
    /// ```
    /// # use fleece_codec::{Doc, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.write_f64(0.1);
    /// assert_eq!(Doc::open(encoder.finish()?)?.root().as_f64(), Some(0.1));
    /// encoder.write_f64(f64::NAN);
    /// assert!(encoder.finish().is_err());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn write_f64(&mut self, value: f64) {
        let float = value as f32;
        if value.is_nan() {
            return self.refuse_nan();
        }
        self.push_pointer();
        // The bits are equal whenever the values are: conversion keeps the sign of zero.
        if float.is_finite() && f64::from(float).to_bits() == value.to_bits() {
            let stored = u128::from(float.to_bits()) << 16 | 0x24;
            self.append_16(stored.to_le_bytes(), 6);
        } else {
            let stored = u128::from(value.to_bits()) << 16 | 0x28;
            self.append_16(stored.to_le_bytes(), 10);
        }
    }

    /// Writes a float, in 6 bytes. NaN is refused.
    ///
    /// ```
    /// # use fleece_codec::{Doc, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.write_f32(0.5);
    /// assert_eq!(Doc::open(encoder.finish()?)?.root().as_f64(), Some(0.5));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn write_f32(&mut self, value: f32) {
        if value.is_nan() {
            return self.refuse_nan();
        }
        self.push_pointer();
        self.append_16((u128::from(value.to_bits()) << 16 | 0x20).to_le_bytes(), 6);
    }

    #[cold]
    fn refuse_nan(&mut self) {
        self.fail(ErrorKind::NotRepresentable, "NaN cannot be written");
    }

    /// Writes a string.
    ///
    /// ```
    /// # use fleece_codec::{Doc, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.write_str("hello");
    /// assert_eq!(Doc::open(encoder.finish()?)?.root().as_str(), Some("hello"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn write_str(&mut self, value: &str) {
        self.write_str_bytes(value.as_bytes());
    }

    /// Writes binary data.
    ///
    /// ```
    /// # use fleece_codec::{Doc, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.write_data(&[0xFF, 0x00]);
    /// assert_eq!(Doc::open(encoder.finish()?)?.root().as_data(), Some(&[0xFF, 0x00][..]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn write_data(&mut self, value: &[u8]) {
        match *value {
            [] => self.push_inline(0x5000),
            [byte] => self.push_inline(0x5100 | u16::from(byte)),
            _ => {
                self.push_pointer();
                self.append_bytes(0x50, value);
            }
        }
    }

    /// Writes a point in time as an ISO-8601 string: milliseconds since 1970-01-01T00:00:00Z.
    ///
    /// ```
    /// # use fleece_codec::{Doc, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.write_timestamp_ms(1_400_000_000_123);
    /// assert_eq!(Doc::open(encoder.finish()?)?.root().as_str(), Some("2014-05-13T16:53:20.123Z"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn write_timestamp_ms(&mut self, ms: i64) {
        self.write_str(&timestamp::print_ms(ms));
    }

    /// The value that was written last; `None` if it is so small that writing it again is cheaper.
    ///
    /// ```
    /// # use fleece_codec::Encoder;
    /// let mut encoder = Encoder::new();
    /// encoder.begin_array();
    /// assert!(encoder.last_value().is_none());
    /// encoder.write_f64(1.5);
    /// assert!(encoder.last_value().is_some());
    /// ```
    pub fn last_value(&self) -> Option<WrittenValue> {
        let slot = *self.slots[self.frame.first_slot..].last()?;
        (slot & POINTER != 0).then_some(WrittenValue { slot, document: self.document })
    }

    /// Writes another reference to a value of this document.
    ///
    /// ```
    /// # use fleece_codec::{Doc, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.begin_array();
    /// encoder.write_str("a string of any length");
    /// let value = encoder.last_value().unwrap();
    /// encoder.write_again(value);
    /// encoder.end_array();
    /// let doc = Doc::open(encoder.finish()?)?;
    /// assert_eq!(doc.root().at(0).unwrap().offset(), doc.root().at(1).unwrap().offset());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn write_again(&mut self, value: WrittenValue) {
        if value.document == self.document {
            self.push_slot(value.slot);
        } else {
            self.fail(ErrorKind::State, "the value belongs to another document");
        }
    }
}

/// A value that was written and can be referred to again; see [`Encoder::last_value`].
///
/// ```
/// use fleece_codec::{fleece, Encoder};
/// let mut encoder = Encoder::new();
/// encoder.begin_array();
/// encoder.write_f64(0.1);
/// let tenth = encoder.last_value().unwrap();
/// encoder.write_again(tenth);
/// encoder.end_array();
/// assert!(encoder.finish()?.len() < fleece!([0.1, 0.1]).len());
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WrittenValue {
    slot: u32,
    document: u32,
}

impl Encoder {
    #[inline]
    pub(crate) fn write_str_bytes(&mut self, value: &[u8]) {
        if value.len() <= SHARED_LEN_MAX {
            return self.write_packed(Packed::new(value), value.len());
        }
        self.push_pointer();
        self.append_bytes(0x40, value);
    }

    #[inline]
    pub(crate) fn write_packed(&mut self, string: Packed, len: usize) {
        let slot = self.short_string(string, len).0;
        self.push_slot(slot);
    }

    /// The number of open collections.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.outer.len()
    }

    #[inline]
    pub(crate) fn expects(&self) -> Expects {
        self.frame.expects
    }

    /// The slot for a string of at most 15 bytes, and its hash. The string is written unless a copy
    /// of it is within reach.
    #[inline]
    pub(super) fn short_string(&mut self, string: Packed, len: usize) -> (u32, u64) {
        let hash = string.hash(self.strings.seed());
        if len < 2 {
            return ((string.0 as u32 & 0xFF) << 16 | (0x40 | len as u32) << 24, hash);
        }
        let at = self.position();
        if self.share_strings {
            if self.must_load_base {
                self.load_base();
            }
            let place = self.strings.place(string, hash);
            let near = at.wrapping_sub(*place as usize) <= SHARED_DISTANCE_MAX || self.frame.wide;
            if *place != NOWHERE && near {
                return (POINTER | *place, hash);
            }
            *place = at as u32;
        }
        if len < 15 {
            self.append_16(string.stored(), 1 + len);
        } else {
            // Strings of 15 bytes are short enough to be shared, but too long for the header.
            self.append_bytes(0x40, &string.0.to_le_bytes()[..15]);
        }
        (POINTER | at as u32, hash)
    }

    #[inline]
    pub(super) fn position(&self) -> usize {
        self.start + self.out.len()
    }

    #[inline]
    fn push_inline(&mut self, value: u16) {
        self.push_slot(u32::from(value) << 16);
    }

    /// Pushes a slot that points to the bytes that are appended next.
    #[inline]
    pub(super) fn push_pointer(&mut self) {
        self.push_slot(POINTER | self.position() as u32);
    }

    /// Appends the first `len` bytes and pads them to an even length; the bytes after them must be
    /// zero.
    #[inline]
    pub(super) fn append_16(&mut self, bytes: [u8; 16], len: usize) {
        let end = self.out.len() + len.next_multiple_of(2);
        self.out.extend_from_slice(&bytes);
        self.out.truncate(end);
    }

    #[inline]
    pub(super) fn append_bytes(&mut self, tag: u8, bytes: &[u8]) {
        if bytes.len() < 15 {
            self.out.push(tag | bytes.len() as u8);
        } else {
            self.out.push(tag | 15);
            self.append_varint(bytes.len());
        }
        self.out.extend_from_slice(bytes);
        self.pad();
    }

    pub(super) fn pad(&mut self) {
        if self.out.len() & 1 != 0 {
            self.out.push(0);
        }
    }

    #[inline]
    pub(super) fn append_varint(&mut self, value: usize) {
        let mut rest = value;
        while rest >= 0x80 {
            self.out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.out.push(rest as u8);
    }

    /// Records an error, unless there was one before.
    #[cold]
    pub(crate) fn fail(&mut self, kind: ErrorKind, message: &'static str) {
        if self.failure.is_none() {
            self.failure = Some(Error::new(kind, message));
        }
    }

    /// Takes the first error.
    #[inline]
    pub(crate) fn take_failure(&mut self) -> Result<()> {
        match self.failure.take() {
            None => Ok(()),
            Some(failure) => Err(failure),
        }
    }
}

//! Numbers: their storage, strict conversions to Rust types, and Fleece's lenient conversions.

use crate::timestamp;
use crate::value::{Kind, Value};
use crate::wire::tag;

/// A number as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f32),
    Double(f64),
}

impl Value<'_> {
    /// Whether this is a number that is stored as an integer.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!(7))?.root().is_integer());
    /// assert!(!Doc::open(fleece!(7.0))?.root().is_integer());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn is_integer(self) -> bool {
        self.first_byte() >> 4 <= tag::LONG_INT
    }

    /// Whether this is an integer stored as unsigned, which may exceed an `i64`.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!(u64::MAX))?.root().is_unsigned());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn is_unsigned(self) -> bool {
        self.first_byte() & 0xF8 == 0x18
    }

    /// Whether this is a floating-point number that was written as a double.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!(0.1))?.root().is_double());
    /// assert!(!Doc::open(fleece!(0.1_f32))?.root().is_double());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn is_double(self) -> bool {
        matches!(self.number(), Some(Number::Double(_)))
    }

    /// The number, if it is an integer from -2^63 to 2^63 - 1.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(-5))?.root().as_i64(), Some(-5));
    /// assert_eq!(Doc::open(fleece!(u64::MAX))?.root().as_i64(), None);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn as_i64(self) -> Option<i64> {
        match self.number()? {
            Number::Signed(n) => Some(n),
            Number::Unsigned(n) => n.try_into().ok(),
            _ => None,
        }
    }

    /// The number, if it is an integer from 0 to 2^64 - 1.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(u64::MAX))?.root().as_u64(), Some(u64::MAX));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn as_u64(self) -> Option<u64> {
        match self.number()? {
            Number::Signed(n) => n.try_into().ok(),
            Number::Unsigned(n) => Some(n),
            _ => None,
        }
    }

    /// The number, whether stored as an integer (rounded, if beyond 2^53) or as a float.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(3))?.root().as_f64(), Some(3.0));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn as_f64(self) -> Option<f64> {
        Some(match self.number()? {
            Number::Signed(n) => n as f64,
            Number::Unsigned(n) => n as f64,
            Number::Float(n) => f64::from(n),
            Number::Double(n) => n,
        })
    }

    #[inline(always)]
    pub(crate) fn number(self) -> Option<Number> {
        let rest = self.source.bytes.get(self.at..)?;
        let &[first, second] = rest.first_chunk::<2>()?;
        match first >> 4 {
            tag::SHORT_INT => {
                let word = i16::from_be_bytes([first, second]);
                Some(Number::Signed(i64::from(word << 4 >> 4)))
            }
            tag::LONG_INT => long_int(first, &rest[1..]),
            tag::FLOAT => float(first, rest),
            _ => None,
        }
    }
}

#[inline(always)]
fn long_int(first: u8, rest: &[u8]) -> Option<Number> {
    let len = usize::from(first & 7) + 1;
    let unused_bits = 64 - 8 * len;
    let word = if let Some(eight) = rest.first_chunk::<8>() {
        u64::from_le_bytes(*eight)
    } else {
        let mut eight = [0; 8];
        eight[..len].copy_from_slice(rest.get(..len)?);
        u64::from_le_bytes(eight)
    } << unused_bits;
    Some(if first & 8 != 0 {
        Number::Unsigned(word >> unused_bits)
    } else {
        Number::Signed(word as i64 >> unused_bits)
    })
}

#[inline(always)]
fn float(first: u8, rest: &[u8]) -> Option<Number> {
    if first & 8 != 0 {
        let eight: [u8; 8] = rest.get(2..10)?.try_into().ok()?;
        return Some(Number::Double(f64::from_le_bytes(eight)));
    }
    let four: [u8; 4] = rest.get(2..6)?.try_into().ok()?;
    let float = f32::from_le_bytes(four);
    Some(if first & 4 != 0 { Number::Double(f64::from(float)) } else { Number::Float(float) })
}

// Fleece's lenient conversions: every value converts to a boolean and a number, and some to a time.

impl Value<'_> {
    /// The value as a boolean by Fleece's rule: false for `null`, `undefined`, `false`, and numbers
    /// whose integer part is 0; true for all other values.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!(""))?.root().to_bool());
    /// assert!(!Doc::open(fleece!(0.5))?.root().to_bool());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_bool(self) -> bool {
        match self.kind() {
            Kind::Null | Kind::Undefined => false,
            Kind::Bool => self.first_byte() == 0x38,
            Kind::Number => self.to_i64() != 0,
            _ => true,
        }
    }

    /// Any value as an integer: `true` is 1, floats lose their fraction and saturate, unsigned
    /// integers keep their bits, all other values are 0.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(-1.9))?.root().to_i64(), -1);
    /// assert_eq!(Doc::open(fleece!("7"))?.root().to_i64(), 0);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_i64(self) -> i64 {
        match self.number() {
            Some(Number::Signed(n)) => n,
            Some(Number::Unsigned(n)) => n as i64,
            Some(Number::Float(n)) => n as i64,
            Some(Number::Double(n)) => n as i64,
            None => i64::from(self.first_byte() == 0x38),
        }
    }

    /// Any value as an unsigned integer: the bits of [`to_i64`](Self::to_i64).
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(true))?.root().to_u64(), 1);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_u64(self) -> u64 {
        self.to_i64() as u64
    }

    /// Any value as a double: `true` is 1, values that are neither numbers nor booleans are 0.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(true))?.root().to_f64(), 1.0);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_f64(self) -> f64 {
        self.as_f64().unwrap_or_else(|| f64::from(u8::from(self.first_byte() == 0x38)))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z: a number as it is, a string read as an ISO-8601
    /// date.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!("2014-05-13T16:53:20.123Z"))?;
    /// assert_eq!(doc.root().to_timestamp_ms(), Some(1_400_000_000_123));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_timestamp_ms(self) -> Option<i64> {
        match self.number() {
            Some(_) => Some(self.to_i64()),
            None => timestamp::parse_ms(self.as_str_bytes()?),
        }
    }
}

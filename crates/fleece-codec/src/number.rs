//! Numbers: how they are stored, and as what they can be had.

use crate::value::Value;
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

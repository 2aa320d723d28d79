//! Fleece's lenient conversions: every value is a boolean, a number and perhaps a time.

use crate::number::Number;
use crate::timestamp;
use crate::value::{Kind, Value};

impl Value<'_> {
    /// Fleece's idea of truth: false for `null`, `undefined`, `false`, and numbers whose integer
    /// part is 0; true for all else.
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

    /// Any value as an integer: `true` is 1, floats lose their fraction and saturate, unsigned ones
    /// keep their bits, all else is 0.
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

    /// Any value as a double: `true` is 1, what is neither number nor boolean is 0.
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

//! The values of a metric of a cell. JSON has neither NaN nor infinity: a missing value is null
//! there, and an infinite value is the text "inf" or "-inf". All other values are read back bit by
//! bit.

use std::fmt;
use std::ops::Index;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The values of a metric, one for each sample; NaN where a sample has none. Where at most 256 of
/// many values are different, as counts are and times in ticks, each takes a byte.
#[derive(Clone, Default)]
pub struct MetricColumn {
    /// By sample, or with codes each different value once.
    values: Vec<f64>,
    /// By sample, the index of its value.
    codes: Option<Vec<u8>>,
}

/// The column of a metric that no sample has.
pub(super) static NO_VALUES: MetricColumn = MetricColumn { values: Vec::new(), codes: None };

/// Fewer values take little memory in any form.
const MANY: usize = 512;

impl MetricColumn {
    fn len(&self) -> usize {
        self.codes.as_ref().map_or(self.values.len(), Vec::len)
    }

    pub fn get(&self, at: usize) -> Option<&f64> {
        (at < self.len()).then(|| &self[at])
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &f64> + ExactSizeIterator + Clone {
        (0..self.len()).map(move |at| &self[at])
    }

    /// The values by sample, to be changed.
    pub fn to_mut(&mut self) -> &mut Vec<f64> {
        if self.codes.is_some() {
            *self = MetricColumn { values: self.iter().copied().collect(), codes: None };
        }
        &mut self.values
    }
}

impl Index<usize> for MetricColumn {
    type Output = f64;

    fn index(&self, at: usize) -> &f64 {
        &self.values[self.codes.as_ref().map_or(at, |codes| usize::from(codes[at]))]
    }
}

impl FromIterator<f64> for MetricColumn {
    fn from_iter<I: IntoIterator<Item = f64>>(all: I) -> MetricColumn {
        let mut all = all.into_iter();
        let n = all.size_hint().0;
        if n < MANY {
            return MetricColumn { values: all.collect(), codes: None };
        }
        let (mut coder, mut codes) = (Coder::new(), Vec::with_capacity(n));
        while let Some(value) = all.next() {
            let Some(code) = coder.code(value) else {
                let before = codes.into_iter().map(|code: u8| coder.values[usize::from(code)]);
                let values = before.chain([value]).chain(all).collect();
                return MetricColumn { values, codes: None };
            };
            codes.push(code);
        }
        MetricColumn { values: coder.values, codes: Some(codes) }
    }
}

impl From<Vec<f64>> for MetricColumn {
    fn from(values: Vec<f64>) -> MetricColumn {
        values.into_iter().collect()
    }
}

/// Equal to that of a list, whether or not there are codes.
impl fmt::Debug for MetricColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for MetricColumn {
    fn eq(&self, other: &MetricColumn) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<const N: usize> PartialEq<[f64; N]> for MetricColumn {
    fn eq(&self, other: &[f64; N]) -> bool {
        self.iter().eq(other)
    }
}

/// Numbers the different values, bit by bit: NaN is equal to nothing, and 0 to −0.
struct Coder {
    values: Vec<f64>,
    /// A hash table with open addressing: the codes, and [`Coder::FREE`] where there is none.
    places: [u16; Coder::PLACES],
}

impl Coder {
    /// A power of two, and four times as many as there are codes.
    const PLACES: usize = 1024;
    /// No code.
    const FREE: u16 = u16::MAX;

    fn new() -> Coder {
        Coder { values: Vec::new(), places: [Coder::FREE; Coder::PLACES] }
    }

    /// The code of the value; none if it would need a 257th one.
    fn code(&mut self, value: f64) -> Option<u8> {
        let bits = value.to_bits();
        // Fibonacci hashing; the highest bits are the best mixed.
        let hash = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (hash >> (64 - Coder::PLACES.trailing_zeros())) as usize;
        loop {
            let code = self.places[at];
            match self.values.get(usize::from(code)) {
                Some(known) if known.to_bits() == bits => return u8::try_from(code).ok(),
                Some(_) => at = (at + 1) % Coder::PLACES,
                None => {
                    let code = u8::try_from(self.values.len()).ok()?;
                    self.places[at] = code.into();
                    self.values.push(value);
                    return Some(code);
                }
            }
        }
    }
}

impl Serialize for MetricColumn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|value| Number(*value)))
    }
}

impl<'de> Deserialize<'de> for MetricColumn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MetricColumn, D::Error> {
        let values = Vec::<Number>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|Number(value)| value).collect())
    }
}

struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            value if value.is_nan() => serializer.serialize_none(),
            value if value.is_infinite() => serializer.collect_str(&value),
            value => serializer.serialize_f64(value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a number, null, or one of the texts inf and -inf")]
        enum Form {
            Value(f64),
            Infinite(Infinite),
            Lacking(()),
        }
        #[derive(Deserialize)]
        enum Infinite {
            #[serde(rename = "inf")]
            More,
            #[serde(rename = "-inf")]
            Less,
        }
        Ok(Number(match Form::deserialize(deserializer)? {
            Form::Value(value) => value,
            Form::Infinite(Infinite::More) => f64::INFINITY,
            Form::Infinite(Infinite::Less) => f64::NEG_INFINITY,
            Form::Lacking(()) => f64::NAN,
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_json_has_no_number_for_is_null_or_a_word() {
        let column =
            MetricColumn::from(vec![1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.1]);
        let text = serde_json::to_string(&column).unwrap();
        assert_eq!(text, r#"[1.0,null,"inf","-inf",-0.0,0.1]"#);
        for bad in [r#"["x"]"#, "[true]", "[[]]", "1"] {
            assert!(serde_json::from_str::<MetricColumn>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn many_values_of_which_few_are_different_take_a_byte_each() {
        let bytes = |different: u32, n: u32| {
            let values = (0..n).map(|i| f64::from(i * 7 % different) / 3.0);
            let column: MetricColumn = values.clone().collect();
            assert_eq!(column.iter().copied().collect::<Vec<f64>>(), values.collect::<Vec<f64>>());
            let MetricColumn { values, codes } = &column;
            8 * values.len() + codes.as_ref().map_or(0, Vec::len)
        };
        assert_eq!(bytes(1, 512), 8 + 512);
        assert_eq!(bytes(256, 10_000), 8 * 256 + 10_000);
        assert_eq!(bytes(257, 10_000), 8 * 10_000);
        assert_eq!(bytes(1, 511), 8 * 511);
    }

    #[test]
    fn a_value_may_be_changed_and_others_added() {
        let mut column: MetricColumn = (0..1000).map(|i| f64::from(i % 3)).collect();
        assert_eq!((column[4], column.get(999), column.get(1000)), (1.0, Some(&0.0), None));
        let changed = column.to_mut();
        changed[4] = f64::NAN;
        changed.push(9.5);
        assert!(column[4].is_nan());
        assert_eq!((column[7], column.iter().next_back()), (1.0, Some(&9.5)));
        assert_eq!(column.iter().len(), 1001);
    }

    proptest! {
        #[test]
        fn values_survive_bit_by_bit(
            bits in prop::collection::vec(any::<u64>(), 0..600),
            different in prop_oneof![1usize..4, 250usize..300],
        ) {
            let one = |bit: &u64| bits[*bit as usize % different.min(bits.len())];
            let bits: Vec<u64> = bits.iter().map(one).collect();
            let column: MetricColumn = bits.iter().map(|bits| f64::from_bits(*bits)).collect();
            prop_assert_eq!(column.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), &bits[..]);
            let text = serde_json::to_string(&column).unwrap();
            let back: MetricColumn = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(back.iter().len(), bits.len());
            for (value, back) in column.iter().zip(back.iter()) {
                prop_assert!(value.to_bits() == back.to_bits() || value.is_nan() && back.is_nan());
            }
        }
    }
}

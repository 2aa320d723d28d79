//! The columns of a cell in JSON, which has neither NaN nor infinity: a missing value is null, and
//! an infinite value is the text "inf" or "-inf". All other values are read back bit by bit.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

type Columns = BTreeMap<String, Vec<f64>>;

pub(super) fn serialize<S: Serializer>(
    columns: &Columns,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(columns.iter().map(|(name, values)| (name, Column(values))))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Columns, D::Error> {
    let columns = BTreeMap::<String, Vec<Number>>::deserialize(deserializer)?;
    let column = |values: Vec<Number>| values.into_iter().map(|Number(value)| value).collect();
    Ok(columns.into_iter().map(|(name, values)| (name, column(values))).collect())
}

struct Column<'a>(&'a [f64]);

impl Serialize for Column<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|value| Number(*value)))
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

    #[derive(Serialize, Deserialize)]
    struct Cell(#[serde(with = "super")] Columns);

    fn cell(values: &[f64]) -> Cell {
        Cell(BTreeMap::from([("wall_ns".to_owned(), values.to_vec())]))
    }

    #[test]
    fn what_json_has_no_number_for_is_null_or_a_word() {
        let text = serde_json::to_string(&cell(&[
            1.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            0.1,
        ]));
        assert_eq!(text.unwrap(), r#"{"wall_ns":[1.0,null,"inf","-inf",-0.0,0.1]}"#);
        for bad in [r#"{"a":["x"]}"#, r#"{"a":[true]}"#, r#"{"a":[[]]}"#, r#"{"a":1}"#] {
            assert!(serde_json::from_str::<Cell>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn values_survive_bit_by_bit(bits: Vec<u64>) {
            let values: Vec<f64> = bits.iter().map(|bits| f64::from_bits(*bits)).collect();
            let text = serde_json::to_string(&cell(&values)).unwrap();
            let Cell(back) = serde_json::from_str(&text).unwrap();
            for (value, back) in values.iter().zip(&back["wall_ns"]) {
                prop_assert!(value.to_bits() == back.to_bits() || value.is_nan() && back.is_nan());
            }
        }
    }
}

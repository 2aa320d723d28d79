//! The samples of a cell as bytes, field by field, the values of one metric, and the text forms of
//! values for which SQL has no type. A field that is equal in all samples takes the space of one.
//! All numbers are little-endian.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use model::run::{Cell, MetricColumn, Pass, Role, Sample, SharedText, Status};
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const COUNTING: u8 = 1;
const WARM_UP: u8 = 2;

/// The first byte of a field: one value for all samples, or one for each.
const ONE: u8 = 0;
const EACH: u8 = 1;

/// Samples as they are stored: the fields, and the texts to which these refer by number.
pub(crate) struct Packed<'a> {
    pub answers: Vec<&'a str>,
    pub reasons: Vec<&'a str>,
    pub data: Vec<u8>,
}

pub(crate) fn pack(samples: &[Sample]) -> Packed<'_> {
    let (mut answers, mut reasons) = (Texts::default(), Texts::default());
    let mut data = (samples.len() as u64).to_le_bytes().to_vec();
    data.extend(samples.iter().map(flags));
    put(&mut data, samples.iter().map(|sample| sample.session.to_le_bytes()));
    put(&mut data, samples.iter().map(|sample| sample.round.to_le_bytes()));
    put(&mut data, samples.iter().map(|sample| sample.slot.to_le_bytes()));
    put(&mut data, samples.iter().map(|sample| sample.ops.to_le_bytes()));
    put(&mut data, samples.iter().map(|sample| sample.bytes.to_le_bytes()));
    let of_answers: Vec<_> = samples.iter().map(|s| answers.number(s.answer.as_deref())).collect();
    put(&mut data, of_answers.iter().map(|number| number.to_le_bytes()));
    let of_reasons: Vec<_> =
        samples.iter().map(|s| reasons.number(s.not_counted.as_deref())).collect();
    put(&mut data, of_reasons.iter().map(|number| number.to_le_bytes()));
    Packed { answers: answers.known, reasons: reasons.known, data }
}

/// The number of samples.
pub(crate) fn count(data: &[u8]) -> Result<usize> {
    let n = u64::from_le_bytes(*data.first_chunk().context(SHORT)?);
    usize::try_from(n).context(SHORT)
}

pub(crate) fn unpack(answers: &[String], reasons: &[String], data: &[u8]) -> Result<Vec<Sample>> {
    let n = count(data)?;
    let mut bytes = ByteReader(data);
    bytes.take(size_of::<u64>())?;
    // There is a byte of flags for each sample, so that damage cannot ask for much memory.
    let flags = bytes.take(n)?;
    let (session, round, slot) = (bytes.field(n)?, bytes.field(n)?, bytes.field(n)?);
    let (ops, total) = (bytes.field(n)?, bytes.field(n)?);
    let (answer, reason) = (bytes.field(n)?, bytes.field(n)?);
    bytes.end()?;
    let [answers, reasons] = [answers, reasons].map(|texts| -> Vec<SharedText> {
        texts.iter().map(|text| text.as_str().into()).collect()
    });
    let text = |texts: &[SharedText], number: [u8; 4]| match u32::from_le_bytes(number) {
        0 => Ok(None),
        number => texts.get(number as usize - 1).cloned().map(Some).context("a text is missing"),
    };
    let sample = |(i, flags): (usize, &u8)| -> Result<Sample> {
        Ok(Sample {
            pass: if flags & COUNTING == 0 { Pass::Timing } else { Pass::Counting },
            session: u32::from_le_bytes(session.get(i)),
            round: u32::from_le_bytes(round.get(i)),
            slot: u32::from_le_bytes(slot.get(i)),
            warm_up: flags & WARM_UP != 0,
            not_counted: text(&reasons, reason.get(i))?,
            ops: u64::from_le_bytes(ops.get(i)),
            bytes: u64::from_le_bytes(total.get(i)),
            answer: text(&answers, answer.get(i))?,
        })
    };
    // A collected result would not know its length, and take up to twice the memory.
    let mut samples = Vec::with_capacity(n);
    for place in flags.iter().enumerate() {
        samples.push(sample(place)?);
    }
    Ok(samples)
}

/// A sample of each answer, or one without an answer. It has nothing else of a sample.
pub(crate) fn one_of_each(answers: Vec<String>) -> Vec<Sample> {
    let sample = |answer| Sample { warm_up: true, ops: 1, answer, ..Sample::default() };
    if answers.is_empty() {
        return vec![sample(None)];
    }
    answers.into_iter().map(|answer| sample(Some(answer.into()))).collect()
}

pub(crate) fn pack_values(values: &MetricColumn) -> Vec<u8> {
    let mut data = Vec::new();
    put(&mut data, values.iter().map(|value| value.to_le_bytes()));
    data
}

/// The values of a metric in `n` samples.
pub(crate) fn unpack_values(data: &[u8], n: usize) -> Result<MetricColumn> {
    let mut bytes = ByteReader(data);
    let field = bytes.field(n)?;
    bytes.end()?;
    Ok((0..n).map(|i| f64::from_le_bytes(field.get(i))).collect())
}

/// The cell as it is before anything is measured.
pub(crate) fn without_samples(cell: &Cell) -> Cell {
    let Cell { method, about, role, language, point, status, digest, .. } = cell;
    Cell {
        about: about.clone(),
        role: *role,
        language: language.clone(),
        status: status.clone(),
        digest: digest.clone(),
        syscalls_by_name: cell.syscalls_by_name.clone(),
        ..Cell::new(method, point.clone())
    }
}

fn flags(sample: &Sample) -> u8 {
    let pass = match sample.pass {
        Pass::Timing => 0,
        Pass::Counting => COUNTING,
    };
    pass | if sample.warm_up { WARM_UP } else { 0 }
}

fn put<const W: usize>(data: &mut Vec<u8>, values: impl Iterator<Item = [u8; W]> + Clone) {
    let first = values.clone().next();
    if values.clone().all(|value| Some(value) == first) {
        data.push(ONE);
        data.extend(first.iter().flatten());
    } else {
        data.push(EACH);
        values.for_each(|value| data.extend_from_slice(&value));
    }
}

/// The distinct texts, in the order of their first occurrence.
#[derive(Default)]
struct Texts<'a> {
    known: Vec<&'a str>,
    numbers: BTreeMap<&'a str, u32>,
}

impl<'a> Texts<'a> {
    /// Numbers from 1; 0 means no text.
    fn number(&mut self, text: Option<&'a str>) -> u32 {
        let Some(text) = text else { return 0 };
        *self.numbers.entry(text).or_insert_with(|| {
            self.known.push(text);
            self.known.len() as u32
        })
    }
}

const SHORT: &str = "its samples are cut off";

pub(crate) struct ByteReader<'a>(pub &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).context(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn field<const W: usize>(&mut self, n: usize) -> Result<PackedField<'a, W>> {
        let stored = match self.take(1)? {
            [ONE] => n.min(1),
            [EACH] => n,
            other => bail!("its samples have an unknown form ({other:?})"),
        };
        let (values, _) = self.take(stored.checked_mul(W).context(SHORT)?)?.as_chunks();
        Ok(PackedField { values, step: usize::from(stored > 1) })
    }

    pub(crate) fn end(&self) -> Result<()> {
        ensure!(self.0.is_empty(), "its samples are followed by {} bytes", self.0.len());
        Ok(())
    }
}

/// The value of each sample.
struct PackedField<'a, const W: usize> {
    values: &'a [[u8; W]],
    /// 0 if all have the same one.
    step: usize,
}

impl<const W: usize> PackedField<'_, W> {
    fn get(&self, i: usize) -> [u8; W] {
        self.values[i * self.step]
    }
}

// The text forms of values for which SQL has no type, in every store: words, JSON, and the
// values of a sample.

pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// Parses a column; `name` is for the error.
pub(crate) fn from_json<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).with_context(|| format!("column {name}"))
}

pub(crate) fn role_word(role: Role) -> &'static str {
    match role {
        Role::Contender => "contender",
        Role::Yardstick => "yardstick",
    }
}

pub(crate) fn role(word: &str) -> Result<Role> {
    match word {
        "contender" => Ok(Role::Contender),
        "yardstick" => Ok(Role::Yardstick),
        _ => bail!("column role: unknown word {word:?}"),
    }
}

pub(crate) fn status(word: &str, reason: Option<String>) -> Result<Status> {
    match (word, reason) {
        ("measured", None) => Ok(Status::Measured),
        ("skipped", Some(reason)) => Ok(Status::Skipped(reason)),
        ("failed", Some(reason)) => Ok(Status::Failed(reason)),
        (_, reason) => bail!("column status: unknown word {word:?} with reason {reason:?}"),
    }
}

/// The values of a sample as one JSON object, metric to number. JSON has no NaN and no infinity:
/// these are the texts "NaN", "inf" and "-inf".
#[derive(Clone, Debug)]
pub(crate) struct SampleValues<'a>(pub &'a [(&'a str, f64)]);

impl Serialize for SampleValues<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, PackedNumber(*value))))
    }
}

/// [`SampleValues`] after reading.
pub(crate) struct OwnedValues(pub Vec<(String, f64)>);

impl<'de> Deserialize<'de> for OwnedValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OwnedValues, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = OwnedValues;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of metric names to numbers")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OwnedValues, A::Error> {
                let mut pairs = Vec::new();
                while let Some((name, PackedNumber(value))) = map.next_entry()? {
                    pairs.push((name, value));
                }
                Ok(OwnedValues(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

struct PackedNumber(f64);

impl Serialize for PackedNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else {
            serializer.collect_str(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for PackedNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PackedNumber, D::Error> {
        struct Form;
        impl Visitor<'_> for Form {
            type Value = PackedNumber;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or one of the texts NaN, inf and -inf")
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<PackedNumber, E> {
                Ok(PackedNumber(value))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<PackedNumber, E> {
                Ok(PackedNumber(value as f64))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<PackedNumber, E> {
                Ok(PackedNumber(value as f64))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<PackedNumber, E> {
                text.parse().map(PackedNumber).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> impl Strategy<Value = Sample> {
        let text = proptest::option::of("[ab]{0,2}");
        let numbers = (any::<u32>(), any::<u32>(), 0..2_u32, any::<u64>(), 0..2_u64);
        (any::<(bool, bool)>(), numbers, text.clone(), text).prop_map(
            |((counting, warm_up), (session, round, slot, ops, bytes), not_counted, answer)| {
                let pass = if counting { Pass::Counting } else { Pass::Timing };
                let [not_counted, answer] =
                    [not_counted, answer].map(|text| text.map(SharedText::from));
                Sample { pass, session, round, slot, warm_up, not_counted, ops, bytes, answer }
            },
        )
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn what_is_equal_in_all_samples_is_stored_once() {
        let sample = Sample { ops: 1, answer: Some("9f1c".into()), ..Sample::default() };
        let (few, many) = (vec![sample.clone(); 2], vec![sample; 1002]);
        assert_eq!(pack(&many).data.len(), pack(&few).data.len() + 1000);
        assert_eq!(pack_values(&vec![0.0; 1000].into()).len(), 9);
        assert_eq!(pack_values(&vec![0.0, -0.0].into()).len(), 17);
    }

    #[test]
    fn the_samples_of_a_cell_share_their_texts() {
        assert!(size_of::<Sample>() <= 48, "{}", size_of::<Sample>());
        let sample = Sample { answer: Some("9f1c".into()), ..Sample::default() };
        let samples = [sample.clone(), sample];
        let Packed { answers, reasons, data } = pack(&samples);
        let back = unpack(&owned(&answers), &owned(&reasons), &data).unwrap();
        let [one, other] = [0, 1].map(|i| back[i].answer.as_deref().unwrap());
        assert_eq!((one, one.as_ptr()), ("9f1c", other.as_ptr()));
    }

    proptest! {
        #[test]
        fn samples_come_back(samples in prop::collection::vec(sample(), 0..20)) {
            let Packed { answers, reasons, data } = pack(&samples);
            let back = unpack(&owned(&answers), &owned(&reasons), &data).unwrap();
            prop_assert_eq!(back, samples);
        }

        #[test]
        fn values_come_back_bit_by_bit(bits: Vec<u64>) {
            let values = bits.iter().map(|bits| f64::from_bits(*bits)).collect();
            let back = unpack_values(&pack_values(&values), bits.len()).unwrap();
            let back: Vec<u64> = back.iter().map(|value| value.to_bits()).collect();
            prop_assert_eq!(back, bits);
        }

        #[test]
        fn no_bytes_panic_or_take_much_memory(
            samples in prop::collection::vec(sample(), 0..3),
            damage in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
            cut: usize,
        ) {
            let Packed { answers, reasons, mut data } = pack(&samples);
            let len = data.len();
            for (at, byte) in damage {
                data[at % len] = byte;
            }
            data.truncate(len - cut % 3);
            if let Ok(back) = unpack(&owned(&answers), &owned(&reasons), &data) {
                prop_assert!(back.len() <= data.len());
            }
        }
    }
}

#[cfg(test)]
mod columns_tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_readable_json() {
        let values = [("wall_ns", 1.5), ("a\"b", f64::NAN), ("up", f64::INFINITY), ("zero", -0.0)];
        assert_eq!(
            to_json(&SampleValues(&values)).unwrap(),
            r#"{"wall_ns":1.5,"a\"b":"NaN","up":"inf","zero":-0.0}"#
        );
    }

    proptest! {
        #[test]
        fn values_survive_bit_by_bit(bits: Vec<(String, u64)>) {
            let values: Vec<_> =
                bits.iter().map(|(name, bits)| (name.as_str(), f64::from_bits(*bits))).collect();
            let text = to_json(&SampleValues(&values)).unwrap();
            let OwnedValues(back) = from_json("values", &text).unwrap();
            prop_assert_eq!(back.len(), values.len());
            for ((name, value), (name_back, value_back)) in values.iter().zip(&back) {
                prop_assert_eq!(name, name_back);
                let same = value.to_bits() == value_back.to_bits();
                prop_assert!(same || value.is_nan() && value_back.is_nan());
            }
        }
    }

    #[test]
    fn what_no_store_wrote_is_an_error() {
        assert!(from_json::<OwnedValues>("values", r#"{"a":"x"}"#).is_err());
        assert!(from_json::<OwnedValues>("values", "[1]").is_err());
        assert!(role("judge").is_err());
        assert!(status("skipped", None).is_err());
        assert!(status("measured", Some(String::new())).is_err());
    }
}

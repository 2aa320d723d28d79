//! Items of arrays and pairs of dicts as `serde` takes them.

use super::de::Nested;
use super::keys::KeyDeserializer;
use super::reading::Reading;
use crate::Result;
use crate::array::Slots;
use crate::dict::{DictIter, DictKey};
use crate::error::{Error, ErrorKind};
use crate::value::Value;
use alloc::boxed::Box;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

pub(super) struct Items<'de, 'r> {
    pub(super) slots: Slots<'de>,
    pub(super) len: usize,
    pub(super) depth: usize,
    pub(super) reading: &'r Reading<'de>,
}

impl<'de> SeqAccess<'de> for &mut Items<'de, '_> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.slots.count == 0 {
            return Ok(None);
        }
        self.slots.count -= 1;
        let value = self.reading.take(&mut self.slots)?;
        match seed.deserialize(Nested { value, depth: self.depth, reading: self.reading }) {
            Ok(item) => Ok(Some(item)),
            Err(error) => Err(error.in_item(self.len - self.slots.count - 1)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.slots.count)
    }
}

pub(super) struct Pairs<'de, 'r> {
    /// The slots that are left; none in a dict with a parent.
    pub(super) slots: Slots<'de>,
    pub(super) inherited: Option<Box<Inherited<'de>>>,
    pub(super) depth: usize,
    pub(super) reading: &'r Reading<'de>,
}

/// The pairs of a dict with a parent.
pub(super) struct Inherited<'de> {
    pub(super) rest: DictIter<'de>,
    /// The pair of which the name was read last.
    pub(super) name: &'de str,
    pub(super) value: Value<'de>,
}

impl<'de, 'r> Pairs<'de, 'r> {
    #[inline(always)]
    pub(super) fn take_name(&mut self) -> Result<Option<&'de str>> {
        if self.slots.count == 0 {
            return self.take_inherited();
        }
        self.slots.count -= 1;
        if let Some(name) = self.reading.known_name(&self.slots) {
            self.slots.first += 2;
            return Ok(Some(name));
        }
        let key = self.reading.take(&mut self.slots)?;
        match key.as_str() {
            Some(name) => {
                self.reading.remember(self.slots.count, name);
                Ok(Some(name))
            }
            None => name(DictKey { value: key }).map(Some),
        }
    }

    #[inline(never)]
    fn take_inherited(&mut self) -> Result<Option<&'de str>> {
        let next = self.inherited.as_mut().and_then(|inherited| inherited.rest.next());
        let (Some((key, value)), Some(inherited)) = (next, &mut self.inherited) else {
            self.reading.leave();
            return Ok(None);
        };
        (inherited.name, inherited.value) = (name(key)?, value);
        Ok(Some(inherited.name))
    }

    #[inline(always)]
    pub(super) fn take_value(&mut self) -> Result<Nested<'de, 'r>> {
        let value = match &self.inherited {
            None => self.reading.take(&mut self.slots)?,
            Some(inherited) => inherited.value,
        };
        Ok(Nested { value, depth: self.depth, reading: self.reading })
    }

    /// The error, with the name that was read last.
    #[cold]
    fn in_pair(&self, error: Error) -> Error {
        if let Some(inherited) = &self.inherited {
            return error.in_key(inherited.name);
        }
        let mut slots = self.slots;
        slots.first -= if slots.wide { 8 } else { 4 };
        error.in_key(name(DictKey { value: slots.take_slot() }).unwrap_or_default())
    }
}

impl<'de> MapAccess<'de> for Pairs<'de, '_> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some(name) = self.take_name()? else { return Ok(None) };
        seed.deserialize(KeyDeserializer { name }).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let value = self.take_value()?;
        seed.deserialize(value).map_err(|error| self.in_pair(error))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inherited.is_none().then_some(self.slots.count)
    }
}

#[inline(never)]
fn name(key: DictKey<'_>) -> Result<&str> {
    let message = "a key is not UTF-8, or a shared key has no name in the table";
    key.as_str().ok_or_else(|| Error::new(ErrorKind::UnknownSharedKey, message))
}

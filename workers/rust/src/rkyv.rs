//! rkyv: structs that are read in place.

use std::borrow::Cow;

use rkyv::rancor::Error;
use rkyv::vec::ArchivedVec;

use crate::jobs::{DocumentFormat, PathStep, Result, mark_of_number, mark_of_text, message, whole};
use crate::typed::{ArchivedPerson, FRIEND_KEY_LENS, KEY_LENS, Person, PersonField, field, people};

pub(crate) struct Rkyv;

type Archived = ArchivedVec<ArchivedPerson>;

impl DocumentFormat for Rkyv {
    type Doc<'a> = &'a Archived;
    type Path = PersonField;

    /// Through the structs. The allocator gives large blocks an alignment of 16, which is enough.
    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        let people: Vec<Person> = people(text)?;
        rkyv::to_bytes::<Error>(&people).map(|bytes| Cow::Owned(bytes.into_vec())).map_err(message)
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<&'a Archived> {
        rkyv::access::<Archived, Error>(bytes).map_err(message)
    }

    fn open<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<&'a Archived> {
        // SAFETY: the bytes are those that `bytes` made, and checked once before anything is timed.
        Ok(unsafe { rkyv::access_unchecked::<Archived>(bytes) })
    }

    fn path(steps: &[PathStep]) -> PersonField {
        field(steps)
    }

    fn find(doc: &&Archived, path: &PersonField) -> Option<u64> {
        let person = doc.get(path.index)?;
        Some(match path.name.as_str() {
            "name" => mark_of_text(person.name.as_bytes()),
            "age" => mark_of_number(f64::from(person.age.to_native())),
            _ => return None,
        })
    }

    fn visit(doc: &&Archived) -> u64 {
        doc.iter().fold(0, |sum, person| sum.wrapping_add(visit(person)))
    }

    /// It has no way to JSON of its own: through the structs.
    fn print(doc: &&Archived) -> Result<Vec<u8>> {
        let people: Vec<Person> = rkyv::deserialize::<_, Error>(*doc).map_err(message)?;
        serde_json::to_vec(&people).map_err(message)
    }
}

fn visit(person: &ArchivedPerson) -> u64 {
    let texts = [
        &person.id, &person.kind, &person.guid, &person.balance, &person.picture,
        &person.eye_color, &person.name, &person.gender, &person.company, &person.email,
        &person.phone, &person.address, &person.about, &person.registered, &person.greeting,
    ];
    let mut sum: u64 = KEY_LENS + texts.iter().map(|text| text.len() as u64).sum::<u64>();
    sum += u64::from(person.index.to_native()) + u64::from(person.age.to_native());
    sum += u64::from(person.is_active);
    sum += person.tags.iter().map(|tag| tag.len() as u64).sum::<u64>();
    for friend in person.friends.iter() {
        sum += FRIEND_KEY_LENS + u64::from(friend.id.to_native()) + friend.name.len() as u64;
    }
    sum.wrapping_add(whole(person.latitude.to_native()))
        .wrapping_add(whole(person.longitude.to_native()))
}

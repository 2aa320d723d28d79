//! People as a Rust type that serde fills. This file is also a part of `workers/rust`, where other
//! formats fill the same type.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::jobs::{DocumentFormat, PathStep, Result, mark_of_number, mark_of_text, message, whole};

/// The names of the fields in JSON. Their lengths are part of the visit's sum, as some formats
/// store them.
const KEYS: &[&str] = &[
    "_id",
    "type",
    "index",
    "guid",
    "isActive",
    "balance",
    "picture",
    "age",
    "eyeColor",
    "name",
    "gender",
    "company",
    "email",
    "phone",
    "address",
    "about",
    "registered",
    "latitude",
    "longitude",
    "tags",
    "friends",
    "greeting",
];

pub(super) const KEY_LENS: u64 = len_of_all(KEYS);
pub(super) const FRIEND_KEY_LENS: u64 = len_of_all(&["id", "name"]);

const fn len_of_all(keys: &[&str]) -> u64 {
    let (mut sum, mut at) = (0, 0);
    while at < keys.len() {
        sum += keys[at].len() as u64;
        at += 1;
    }
    sum
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Person {
    #[serde(rename = "_id")]
    id: String,
    #[serde(rename = "type")]
    kind: String,
    index: u32,
    guid: String,
    is_active: bool,
    balance: String,
    picture: String,
    age: u32,
    eye_color: String,
    name: String,
    gender: String,
    company: String,
    email: String,
    phone: String,
    address: String,
    about: String,
    registered: String,
    latitude: f64,
    longitude: f64,
    tags: Vec<String>,
    friends: Vec<Friend>,
    greeting: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Friend {
    id: u32,
    name: String,
}

/// The path to one field of one person.
pub(super) struct PersonField {
    pub index: usize,
    pub name: String,
}

pub(super) fn field(steps: &[PathStep]) -> PersonField {
    match steps {
        [PathStep::Index(index), PathStep::Key(name)] => {
            PersonField { index: *index, name: name.clone() }
        }
        _ => PersonField { index: usize::MAX, name: String::new() },
    }
}

/// How a format writes and reads people.
pub(super) trait Codec: 'static {
    const IS_JSON: bool = false;
    fn write(people: &[Person]) -> Result<Vec<u8>>;
    fn read(bytes: &[u8]) -> Result<Vec<Person>>;
}

pub(super) struct StaticallyTyped<C>(PhantomData<C>);

impl<C: Codec> DocumentFormat for StaticallyTyped<C> {
    type Doc<'a> = Vec<Person>;
    type Path = PersonField;

    const IS_JSON: bool = C::IS_JSON;

    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        if C::IS_JSON {
            return Ok(Cow::Borrowed(text));
        }
        let people: Vec<Person> = serde_json::from_slice(text).map_err(message)?;
        C::write(&people).map(Cow::Owned)
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<Vec<Person>> {
        C::read(bytes)
    }

    fn path(steps: &[PathStep]) -> PersonField {
        field(steps)
    }

    fn find(people: &Vec<Person>, path: &PersonField) -> Option<u64> {
        let person = people.get(path.index)?;
        Some(match path.name.as_str() {
            "name" => mark_of_text(person.name.as_bytes()),
            "age" => mark_of_number(f64::from(person.age)),
            _ => return None,
        })
    }

    fn visit(people: &Vec<Person>) -> u64 {
        people.iter().fold(0, |sum, person| sum.wrapping_add(visit(person)))
    }

    fn print(people: &Vec<Person>) -> Result<Vec<u8>> {
        serde_json::to_vec(people).map_err(message)
    }
}

fn visit(person: &Person) -> u64 {
    let texts = [
        &person.id,
        &person.kind,
        &person.guid,
        &person.balance,
        &person.picture,
        &person.eye_color,
        &person.name,
        &person.gender,
        &person.company,
        &person.email,
        &person.phone,
        &person.address,
        &person.about,
        &person.registered,
        &person.greeting,
    ];
    let mut sum: u64 = KEY_LENS + texts.iter().map(|text| text.len() as u64).sum::<u64>();
    sum += u64::from(person.index) + u64::from(person.age) + u64::from(person.is_active);
    sum += person.tags.iter().map(|tag| tag.len() as u64).sum::<u64>();
    for friend in &person.friends {
        sum += FRIEND_KEY_LENS + u64::from(friend.id) + friend.name.len() as u64;
    }
    sum.wrapping_add(whole(person.latitude)).wrapping_add(whole(person.longitude))
}

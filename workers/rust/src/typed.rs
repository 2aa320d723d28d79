//! People as structs, and Protobuf, which is parsed into them.

use std::borrow::Cow;

use prost::Message;
use serde::{Deserialize, Serialize};

use crate::jobs::{DocumentFormat, PathStep, Result, mark_of_number, mark_of_text, message, whole};
pub(crate) use crate::people::{FRIEND_KEY_LENS, KEY_LENS, PersonField, field};

#[derive(Clone, Serialize, Deserialize, Message)]
#[derive(rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Person {
    #[serde(rename = "_id")]
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[serde(rename = "type")]
    #[prost(string, tag = "2")]
    pub(crate) kind: String,
    #[prost(uint32, tag = "3")]
    pub(crate) index: u32,
    #[prost(string, tag = "4")]
    pub(crate) guid: String,
    #[prost(bool, tag = "5")]
    pub(crate) is_active: bool,
    #[prost(string, tag = "6")]
    pub(crate) balance: String,
    #[prost(string, tag = "7")]
    pub(crate) picture: String,
    #[prost(uint32, tag = "8")]
    pub(crate) age: u32,
    #[prost(string, tag = "9")]
    pub(crate) eye_color: String,
    #[prost(string, tag = "10")]
    pub(crate) name: String,
    #[prost(string, tag = "11")]
    pub(crate) gender: String,
    #[prost(string, tag = "12")]
    pub(crate) company: String,
    #[prost(string, tag = "13")]
    pub(crate) email: String,
    #[prost(string, tag = "14")]
    pub(crate) phone: String,
    #[prost(string, tag = "15")]
    pub(crate) address: String,
    #[prost(string, tag = "16")]
    pub(crate) about: String,
    #[prost(string, tag = "17")]
    pub(crate) registered: String,
    #[prost(double, tag = "18")]
    pub(crate) latitude: f64,
    #[prost(double, tag = "19")]
    pub(crate) longitude: f64,
    #[prost(string, repeated, tag = "20")]
    pub(crate) tags: Vec<String>,
    #[prost(message, repeated, tag = "21")]
    pub(crate) friends: Vec<Friend>,
    #[prost(string, tag = "22")]
    pub(crate) greeting: String,
}

#[derive(Clone, Serialize, Deserialize, Message)]
#[derive(rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Friend {
    #[prost(uint32, tag = "1")]
    pub(crate) id: u32,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
}

#[derive(Clone, Message)]
pub(crate) struct People {
    #[prost(message, repeated, tag = "1")]
    people: Vec<Person>,
}

pub(crate) fn people(text: &[u8]) -> Result<Vec<Person>> {
    serde_json::from_slice(text).map_err(message)
}

pub(crate) struct Prost;

impl DocumentFormat for Prost {
    type Doc<'a> = People;
    type Path = PersonField;

    /// Through the structs.
    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Owned(People { people: people(text)? }.encode_to_vec()))
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<People> {
        People::decode(bytes).map_err(message)
    }

    fn path(steps: &[PathStep]) -> PersonField {
        field(steps)
    }

    fn find(doc: &People, path: &PersonField) -> Option<u64> {
        let person = doc.people.get(path.index)?;
        Some(match path.name.as_str() {
            "name" => mark_of_text(person.name.as_bytes()),
            "age" => mark_of_number(f64::from(person.age)),
            _ => return None,
        })
    }

    fn visit(doc: &People) -> u64 {
        doc.people.iter().fold(0, |sum, person| sum.wrapping_add(visit(person)))
    }

    fn print(doc: &People) -> Result<Vec<u8>> {
        serde_json::to_vec(&doc.people).map_err(message)
    }
}

fn visit(person: &Person) -> u64 {
    let texts = [
        &person.id, &person.kind, &person.guid, &person.balance, &person.picture,
        &person.eye_color, &person.name, &person.gender, &person.company, &person.email,
        &person.phone, &person.address, &person.about, &person.registered, &person.greeting,
    ];
    let mut sum: u64 = KEY_LENS + texts.iter().map(|text| text.len() as u64).sum::<u64>();
    sum += u64::from(person.index) + u64::from(person.age) + u64::from(person.is_active);
    sum += person.tags.iter().map(|tag| tag.len() as u64).sum::<u64>();
    for friend in &person.friends {
        sum += FRIEND_KEY_LENS + u64::from(friend.id) + friend.name.len() as u64;
    }
    sum.wrapping_add(whole(person.latitude)).wrapping_add(whole(person.longitude))
}

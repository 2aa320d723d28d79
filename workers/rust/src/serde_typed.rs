//! Formats that serde reads people from.

use crate::jobs::{Result, message};
use crate::people::{Codec, Person};

pub(crate) struct Json;
pub(crate) struct RmpSerde;
pub(crate) struct Postcard;
pub(crate) struct Bincode;
pub(crate) struct Minicbor;

impl Codec for Json {
    const IS_JSON: bool = true;

    fn write(people: &[Person]) -> Result<Vec<u8>> {
        serde_json::to_vec(people).map_err(message)
    }

    fn read(bytes: &[u8]) -> Result<Vec<Person>> {
        serde_json::from_slice(bytes).map_err(message)
    }
}

impl Codec for RmpSerde {
    /// With the names of the fields, as JSON and Fleece have them.
    fn write(people: &[Person]) -> Result<Vec<u8>> {
        rmp_serde::to_vec_named(people).map_err(message)
    }

    fn read(bytes: &[u8]) -> Result<Vec<Person>> {
        rmp_serde::from_slice(bytes).map_err(message)
    }
}

impl Codec for Postcard {
    fn write(people: &[Person]) -> Result<Vec<u8>> {
        postcard::to_allocvec(people).map_err(message)
    }

    fn read(bytes: &[u8]) -> Result<Vec<Person>> {
        postcard::from_bytes(bytes).map_err(message)
    }
}

impl Codec for Bincode {
    fn write(people: &[Person]) -> Result<Vec<u8>> {
        bincode::serde::encode_to_vec(people, bincode::config::standard()).map_err(message)
    }

    fn read(bytes: &[u8]) -> Result<Vec<Person>> {
        let read = bincode::serde::decode_from_slice(bytes, bincode::config::standard());
        read.map(|(people, _)| people).map_err(message)
    }
}

impl Codec for Minicbor {
    fn write(people: &[Person]) -> Result<Vec<u8>> {
        minicbor_serde::to_vec(people).map_err(message)
    }

    fn read(bytes: &[u8]) -> Result<Vec<Person>> {
        minicbor_serde::from_slice(bytes).map_err(message)
    }
}

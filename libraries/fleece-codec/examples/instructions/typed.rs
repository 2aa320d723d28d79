//! The generator's people as Rust types.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

macro_rules! people {
    ($($person:ident $friend:ident [$($lifetime:lifetime)?] $text:ty, $escaped:ty, $borrow:meta;)*) => {$(
        #[derive(Serialize, Deserialize)]
        pub(crate) struct $person$(<$lifetime>)? {
            #[serde(rename = "_id")]
            id: $text,
            #[serde(rename = "type")]
            kind: $text,
            index: u32,
            guid: $text,
            #[serde(rename = "isActive")]
            is_active: bool,
            balance: $text,
            picture: $text,
            age: u8,
            #[serde(rename = "eyeColor")]
            eye_color: $text,
            name: $text,
            gender: $text,
            company: $text,
            email: $text,
            phone: $text,
            address: $text,
            // JSON text has escapes in it, which cannot be borrowed.
            #[$borrow]
            about: $escaped,
            registered: $text,
            latitude: f64,
            longitude: f64,
            tags: Vec<$text>,
            friends: Vec<$friend$(<$lifetime>)?>,
            greeting: $text,
        }

        #[derive(Serialize, Deserialize)]
        pub(crate) struct $friend$(<$lifetime>)? {
            id: u32,
            name: $text,
        }
    )*};
}

people! {
    Owned OwnedFriend [] String, String, serde(default);
    Borrowed BorrowedFriend ['t] &'t str, Cow<'t, str>, serde(borrow);
}

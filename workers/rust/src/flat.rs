//! FlatBuffers: tables that are read in place. `person_generated.rs` is flatc's.

use std::borrow::Cow;

use flatbuffers::{FlatBufferBuilder, InvalidFlatbuffer, VerifierOptions};

use crate::jobs::{DocumentFormat, PathStep, Result, mark_of_number, mark_of_text, message, whole};
use crate::typed::{self, FRIEND_KEY_LENS, KEY_LENS, PersonField, field};

#[allow(warnings, clippy::all, reason = "it is generated")]
#[path = "person_generated.rs"]
mod generated;

use generated::people::{
    Friend, FriendArgs, People, PeopleArgs, Person, PersonArgs, root_as_people_unchecked,
    root_as_people_with_opts,
};

pub(crate) struct FlatBuffers;

impl DocumentFormat for FlatBuffers {
    type Doc<'a> = People<'a>;
    type Path = PersonField;

    /// Through the structs.
    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        let people = typed::people(text)?;
        let mut builder = FlatBufferBuilder::with_capacity(text.len());
        let people: Vec<_> = people.iter().map(|person| write(&mut builder, person)).collect();
        let people = Some(builder.create_vector(&people));
        let root = People::create(&mut builder, &PeopleArgs { people });
        builder.finish(root, None);
        Ok(Cow::Owned(builder.finished_data().to_vec()))
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<People<'a>> {
        let options = VerifierOptions { max_tables: usize::MAX, ..VerifierOptions::default() };
        root_as_people_with_opts(&options, bytes).map_err(|e: InvalidFlatbuffer| message(e))
    }

    fn open<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<People<'a>> {
        // SAFETY: the bytes are those that `bytes` made, and checked once before anything is timed.
        Ok(unsafe { root_as_people_unchecked(bytes) })
    }

    fn path(steps: &[PathStep]) -> PersonField {
        field(steps)
    }

    fn find(doc: &People<'_>, path: &PersonField) -> Option<u64> {
        let people = doc.people()?;
        if path.index >= people.len() {
            return None;
        }
        let person = people.get(path.index);
        Some(match path.name.as_str() {
            "name" => mark_of_text(person.name()?.as_bytes()),
            "age" => mark_of_number(f64::from(person.age())),
            _ => return None,
        })
    }

    fn visit(doc: &People<'_>) -> u64 {
        let people = doc.people().into_iter().flatten();
        people.fold(0, |sum, person| sum.wrapping_add(visit(person)))
    }

    /// It has no way to JSON of its own: through the structs.
    fn print(doc: &People<'_>) -> Result<Vec<u8>> {
        let people: Vec<_> = doc.people().into_iter().flatten().map(read).collect();
        serde_json::to_vec(&people).map_err(message)
    }
}

fn write<'b>(
    builder: &mut FlatBufferBuilder<'b>,
    person: &typed::Person,
) -> flatbuffers::WIPOffset<Person<'b>> {
    let tags: Vec<_> = person.tags.iter().map(|tag| builder.create_string(tag)).collect();
    let tags = Some(builder.create_vector(&tags));
    let mut friend = |friend: &typed::Friend| {
        let name = Some(builder.create_string(&friend.name));
        Friend::create(builder, &FriendArgs { id: friend.id, name })
    };
    let friends: Vec<_> = person.friends.iter().map(&mut friend).collect();
    let friends = Some(builder.create_vector(&friends));
    let mut text = |text: &String| Some(builder.create_string(text));
    let arguments = PersonArgs {
        id: text(&person.id),
        kind: text(&person.kind),
        index: person.index,
        guid: text(&person.guid),
        is_active: person.is_active,
        balance: text(&person.balance),
        picture: text(&person.picture),
        age: person.age,
        eye_color: text(&person.eye_color),
        name: text(&person.name),
        gender: text(&person.gender),
        company: text(&person.company),
        email: text(&person.email),
        phone: text(&person.phone),
        address: text(&person.address),
        about: text(&person.about),
        registered: text(&person.registered),
        latitude: person.latitude,
        longitude: person.longitude,
        tags,
        friends,
        greeting: text(&person.greeting),
    };
    Person::create(builder, &arguments)
}

fn texts(person: Person<'_>) -> [Option<&str>; 15] {
    [
        person.id(),
        person.kind(),
        person.guid(),
        person.balance(),
        person.picture(),
        person.eye_color(),
        person.name(),
        person.gender(),
        person.company(),
        person.email(),
        person.phone(),
        person.address(),
        person.about(),
        person.registered(),
        person.greeting(),
    ]
}

fn visit(person: Person<'_>) -> u64 {
    let len = |text: Option<&str>| text.map_or(0, str::len) as u64;
    let mut sum: u64 = KEY_LENS + texts(person).into_iter().map(len).sum::<u64>();
    sum += u64::from(person.index()) + u64::from(person.age()) + u64::from(person.is_active());
    sum += person.tags().into_iter().flatten().map(|tag| tag.len() as u64).sum::<u64>();
    for friend in person.friends().into_iter().flatten() {
        sum += FRIEND_KEY_LENS + u64::from(friend.id()) + len(friend.name());
    }
    sum.wrapping_add(whole(person.latitude())).wrapping_add(whole(person.longitude()))
}

fn read(person: Person<'_>) -> typed::Person {
    let [id, kind, guid, balance, picture, eye_color, name, gender, company, email, phone, address, about, registered, greeting] =
        texts(person).map(|text| text.unwrap_or_default().to_owned());
    let friend = |friend: Friend<'_>| {
        let name = friend.name().unwrap_or_default().to_owned();
        typed::Friend { id: friend.id(), name }
    };
    typed::Person {
        id,
        kind,
        index: person.index(),
        guid,
        is_active: person.is_active(),
        balance,
        picture,
        age: person.age(),
        eye_color,
        name,
        gender,
        company,
        email,
        phone,
        address,
        about,
        registered,
        latitude: person.latitude(),
        longitude: person.longitude(),
        tags: person.tags().into_iter().flatten().map(str::to_owned).collect(),
        friends: person.friends().into_iter().flatten().map(friend).collect(),
        greeting,
    }
}

//! Artificial people, of the shape that the Fleece study used: 22 fields each.

use std::fmt::Write;

use super::random::Random;

/// An array of people, minified.
pub(super) fn people(out: &mut String, random: &mut Random, count: u64) {
    out.push('[');
    for index in 0..count {
        if index > 0 {
            out.push(',');
        }
        person(out, random, index);
    }
    out.push(']');
}

const FIRST: &[&str] = &[
    "Glenda",
    "Magdalena",
    "Watts",
    "Owens",
    "Ada",
    "Alan",
    "Grace",
    "Edsger",
    "Barbara",
    "Donald",
    "Josephine",
    "Wolfgang",
    "Bo",
    "Christina",
    "Lee",
    "Hortense",
    "Jan",
    "Priscilla",
    "Ramiro",
];
const LAST: &[&str] = &[
    "Morse",
    "Moore",
    "Townsend",
    "Everett",
    "Lovelace",
    "Turing",
    "Hopper",
    "Dijkstra",
    "Liskov",
    "Knuth",
    "Blackwell",
    "Vandermeer",
    "Ng",
    "Oconnor",
    "Fitzgerald",
    "Ortiz",
    "Summers",
    "Pope",
];
const COMPANIES: &[&str] =
    &["BLEEKO", "QUOTEZART", "ZILLACOM", "OVOLO", "ISOLOGICS", "GEEKOL", "XTH"];
const STREETS: &[&str] =
    &["Hinsdale Street", "Bay Parkway", "Ocean Avenue", "Love Lane", "Elm Place"];
const CITIES: &[&str] = &["Virgie", "Coloma", "Whitestone", "Ruffin", "Ola", "Fairfield"];
const STATES: &[&str] = &["Ohio", "Utah", "New Hampshire", "Oregon", "Puerto Rico", "Texas"];
pub(super) const WORDS: &[&str] = &[
    "elit",
    "ut",
    "duis",
    "deserunt",
    "excepteur",
    "id",
    "in",
    "tempor",
    "ipsum",
    "sunt",
    "pariatur",
    "ullamco",
    "aliqua",
    "dolore",
    "do",
    "ea",
    "mollit",
    "est",
    "aute",
    "amet",
    "qui",
    "velit",
    "sit",
    "aliquip",
    "veniam",
    "cupidatat",
    "voluptate",
    "nisi",
    "commodo",
    "adipisicing",
    "exercitation",
    "reprehenderit",
    "incididunt",
    "consectetur",
    "laborum",
    "officia",
    "quis",
    "et",
];

fn person(out: &mut String, random: &mut Random, index: u64) {
    let name = format!("{} {}", random.pick(FIRST), random.pick(LAST));
    let company = random.pick(COMPANIES);
    let mail = format!("{}@{}.com", name.to_lowercase().replace(' ', ""), company.to_lowercase());
    let guid: Vec<String> = [8, 4, 4, 4, 12].iter().map(|&n| random.hex(n)).collect();
    let female = random.below(2) == 0;
    let mut field = |key: &str, value: String| {
        let before = if key == "_id" { '{' } else { ',' };
        write!(out, "{before}\"{key}\":{value}").expect("a string takes all");
    };
    let text = |value: &str| format!("\"{value}\"");
    field("_id", text(&random.hex(24)));
    field("type", text("person"));
    field("index", index.to_string());
    field("guid", text(&guid.join("-")));
    field("isActive", (random.below(2) == 0).to_string());
    let (thousands, dollars, cents) = (1 + random.below(3), random.below(1000), random.below(100));
    field("balance", format!("\"${thousands},{dollars:03}.{cents:02}\""));
    field("picture", text("http://placehold.it/32x32"));
    field("age", (20 + random.below(21)).to_string());
    field("eyeColor", text(random.pick(&["blue", "brown", "green"])));
    field("name", text(&name));
    field("gender", text(if female { "female" } else { "male" }));
    field("company", text(company));
    field("email", text(&mail));
    let phone = (800 + random.below(200), 400 + random.below(200), 2000 + random.below(2000));
    field("phone", format!("\"+1 ({}) {}-{}\"", phone.0, phone.1, phone.2));
    field("address", address(random));
    field("about", about(random));
    let (month, day, hour) = (1 + random.below(9), 1 + random.below(28), random.below(24));
    field("registered", format!("\"2014-0{month}-{day:02}T{hour:02}:37:03 +08:00\""));
    field("latitude", degrees(random, 90));
    field("longitude", degrees(random, 180));
    let tags: Vec<String> = (0..7).map(|_| text(random.pick(WORDS))).collect();
    field("tags", format!("[{}]", tags.join(",")));
    let friend = |id| {
        let (first, last) = (random.pick(FIRST), random.pick(LAST));
        format!("{{\"id\":{id},\"name\":\"{first} {last}\"}}")
    };
    let friends: Vec<String> = (0..3).map(friend).collect();
    field("friends", format!("[{}]", friends.join(",")));
    let messages = 1 + random.below(10);
    field("greeting", format!("\"Hello, {name}! You have {messages} unread messages.\""));
    out.push('}');
}

fn address(random: &mut Random) -> String {
    let place = (random.pick(STREETS), random.pick(CITIES), random.pick(STATES));
    let (number, code) = (100 + random.below(900), random.below(9999));
    format!("\"{number} {}, {}, {}, {code}\"", place.0, place.1, place.2)
}

fn about(random: &mut Random) -> String {
    let count = 44 + random.below(10);
    let words: Vec<&str> = (0..count).map(|_| random.pick(WORDS)).collect();
    format!("\"{}.\\r\\n\"", words.join(" "))
}

fn degrees(random: &mut Random, limit: usize) -> String {
    let sign = if random.below(2) == 0 { "-" } else { "" };
    format!("{sign}{}.{:06}", random.below(limit), random.below(1_000_000))
}

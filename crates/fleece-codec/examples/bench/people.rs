//! Fake people, of the shape that the Fleece study used: 22 fields each, pretty-printed.

use std::fmt::Write;

/// The same text for the same seed.
pub(crate) fn pretty(people: usize, seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut out = String::from("[\n");
    for index in 0..people {
        person(&mut out, &mut random, index);
        out.push_str(if index + 1 < people { "  },\n" } else { "  }\n" });
    }
    out.push_str("]\n");
    out
}

/// xorshift64*: any generator does, as long as it is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    }

    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }

    fn hex(&mut self, digits: usize) -> String {
        (0..digits).map(|_| char::from(b"0123456789abcdef"[self.below(16)])).collect()
    }
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
const WORDS: &[&str] = &[
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

fn person(out: &mut String, random: &mut Random, index: usize) {
    let name = format!("{} {}", random.pick(FIRST), random.pick(LAST));
    let company = random.pick(COMPANIES);
    let mail = format!("{}@{}.com", name.to_lowercase().replace(' ', ""), company.to_lowercase());
    let guid: Vec<String> = [8, 4, 4, 4, 12].iter().map(|&n| random.hex(n)).collect();
    let female = random.below(2) == 0;
    let phone = (800 + random.below(200), 400 + random.below(200), 2000 + random.below(2000));
    out.push_str("  {\n");
    let mut field = |key: &str, value: String| {
        writeln!(out, "    \"{key}\": {value},").expect("a string takes all");
    };
    let text = |value: &str| format!("\"{value}\"");
    field("_id", text(&random.hex(24)));
    field("type", text("person"));
    field("index", index.to_string());
    field("guid", text(&guid.join("-")));
    field("isActive", (random.below(2) == 0).to_string());
    let cents = random.below(100);
    field("balance", format!("\"${},{:03}.{cents:02}\"", 1 + random.below(3), random.below(1000)));
    field("picture", text("http://placehold.it/32x32"));
    field("age", (20 + random.below(21)).to_string());
    field("eyeColor", text(random.pick(&["blue", "brown", "green"])));
    field("name", text(&name));
    field("gender", text(if female { "female" } else { "male" }));
    field("company", text(company));
    field("email", text(&mail));
    field("phone", format!("\"+1 ({}) {}-{}\"", phone.0, phone.1, phone.2));
    let place = (random.pick(STREETS), random.pick(CITIES), random.pick(STATES));
    let number = 100 + random.below(900);
    field(
        "address",
        format!("\"{number} {}, {}, {}, {}\"", place.0, place.1, place.2, random.below(9999)),
    );
    field("about", about(random));
    let (month, day, hour) = (1 + random.below(9), 1 + random.below(28), random.below(24));
    field("registered", format!("\"2014-0{month}-{day:02}T{hour:02}:37:03 +08:00\""));
    field("latitude", degrees(random, 90));
    field("longitude", degrees(random, 180));
    out.push_str("    \"tags\": [\n");
    for tag in 0..7 {
        let comma = if tag < 6 { "," } else { "" };
        writeln!(out, "      \"{}\"{comma}", random.pick(WORDS)).expect("a string takes all");
    }
    out.push_str("    ],\n    \"friends\": [\n");
    for id in 0..3 {
        let friend = (random.pick(FIRST), random.pick(LAST));
        let comma = if id < 2 { "," } else { "" };
        let (first, last) = friend;
        writeln!(
            out,
            "      {{\n        \"id\": {id},\n        \"name\": \"{first} {last}\"\n      }}{comma}"
        )
        .expect("a string takes all");
    }
    out.push_str("    ],\n");
    let messages = 1 + random.below(10);
    writeln!(out, "    \"greeting\": \"Hello, {name}! You have {messages} unread messages.\"")
        .expect("a string takes all");
}

fn about(random: &mut Random) -> String {
    let words: Vec<&str> = (0..44 + random.below(10)).map(|_| random.pick(WORDS)).collect();
    format!("\"{}.\\r\\n\"", words.join(" "))
}

fn degrees(random: &mut Random, limit: usize) -> String {
    let sign = if random.below(2) == 0 { "-" } else { "" };
    format!("{sign}{}.{:06}", random.below(limit), random.below(1_000_000))
}

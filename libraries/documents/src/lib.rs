//! JSON documents to measure decoders with, the same on every machine: eight shapes of data,
//! minified, and the conversion from minified to pretty.
//!
//! ```
//! let people = bytelab_documents::minified("people", 3);
//! assert!(bytelab_documents::pretty(&people).starts_with("[\n  {\n    \"_id\": "));
//! ```

use std::fmt::Write;

/// The names of the shapes.
pub const SHAPES: &[&str] =
    &["people", "logs", "geojson", "floats", "tree", "twitter", "citm", "canada"];

const SEED: u64 = 1;

/// Minified JSON of one of [`SHAPES`]; `count` is the number of people, and only `people` uses it.
pub fn minified(shape: &str, count: u64) -> String {
    let (mut out, mut random) = (String::new(), XorShift64Star::new(SEED));
    match shape {
        "logs" => list(&mut out, 5000, |out, index| log_line(out, &mut random, index)),
        "geojson" => geojson(&mut out, &mut random),
        "floats" => list(&mut out, 20_000, |out, _| out.push_str(&float(&mut random))),
        "tree" => tree(&mut out, &mut random, 100),
        "twitter" => twitter(&mut out, &mut random),
        "citm" => citm(&mut out, &mut random),
        "canada" => canada(&mut out, &mut random),
        _ => people(&mut out, &mut random, count),
    }
    out
}

fn log_line(out: &mut String, random: &mut XorShift64Star, index: usize) {
    let level = random.pick(&["DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR"]);
    let service = random.pick(&["gateway", "accounts", "search", "billing"]);
    let (ms, micros) = (1_700_000_000_000 + 37 * index, random.below(90_000));
    let words: Vec<&str> = (0..6 + random.below(8)).map(|_| random.pick(WORDS)).collect();
    let (status, request) = (random.pick(&["200", "200", "200", "404", "500"]), random.hex(16));
    add(out, format_args!("{{\"time\":{ms},\"level\":\"{level}\",\"service\":\"{service}\","));
    add(out, format_args!("\"request\":\"{request}\",\"status\":{status},\"micros\":{micros},"));
    add(out, format_args!("\"message\":\"{}\",\"error\":null}}", words.join(" ")));
}

/// Polygons with names, as in map data.
fn geojson(out: &mut String, random: &mut XorShift64Star) {
    out.push_str("{\"type\":\"FeatureCollection\",\"features\":");
    list(out, 200, |out, index| {
        let name = format!("{} {}", random.pick(WORDS), random.pick(WORDS));
        add(out, format_args!("{{\"type\":\"Feature\",\"properties\":{{\"name\":\"{name}\","));
        add(out, format_args!("\"id\":{index},\"area\":{}}},", float(random)));
        out.push_str("\"geometry\":{\"type\":\"Polygon\",\"coordinates\":[");
        let (x, y) = (random.below(340), random.below(160));
        list(out, 60, |out, _| {
            let mut place = |start: usize, offset: f64| {
                (start as f64 + random.below(1_000_000) as f64 / 1e6) - offset
            };
            let (longitude, latitude) = (place(x, 170.0), place(y, 80.0));
            add(out, format_args!("[{longitude:.6},{latitude:.6}]"));
        });
        out.push_str("]}}");
    });
    out.push('}');
}

/// A number with all 17 digits, as in measurements.
fn float(random: &mut XorShift64Star) -> String {
    let number = (random.below(1 << 30) as f64 / 7e6).powi(3) - 1e5;
    format!("{number:?}")
}

/// A tree of this many levels, each with a name, a number, a short list and the next level.
fn tree(out: &mut String, random: &mut XorShift64Star, levels: usize) {
    for _ in 0..levels {
        add(out, format_args!("{{\"name\":\"{}\",\"depth\":{levels},", random.pick(WORDS)));
        out.push_str("\"side\":");
        list(out, 8, |out, index| {
            add(out, format_args!("{{\"id\":{index},\"word\":\"{}\"}}", random.pick(WORDS)));
        });
        out.push_str(",\"below\":");
    }
    out.push_str("null");
    out.push_str(&"}".repeat(levels));
}

/// Adds line breaks and two spaces for each level, as in the study's data.
pub fn pretty(minified: &str) -> String {
    let mut out = String::with_capacity(minified.len() * 2);
    let (mut level, mut in_string, mut escaped, mut before) = (0, false, false, ' ');
    for c in minified.chars() {
        let is_end = !in_string && matches!(c, '}' | ']');
        if is_end {
            level -= 1;
        }
        let opened = !in_string && matches!(before, '{' | '[');
        if opened != is_end || (!in_string && before == ',') {
            add(&mut out, format_args!("\n{:width$}", "", width = 2 * level));
        }
        out.push(c);
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            before = ' ';
            continue;
        }
        match c {
            '"' => in_string = true,
            '{' | '[' => level += 1,
            ':' => out.push(' '),
            _ => {}
        }
        before = c;
    }
    out
}

// Artificial people, of the shape that the Fleece study used: 22 fields each.

/// An array of people, minified.
fn people(out: &mut String, random: &mut XorShift64Star, count: u64) {
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

fn person(out: &mut String, random: &mut XorShift64Star, index: u64) {
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

fn address(random: &mut XorShift64Star) -> String {
    let place = (random.pick(STREETS), random.pick(CITIES), random.pick(STATES));
    let (number, code) = (100 + random.below(900), random.below(9999));
    format!("\"{number} {}, {}, {}, {code}\"", place.0, place.1, place.2)
}

fn about(random: &mut XorShift64Star) -> String {
    let count = 44 + random.below(10);
    let words: Vec<&str> = (0..count).map(|_| random.pick(WORDS)).collect();
    format!("\"{}.\\r\\n\"", words.join(" "))
}

fn degrees(random: &mut XorShift64Star, limit: usize) -> String {
    let sign = if random.below(2) == 0 { "-" } else { "" };
    format!("{sign}{}.{:06}", random.below(limit), random.below(1_000_000))
}

// Documents with the statistics of the three files that parsers of JSON are usually compared on:
// how many values of each kind they have, how long and how deep.

/// As `canada.json`: the outline of a country, 111,126 numbers of 15 to 17 digits.
fn canada(out: &mut String, random: &mut XorShift64Star) {
    out.push_str("{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",");
    out.push_str("\"properties\":{\"name\":\"Canada\"},");
    out.push_str("\"geometry\":{\"type\":\"Polygon\",\"coordinates\":");
    list(out, 480, |out, index| {
        // A few large islands have most of the points.
        let points = if index < 6 { 6000 } else { 41 + usize::from(index < 129) };
        list(out, points, |out, _| {
            let (longitude, latitude) = (digits(random, 141, 1), digits(random, 83, 42));
            add(out, format_args!("[-{longitude},{latitude}]"));
        });
    });
    out.push_str("}}]}");
}

/// A number below `limit` with 15 digits behind the point, as a program writes that prints more
/// than it knows.
fn digits(random: &mut XorShift64Star, limit: usize, least: usize) -> String {
    let (whole, micros) = (least + random.below(limit - least), random.below(1_000_000));
    let rest = random.pick(&["000000000", "999999977", "000000009", "000000004", "999999968"]);
    format!("{whole}.{micros:06}{rest}")
}

/// As `citm_catalog.json`: the plan of a season, with 10,900 small objects, as many arrays, mostly
/// empty, and 14,400 integers.
fn citm(out: &mut String, random: &mut XorShift64Star) {
    const AREAS: usize = 17;
    out.push_str("{\"areaNames\":");
    names(out, AREAS, 205_705_993, "Arrière-scène");
    out.push_str(",\"audienceSubCategoryNames\":{\"337100890\":\"Abonné\"},\"blockNames\":{},");
    out.push_str("\"events\":{");
    for index in 0..184 {
        let id = 138_586_341 + 13 * index;
        let comma = if index > 0 { "," } else { "" };
        let name = random.pick(&["Orchestre", "Récital d'orgue", "Musique de chambre", "Le Roi"]);
        add(out, format_args!("{comma}\"{id}\":{{\"description\":null,\"id\":{id},"));
        add(out, format_args!("\"logo\":\"/images/UE0AACEKo6QZDSVRN\","));
        add(out, format_args!("\"name\":\"{name} {index}\",\"subTopicIds\":"));
        list(out, 2, |out, _| add(out, format_args!("{}", 337_184_262 + random.below(40))));
        out.push_str(",\"subjectCode\":null,\"subtitle\":null,\"topicIds\":");
        list(out, 2, |out, _| add(out, format_args!("{}", 107_888_604 + random.below(9))));
        out.push('}');
    }
    out.push_str("},\"performances\":");
    list(out, 243, |out, index| performance(out, random, index, AREAS));
    out.push_str(",\"seatCategoryNames\":");
    names(out, 64, 338_937_235, "catégorie");
    out.push_str(",\"subTopicNames\":");
    names(out, 19, 337_184_262, "Musique");
    out.push_str(",\"subjectNames\":{},\"topicNames\":");
    names(out, 4, 107_888_604, "Activité");
    out.push_str(",\"venueNames\":{\"PLEYEL_PLEYEL\":\"Salle Pleyel\"}}");
}

fn performance(out: &mut String, random: &mut XorShift64Star, index: usize, areas: usize) {
    let (event, id) = (138_586_341 + 13 * (index % 184), 339_887_544 + 7 * index);
    let categories = 3 + random.below(3);
    let category = |n: usize| 338_937_235 + 4 * n;
    add(out, format_args!("{{\"eventId\":{event},\"id\":{id},\"logo\":null,\"name\":null,"));
    out.push_str("\"prices\":");
    list(out, categories, |out, n| {
        let amount = 1000 + 50 * random.below(2000);
        add(out, format_args!("{{\"amount\":{amount},\"audienceSubCategoryId\":337100890,"));
        add(out, format_args!("\"seatCategoryId\":{}}}", category(n)));
    });
    out.push_str(",\"seatCategories\":");
    list(out, categories, |out, n| {
        out.push_str("{\"areas\":");
        list(out, 4 + random.below(11), |out, _| {
            let area = 205_705_993 + random.below(areas);
            add(out, format_args!("{{\"areaId\":{area},\"blockIds\":[]}}"));
        });
        add(out, format_args!(",\"seatCategoryId\":{}}}", category(n)));
    });
    let start = 1_372_701_600_000 + 86_400_000 * index;
    add(out, format_args!(",\"seatMapImage\":null,\"start\":{start},"));
    out.push_str("\"venueCode\":\"PLEYEL_PLEYEL\"}");
}

/// An object from numbers to names.
fn names(out: &mut String, count: usize, first: usize, name: &str) {
    out.push('{');
    for index in 0..count {
        let comma = if index > 0 { "," } else { "" };
        add(out, format_args!("{comma}\"{}\":\"{name} {index}\"", first + index));
    }
    out.push('}');
}

/// As `twitter.json`: the answer to a search, with many different keys, `null`, `false` and texts
/// in Japanese.
fn twitter(out: &mut String, random: &mut XorShift64Star) {
    out.push_str("{\"statuses\":");
    list(out, 100, |out, index| status(out, random, index < 73));
    out.push_str(",\"search_metadata\":{\"completed_in\":0.087,\"max_id\":505874924095815700,");
    out.push_str("\"max_id_str\":\"505874924095815681\",\"query\":\"%E4%B8%80\",\"count\":100,");
    out.push_str("\"since_id\":0,\"since_id_str\":\"0\"}}");
}

fn id(random: &mut XorShift64Star) -> u64 {
    505_800_000_000_000_000 + random.below(1 << 30) as u64 * 90_000
}

/// Characters of three bytes: some, and up to as many more.
fn japanese(random: &mut XorShift64Star, least: usize, more: usize) -> String {
    let chars = least + random.below(more + 1);
    let letter = |random: &mut XorShift64Star| match random.below(4) {
        0 => char::from_u32(0x4E00 + random.below(0x2000) as u32),
        1 => char::from_u32(0x30A1 + random.below(80) as u32),
        _ => char::from_u32(0x3041 + random.below(80) as u32),
    };
    (0..chars).filter_map(|_| letter(random)).collect()
}

fn status(out: &mut String, random: &mut XorShift64Star, repeats: bool) {
    let (id, seconds) = (id(random), random.below(60));
    let text = japanese(random, 45, 60);
    out.push_str("{\"metadata\":{\"result_type\":\"recent\",\"iso_language_code\":\"ja\"},");
    add(out, format_args!("\"created_at\":\"Sun Aug 31 00:29:{seconds:02} +0000 2014\","));
    add(out, format_args!("\"id\":{id},\"id_str\":\"{id}\",\"text\":\"@{seconds} \\n{text}\","));
    out.push_str("\"source\":\"<a href=\\\"http://twitter.com/download/iphone\\\" ");
    out.push_str("rel=\\\"nofollow\\\">Twitter for iPhone</a>\",\"truncated\":false,");
    out.push_str("\"in_reply_to_status_id\":null,\"in_reply_to_status_id_str\":null,");
    out.push_str("\"in_reply_to_user_id\":null,\"in_reply_to_user_id_str\":null,");
    out.push_str("\"in_reply_to_screen_name\":null,\"user\":");
    user(out, random);
    out.push_str(",\"geo\":null,\"coordinates\":null,\"place\":null,\"contributors\":null,");
    if repeats {
        out.push_str("\"retweeted_status\":");
        status(out, random, false);
        out.push(',');
    }
    let (retweets, favourites) = (random.below(90), random.below(40));
    add(out, format_args!("\"retweet_count\":{retweets},\"favorite_count\":{favourites},"));
    out.push_str("\"entities\":{\"hashtags\":[],\"symbols\":[],\"urls\":[],\"user_mentions\":");
    list(out, 1 + usize::from(repeats), |out, _| mention(out, random));
    out.push_str("},\"favorited\":false,\"retweeted\":false,\"lang\":\"ja\"}");
}

fn mention(out: &mut String, random: &mut XorShift64Star) {
    let (id, name) = (random.below(2_000_000_000), japanese(random, 8, 0));
    add(out, format_args!("{{\"screen_name\":\"{}\",\"name\":\"{name}\",", random.hex(10)));
    add(out, format_args!("\"id\":{id},\"id_str\":\"{id}\",\"indices\":[3,13]}}"));
}

fn user(out: &mut String, random: &mut XorShift64Star) {
    let (id, screen) = (random.below(2_000_000_000), random.hex(10));
    let (name, about) = (japanese(random, 8, 0), japanese(random, 20, 40));
    let images = format!("http://pbs.twimg.com/profile_images/{id}/{screen}");
    add(out, format_args!("{{\"id\":{id},\"id_str\":\"{id}\",\"name\":\"{name}\","));
    add(out, format_args!("\"screen_name\":\"{screen}\",\"location\":\"\","));
    add(out, format_args!("\"description\":\"{about}\",\"url\":null,"));
    out.push_str("\"entities\":{\"description\":{\"urls\":[]}},\"protected\":false,");
    for count in ["followers", "friends", "listed", "favourites", "statuses"] {
        add(out, format_args!("\"{count}_count\":{},", random.below(9000)));
    }
    out.push_str("\"created_at\":\"Sat Feb 16 13:46:25 +0000 2013\",\"utc_offset\":null,");
    out.push_str("\"time_zone\":null,\"geo_enabled\":false,\"verified\":false,\"lang\":\"en\",");
    out.push_str("\"contributors_enabled\":false,\"is_translator\":false,");
    out.push_str("\"is_translation_enabled\":false,");
    for part in ["background", "link", "sidebar_border", "sidebar_fill", "text"] {
        add(out, format_args!("\"profile_{part}_color\":\"{}\",", random.hex(6)));
    }
    for part in ["background_image_url", "background_image_url_https"] {
        add(out, format_args!("\"profile_{part}\":\"http://abs.twimg.com/images/bg.png\","));
    }
    for part in ["image_url", "image_url_https", "banner_url"] {
        add(out, format_args!("\"profile_{part}\":\"{images}\","));
    }
    out.push_str("\"profile_background_tile\":false,\"profile_use_background_image\":true,");
    out.push_str("\"default_profile\":true,\"default_profile_image\":false,");
    out.push_str("\"following\":false,\"follow_request_sent\":false,\"notifications\":false}");
}

/// A generator of our own, with a fixed seed: xorshift64*. Any generator is suitable, as long as it
/// never changes.
struct XorShift64Star(u64);

impl XorShift64Star {
    fn new(seed: u64) -> XorShift64Star {
        XorShift64Star(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

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

fn list(out: &mut String, count: usize, mut item: impl FnMut(&mut String, usize)) {
    out.push('[');
    for index in 0..count {
        if index > 0 {
            out.push(',');
        }
        item(out, index);
    }
    out.push(']');
}

fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes all");
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_shape_is_json_and_the_same_when_pretty() {
        for shape in SHAPES {
            let minified = minified(shape, 20);
            let tree: Value = serde_json::from_str(&minified).unwrap();
            let pretty = pretty(&minified);
            assert!(pretty.lines().count() > 20, "{shape}");
            assert_eq!(serde_json::from_str::<Value>(&pretty).unwrap(), tree, "{shape}");
            assert_eq!(minified, super::minified(shape, 20), "{shape}: made twice");
        }
    }

    #[test]
    fn a_person_has_the_fields_of_the_study() {
        let tree: Value = serde_json::from_str(&minified("people", 3)).unwrap();
        let people = tree.as_array().unwrap();
        assert_eq!(people.len(), 3);
        assert!(people.iter().all(|person| person.as_object().unwrap().len() == 22));
    }

    #[test]
    fn pretty_is_as_serde_json_writes_it() {
        // Without keys, whose order the conversion would change.
        let text = r#"[{"a":[1,"x: [y, \"z\""],"b":[],"c":{}},{"d":null}]"#;
        let tree: Value = serde_json::from_str(text).unwrap();
        assert_eq!(pretty(text), serde_json::to_string_pretty(&tree).unwrap());
    }
}

#[cfg(test)]
mod parser_files_tests {
    use serde_json::Value;

    use super::minified;

    /// Bytes, objects, arrays, keys, strings, numbers, `null`, `true` and `false`.
    fn count(value: &Value, counts: &mut [usize; 8]) {
        match value {
            Value::Object(pairs) => {
                counts[1] += 1;
                counts[3] += pairs.len();
                pairs.values().for_each(|value| count(value, counts));
            }
            Value::Array(items) => {
                counts[2] += 1;
                for item in items {
                    count(item, counts);
                }
            }
            Value::String(_) => counts[4] += 1,
            Value::Number(_) => counts[5] += 1,
            Value::Null => counts[6] += 1,
            Value::Bool(_) => counts[7] += 1,
        }
    }

    fn check(shape: &str, original: [usize; 8]) {
        let text = minified(shape, 0);
        let mut counts = [0; 8];
        counts[0] = text.len();
        count(&serde_json::from_str(&text).unwrap(), &mut counts);
        for (made, original) in counts.into_iter().zip(original) {
            let within = original / 10 + 12;
            assert!(made.abs_diff(original) <= within, "{shape}: {counts:?} for {original}");
        }
    }

    #[test]
    fn the_documents_have_the_counts_of_the_files() {
        check("canada", [2_251_051, 4, 56_045, 8, 4, 111_126, 0, 0]);
        check("citm", [500_299, 10_937, 10_451, 25_869, 735, 14_392, 1263, 0]);
        check("twitter", [466_906, 1264, 1050, 13_345, 4754, 2109, 1946, 2791]);
    }
}

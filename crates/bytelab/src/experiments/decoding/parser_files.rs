//! Documents with the statistics of the three files that parsers of JSON are usually compared on:
//! how many values of each kind they have, how long and how deep.

use super::random::Random;
use super::write::{add, list};

/// As `canada.json`: the outline of a country, 111,126 numbers of 15 to 17 digits.
pub(super) fn canada(out: &mut String, random: &mut Random) {
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
fn digits(random: &mut Random, limit: usize, least: usize) -> String {
    let (whole, micros) = (least + random.below(limit - least), random.below(1_000_000));
    let rest = random.pick(&["000000000", "999999977", "000000009", "000000004", "999999968"]);
    format!("{whole}.{micros:06}{rest}")
}

/// As `citm_catalog.json`: the plan of a season, with 10,900 small objects, as many arrays, mostly
/// empty, and 14,400 integers.
pub(super) fn citm(out: &mut String, random: &mut Random) {
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

fn performance(out: &mut String, random: &mut Random, index: usize, areas: usize) {
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
pub(super) fn twitter(out: &mut String, random: &mut Random) {
    out.push_str("{\"statuses\":");
    list(out, 100, |out, index| status(out, random, index < 73));
    out.push_str(",\"search_metadata\":{\"completed_in\":0.087,\"max_id\":505874924095815700,");
    out.push_str("\"max_id_str\":\"505874924095815681\",\"query\":\"%E4%B8%80\",\"count\":100,");
    out.push_str("\"since_id\":0,\"since_id_str\":\"0\"}}");
}

fn id(random: &mut Random) -> u64 {
    505_800_000_000_000_000 + random.below(1 << 30) as u64 * 90_000
}

/// Characters of three bytes: some, and up to as many more.
fn japanese(random: &mut Random, least: usize, more: usize) -> String {
    let chars = least + random.below(more + 1);
    let letter = |random: &mut Random| match random.below(4) {
        0 => char::from_u32(0x4E00 + random.below(0x2000) as u32),
        1 => char::from_u32(0x30A1 + random.below(80) as u32),
        _ => char::from_u32(0x3041 + random.below(80) as u32),
    };
    (0..chars).filter_map(|_| letter(random)).collect()
}

fn status(out: &mut String, random: &mut Random, repeats: bool) {
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

fn mention(out: &mut String, random: &mut Random) {
    let (id, name) = (random.below(2_000_000_000), japanese(random, 8, 0));
    add(out, format_args!("{{\"screen_name\":\"{}\",\"name\":\"{name}\",", random.hex(10)));
    add(out, format_args!("\"id\":{id},\"id_str\":\"{id}\",\"indices\":[3,13]}}"));
}

fn user(out: &mut String, random: &mut Random) {
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::shapes::minified;

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

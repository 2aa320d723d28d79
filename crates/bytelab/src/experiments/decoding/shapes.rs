//! The other shapes of data, minified, and the conversion from minified to pretty.

use super::parser_files::{canada, citm, twitter};
use super::people::{WORDS, people};
use super::random::Random;
use super::write::{add, list};

/// The words of the param `shape`.
pub(super) const SHAPES: &[&str] =
    &["people", "logs", "geojson", "floats", "tree", "twitter", "citm", "canada"];

const SEED: u64 = 1;

/// Minified JSON of this shape; `count` is the number of people, and only `people` uses it.
pub(super) fn minified(shape: &str, count: u64) -> String {
    let (mut out, mut random) = (String::new(), Random::new(SEED));
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

fn log_line(out: &mut String, random: &mut Random, index: usize) {
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
fn geojson(out: &mut String, random: &mut Random) {
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
fn float(random: &mut Random) -> String {
    let number = (random.below(1 << 30) as f64 / 7e6).powi(3) - 1e5;
    format!("{number:?}")
}

/// A tree of this many levels, each with a name, a number, a short list and the next level.
fn tree(out: &mut String, random: &mut Random, levels: usize) {
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
pub(super) fn pretty(minified: &str) -> String {
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

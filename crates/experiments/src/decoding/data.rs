//! The document of a point, generated once and kept, or the user's own; and the path of the value
//! to look up in it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use measure::experiment::Data;
use measure::stop::Stop;
use model::param::Point;
use serde_json::Value;

use crate::shared::made_file;

/// Part of the file's name; it changes with the contents.
const VERSION: u32 = 1;

pub(super) fn data(point: &Point, dir: &Path, _: &Stop) -> Result<Data> {
    let (path, text) = if point.get("file").is_some() {
        let path = point.path("file")?;
        let name = path.display();
        let metadata = fs::metadata(&path)
            .with_context(|| format!("{name}; give a file of JSON with --file, or none"))?;
        ensure!(
            metadata.is_file(),
            "{name} is not a regular file; give a file of JSON with --file"
        );
        let text = fs::read(&path).with_context(|| format!("reading {name}"))?;
        (std::path::absolute(&path)?, text)
    } else {
        made(point, dir)?
    };
    let tree: Value = serde_json::from_slice(&text)
        .with_context(|| format!("{} is not JSON that serde_json takes", path.display()))?;
    let mut arguments = point.clone();
    arguments.set("file", path.clone());
    arguments.set("pointer", pointer(&tree).as_str());
    arguments.set("typed", if is_people(&tree) { "people" } else { "no" });
    Ok(Data { arguments, files: vec![path], is_only_read: true, ..Data::default() })
}

fn made(point: &Point, dir: &Path) -> Result<(PathBuf, Vec<u8>)> {
    let (shape, layout) = (point.text("shape")?, point.text("text")?);
    let minified = bytelab_documents::minified(shape, point.number("people")?);
    let text = if layout == "pretty" { bytelab_documents::pretty(&minified) } else { minified };
    let count = if shape == "people" { point.number("people")? } else { 0 };
    let path = dir.join(format!("decoding-v{VERSION}-{shape}-{count}-{layout}.json"));
    let is_there = fs::read(&path).is_ok_and(|old| old == text.as_bytes());
    if !is_there {
        let write = || -> Result<()> {
            fs::create_dir_all(dir)?;
            made_file::write_whole(&path, |mut file| Ok(file.write_all(text.as_bytes())?))
        };
        write().with_context(|| {
            format!("making {}; --data-dir names another directory", path.display())
        })?;
    }
    Ok((path, text.into_bytes()))
}

/// The pointer to a scalar: in an array through item 123 or the last one, in an object through the
/// value at `name` or the first one.
fn pointer(tree: &Value) -> String {
    let (mut pointer, mut value) = (String::new(), tree);
    loop {
        let (token, inner) = match value {
            Value::Array(items) if !items.is_empty() => {
                let index = 123.min(items.len() - 1);
                (index.to_string(), &items[index])
            }
            Value::Object(pairs) => {
                let named = pairs.get_key_value("name").filter(|(_, value)| !value.is_object());
                let Some((key, inner)) = named.or_else(|| largest(pairs)) else {
                    return pointer;
                };
                (key.replace('~', "~0").replace('/', "~1"), inner)
            }
            _ => return pointer,
        };
        pointer = format!("{pointer}/{token}");
        value = inner;
    }
}

/// The value with the longest path into the document: a collection if there is one.
fn largest(pairs: &serde_json::Map<String, Value>) -> Option<(&String, &Value)> {
    // In a pointer, bytelab treats a step of digits as an index, and some contenders' paths cannot
    // contain an empty key.
    let is_plain = |key: &str| !key.is_empty() && key.parse::<usize>().is_err();
    let pairs = pairs.iter().filter(|(key, _)| is_plain(key));
    pairs.max_by_key(|(_, value)| match value {
        Value::Array(items) => items.len() + 1,
        Value::Object(pairs) => pairs.len() + 1,
        _ => 0,
    })
}

/// Typed contenders support only the document of people.
fn is_people(tree: &Value) -> bool {
    let is_person = |person: &Value| {
        let has = |key| person.get(key).is_some();
        person.as_object().is_some_and(|pairs| pairs.len() == 22)
            && ["_id", "isActive", "about", "tags", "friends", "greeting"].into_iter().all(has)
    };
    tree.as_array().is_some_and(|people| people.iter().all(is_person))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_to_look_up_is_a_scalar_far_inside() {
        let check = |shape: &str, expected: &str| {
            let tree = serde_json::from_str(&bytelab_documents::minified(shape, 1000)).unwrap();
            assert_eq!(pointer(&tree), expected);
            assert!(!tree.pointer(expected).unwrap().is_array(), "{shape}");
        };
        check("people", "/123/name");
        check("floats", "/123");
        check("tree", "/name");
        assert_eq!(pointer(&serde_json::json!({"a/b": [[], {"c": 1}]})), "/a~1b/1/c");
        assert_eq!(pointer(&serde_json::json!([])), "");
    }

    #[test]
    fn people_are_known_by_their_fields() {
        let tree = |shape| serde_json::from_str(&bytelab_documents::minified(shape, 3)).unwrap();
        assert!(is_people(&tree("people")));
        assert!(!is_people(&tree("logs")) && !is_people(&tree("geojson")));
    }
}

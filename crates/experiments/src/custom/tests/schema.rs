//! The JSON Schema for editors is generated from the types that read the file, and accepts the same
//! files as they do.

use serde_json::{Value, json};

use super::super::file::ExperimentFile;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiment.schema.json");

fn generated() -> String {
    let settings = schemars::generate::SchemaSettings::draft07();
    let schema = settings.into_generator().into_root_schema_for::<ExperimentFile>();
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    if std::env::var_os("BYTELAB_WRITE_SCHEMA").is_some() {
        std::fs::write(PATH, generated()).unwrap();
    }
    let published = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(
        published == generated(),
        "docs/experiment.schema.json is old: run this test with BYTELAB_WRITE_SCHEMA=1"
    );
}

/// Implements the part of JSON Schema that is used here.
fn allows(schema: &Value, root: &Value, value: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return schema != &json!(false) };
    schema.iter().all(|(key, rule)| match key.as_str() {
        "$ref" => {
            let path = rule.as_str().unwrap().strip_prefix('#').unwrap();
            allows(root.pointer(path).unwrap(), root, value)
        }
        "type" => match rule {
            Value::Array(types) => types.iter().any(|word| is(word, value)),
            word => is(word, value),
        },
        "enum" => rule.as_array().unwrap().contains(value),
        "const" => rule == value,
        "anyOf" | "oneOf" => rule.as_array().unwrap().iter().any(|one| allows(one, root, value)),
        "allOf" => rule.as_array().unwrap().iter().all(|one| allows(one, root, value)),
        "required" => {
            let keys = rule.as_array().unwrap();
            value
                .as_object()
                .is_none_or(|v| keys.iter().all(|k| v.contains_key(k.as_str().unwrap())))
        }
        "properties" => value.as_object().is_none_or(|v| {
            v.iter().all(|(k, v)| rule.get(k).is_none_or(|rule| allows(rule, root, v)))
        }),
        "additionalProperties" if rule != &json!(false) => {
            let known = schema.get("properties").and_then(Value::as_object);
            assert_eq!(known, None, "the test does not know both");
            value.as_object().is_none_or(|v| v.values().all(|v| allows(rule, root, v)))
        }
        "additionalProperties" => {
            let known = schema.get("properties").and_then(Value::as_object);
            value.as_object().is_none_or(|v| {
                v.keys().all(|key| known.is_some_and(|known| known.contains_key(key)))
            })
        }
        "items" => value.as_array().is_none_or(|v| v.iter().all(|v| allows(rule, root, v))),
        "minimum" => value.as_f64().is_none_or(|v| v >= rule.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|v| v <= rule.as_f64().unwrap()),
        "$schema" | "title" | "description" | "default" | "definitions" | "$defs" | "format" => {
            true
        }
        other => panic!("{other}: the test does not know this rule"),
    })
}

fn is(word: &Value, value: &Value) -> bool {
    match word.as_str().unwrap() {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("{other}: the test does not know this type"),
    }
}

/// Whether the parser accepts it; the schema must agree.
fn check(text: &str) -> bool {
    let root: Value = serde_json::from_str(&generated()).unwrap();
    let parsed = toml::from_str::<ExperimentFile>(text).is_ok();
    let as_json = toml::from_str::<Value>(text).unwrap();
    assert_eq!(allows(&root, &root, &as_json), parsed, "{text}");
    parsed
}

#[test]
fn schema_and_parser_agree() {
    assert!(check(super::EXAMPLE));
    let method = "[[method]]\nname = 'a'\ncommand = 'true'\n";
    assert!(check(method));
    let good = [
        "name = 'x'",
        "question = 'q'",
        "dir = '/x'",
        "env = { A = 'b' }",
        "[plan]\nrounds = 3",
        "[plan]\nmin_sessions = 3\nmax_sessions = 9",
        "[[method]]\nname = 'b'\ncommand = 'x'\nshell = 'bash -e'\nexit_codes = [0, 1]\noutput = 'inherit'",
        "[[method]]\nname = 'b'\ncommand = 'x'\nignore_failure = true\nenv = { A = 'b' }\nprepare = 'p'\nconclude = ['c']",
        "[hooks]\nconclude = { command = 'a', shell = 'zsh' }",
        "[plan]\ncache = 'as-is'",
        "[data]\nfile = 'x'",
        "[data]\nsize = 100\ncontent = 'zeros'",
        "[answer]\nfrom = 'none'",
        "[hooks]\nsetup = ['a', 'b']",
        "[hooks]\nsetup = { command = 'a', shell = true }",
        "[[param]]\nname = 'n'\nkind = 'count'\ndefault = [1, 2]\nmin = 1",
        "[[threshold]]\nmax_ratio = 1.5",
        "[[threshold]]\nmethod = ['a', 'b']\nmax_wall = '5ms'",
        "[[threshold]]\nmax_syscalls = 5",
    ];
    let with = |addition: &str| {
        let is_key = !addition.starts_with('[');
        if is_key { format!("{addition}\n{method}") } else { format!("{method}{addition}") }
    };
    for addition in good {
        let text = with(addition);
        assert!(check(&text), "{text}");
    }
    let bad = [
        "name = 3",
        "nam = 'x'",
        "[plan]\nrounds = '3'",
        "[plan]\nrounds = -1",
        "[plan]\nround = 3",
        "[plan]\ncache = 'hot'",
        "[data]\ncontent = 'x'",
        "[data]\nsize = -1",
        "[data]\nsize = true",
        "[answer]",
        "[answer]\nfrom = 'stderr'",
        "[hooks]\nsetup = 3",
        "[hooks]\nsetup = [3]",
        "[hooks]\nsetup = { shell = true }",
        "[hooks]\nteardown = 'x'",
        "[[param]]\nname = 'n'",
        "[[param]]\nname = 'n'\nkind = 'float'\ndefault = 1",
        "[[threshold]]\nmax_ratio = 'x'",
        "[[method]]\nname = 'b'\nshell = 3",
        "[[method]]\ncommand = 'true'",
        "[[method]]\nname = 'b'\ncommand = 3",
        "[[method]]\nname = 'b'\nrole = 'x'",
        "[[method]]\nname = 'b'\nexit_codes = 1",
        "[[method]]\nname = 'b'\nenv = { A = 1 }",
        "[[method]]\nname = 'b'\nignore_failure = 'yes'",
        "env = ['A']",
    ];
    for addition in bad {
        let text = with(addition);
        assert!(!check(&text), "{text}");
    }
    assert!(!check("question = 'no method'"));
}

//! The types of the file's content, some of which may be written in several forms, and the place of
//! a value in the file. The JSON Schema in `docs/` is generated from them, and what was typed on
//! the command line is written as a file by them. The order of the fields is that of the written
//! keys.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Not, Range};

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Spanned;

/// An experiment of your own for `bytelab run`: one job, done by several methods.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "File"))]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    /// The name of its runs [default: the name of the file]
    pub name: Option<At<String>>,
    /// The question that it answers, in one sentence
    #[serde(default)]
    pub question: String,
    /// The folder where commands work and where relative paths start [default: that of this file]
    pub dir: Option<At<String>>,
    /// Variables in the environment of all commands and hooks
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, At<String>>,
    /// What varies: each gives a flag, a value for `{name}` in commands, and a column
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub param: Vec<ParamTable>,
    /// How much is measured, unless flags say it
    #[serde(default, skip_serializing_if = "is_default")]
    pub plan: PlanTable,
    /// The file that the methods work on, as `{file}`
    pub data: Option<DataTable>,
    /// What must be equal for all methods
    #[serde(default, skip_serializing_if = "is_default")]
    pub answer: AnswerTable,
    /// Metrics that commands print: by name, a regular expression for their standard output, whose
    /// first group is the value
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, At<String>>,
    /// Metrics that have a column in its tables, besides the time and the memory that all have
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub primary_metrics: Vec<At<String>>,
    /// How its figures are shown [default: tables]
    #[serde(default, skip_serializing_if = "is_default")]
    pub view: ViewWord,
    /// Commands around the measuring, which are not timed
    #[serde(default, skip_serializing_if = "is_default")]
    pub hooks: HooksTable,
    /// The methods; the first one is the reference
    pub method: Vec<MethodTable>,
    /// What must not be exceeded
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threshold: Vec<ThresholdTable>,
}

impl ExperimentFile {
    /// The text of the file.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

/// Whether nothing needs to be written, as a reader assumes the same.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ParamTable {
    /// Of small letters, digits, - and _
    pub name: At<String>,
    pub kind: KindWord,
    /// One value, a list `a,b` or a range `a..b`
    pub default: At<Scalar>,
    /// The least value of bytes or a count
    pub min: Option<At<Scalar>>,
    /// The largest value of bytes or a count
    pub max: Option<At<Scalar>>,
    /// What is allowed, of kind word
    #[serde(default)]
    pub words: Vec<String>,
    #[serde(default)]
    pub help: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum KindWord {
    Bytes,
    Count,
    Path,
    Word,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ViewWord {
    /// A table for each combination of values, with verdicts
    #[default]
    Tables,
    /// The same, but the times of combinations that differ by the param `size` (six values or more)
    /// are one table
    SizeSweep,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DataTable {
    /// A file of yours; a relative path starts at the folder of this file
    pub file: Option<At<String>>,
    /// The size of a file that is made, such as `64MiB` or `{size}`
    pub size: Option<At<Scalar>>,
    /// What is in it
    #[serde(default, skip_serializing_if = "is_default")]
    pub content: Content,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Bytes that cannot be compressed
    #[default]
    Random,
    /// Lines of letters
    Text,
    Zeros,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanTable {
    pub rounds: Option<At<u32>>,
    pub sessions: Option<At<u32>>,
    /// The minimum where neither `rounds` nor `sessions` is given, whatever time it takes
    pub min_sessions: Option<At<u32>>,
    /// The maximum where neither `rounds` nor `sessions` is given
    pub max_sessions: Option<At<u32>>,
    pub warm_up: Option<At<u32>>,
    /// Samples of the counting pass
    pub counting: Option<At<u32>>,
    /// Time for the whole run, such as `5s`
    pub time: Option<At<String>>,
    /// Time for one sample; a method that needs more is killed
    pub sample_limit: Option<At<String>>,
    pub cache: Option<CacheWord>,
    /// The limit of the memory of each method, such as `64MiB`
    pub memory: Option<At<Scalar>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CacheWord {
    Warm,
    Cold,
    AsIs,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AnswerTable {
    /// Where plain commands answer
    pub from: At<AnswerSource>,
    /// Of `file`: what the command writes, such as `{dir}/out`
    pub file: Option<At<String>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AnswerSource {
    Stdout,
    File,
    #[default]
    None,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HooksTable {
    /// Once per point, before any method is started
    pub setup: Option<At<HookScript>>,
    /// Before each sample
    pub prepare: Option<At<HookScript>>,
    /// After each sample
    pub conclude: Option<At<HookScript>>,
    /// Once per point when the run has ended, in whatever way
    pub cleanup: Option<At<HookScript>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "they are keys of the file")]
pub struct MethodTable {
    pub name: At<String>,
    /// One line on what it does
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// A program that is started for each sample and timed from outside
    pub command: Option<At<Words>>,
    /// A program that speaks the line protocol and times itself
    pub worker: Option<At<Words>>,
    /// Whether the command is for /bin/sh; or the command of another shell, such as `bash -e`
    #[serde(default, skip_serializing_if = "is_default")]
    pub shell: ShellWord,
    /// Run whenever the method is started
    pub setup: Option<At<HookScript>>,
    /// Before each of its samples, instead of that of all methods
    pub prepare: Option<At<HookScript>>,
    /// After each of its samples, instead of that of all methods
    pub conclude: Option<At<HookScript>>,
    /// The file that is its standard input
    pub input: Option<At<String>>,
    /// Where its standard output goes: `null`, `pipe` to discard it after a pipe, `inherit` to show
    /// it, or a file [default: null]
    pub output: Option<At<String>>,
    /// The number of processes that run the command at the same time in each sample [default: 1]
    pub copies: Option<At<u32>>,
    /// Whether a sample lasts until all processes have ended that it leaves running
    #[serde(default, skip_serializing_if = "Not::not")]
    pub wait_for_all: bool,
    /// Whether the processes that it leaves running are left alone, and compared without
    #[serde(default, skip_serializing_if = "Not::not")]
    pub keep_running: bool,
    /// Whether its runs count whatever their exit code is
    #[serde(default, skip_serializing_if = "Not::not")]
    pub ignore_failure: bool,
    /// The exit codes with which it has done its job [default: 0]
    pub exit_codes: Option<At<Vec<i32>>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub role: RoleWord,
    /// Whether it is measured when no method is named [default: true]
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub default: bool,
    /// Variables in its environment, besides those of all commands
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, At<String>>,
    /// The values that were put in its command, for files of other programs
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RoleWord {
    #[default]
    Contender,
    /// Stands beside the contenders and has no verdict
    Yardstick,
}

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ThresholdTable {
    /// The methods that it is for; `*` stands for any text [default: all that compete]
    pub method: Option<At<Words>>,
    /// Such as `50ms`
    pub max_wall: Option<At<String>>,
    pub max_cpu: Option<At<String>>,
    /// Such as `10MiB`
    pub max_rss: Option<At<Scalar>>,
    pub max_syscalls: Option<At<f64>>,
    /// Time divided by that of the reference
    pub max_ratio: Option<At<f64>>,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

/// A value and where it stands. The span of a value that was not read from a file is empty.
#[derive(Clone, Debug, Default)]
pub struct At<T> {
    pub value: T,
    pub span: Range<usize>,
}

impl<T> At<T> {
    pub fn new(value: T) -> At<T> {
        At { value, span: 0..0 }
    }
}

impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &At<T>) -> bool {
        self.value == other.value
    }
}

impl<T: Serialize> Serialize for At<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<At<T>, D::Error> {
        let spanned = Spanned::<T>::deserialize(deserializer)?;
        Ok(At { span: spanned.span(), value: spanned.into_inner() })
    }
}

#[cfg(test)]
impl<T: schemars::JsonSchema> schemars::JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

/// A command: a string that is split into words, or the words.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Words {
    Text(String),
    List(Vec<String>),
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Words, D::Error> {
        struct WordsVisitor;
        impl<'de> Visitor<'de> for WordsVisitor {
            type Value = Words;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Words, E> {
                Ok(Words::Text(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Words, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element()? {
                    words.push(word);
                }
                Ok(Words::List(words))
            }
        }
        deserializer.deserialize_any(WordsVisitor)
    }
}

/// A hook: a command, or a table with it that may ask for the shell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Hook"))]
#[serde(untagged)]
pub enum HookScript {
    Plain(Words),
    Table(HookTable),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HookTable {
    pub command: Words,
    /// Whether the command is for /bin/sh; or the command of another shell, such as `bash -e`
    #[serde(default, skip_serializing_if = "is_default")]
    pub shell: ShellWord,
}

impl<'de> Deserialize<'de> for HookScript {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HookScript, D::Error> {
        struct HookVisitor;
        impl<'de> Visitor<'de> for HookVisitor {
            type Value = HookScript;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a list of strings or { command = …, shell = true }")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<HookScript, E> {
                Ok(HookScript::Plain(Words::Text(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<HookScript, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element()? {
                    words.push(word);
                }
                Ok(HookScript::Plain(Words::List(words)))
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<HookScript, A::Error> {
                HookTable::deserialize(MapAccessDeserializer::new(table)).map(HookScript::Table)
            }
        }
        deserializer.deserialize_any(HookVisitor)
    }
}

/// The shell of a script: none, /bin/sh, or another one with its arguments.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ShellWord {
    Default(bool),
    Named(String),
}

impl Default for ShellWord {
    fn default() -> ShellWord {
        ShellWord::Default(false)
    }
}

impl<'de> Deserialize<'de> for ShellWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ShellWord, D::Error> {
        struct ShellWordVisitor;
        impl Visitor<'_> for ShellWordVisitor {
            type Value = ShellWord;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or the command of a shell")
            }
            fn visit_bool<E: Error>(self, is_used: bool) -> Result<ShellWord, E> {
                Ok(ShellWord::Default(is_used))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<ShellWord, E> {
                Ok(ShellWord::Named(text.to_owned()))
            }
        }
        deserializer.deserialize_any(ShellWordVisitor)
    }
}

/// A value of a flag: text, a whole number, or a list of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Scalar(pub String);

#[cfg(test)]
impl schemars::JsonSchema for Scalar {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scalar".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [
            { "type": "string" },
            { "type": "integer", "minimum": 0 },
            { "type": "array", "items": { "anyOf": [
                { "type": "string" }, { "type": "integer", "minimum": 0 }
            ] } },
        ] })
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        struct ScalarVisitor;
        impl<'de> Visitor<'de> for ScalarVisitor {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a whole number or a list of them")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
                if number < 0 {
                    return Err(E::custom(format!("{number} is less than 0")));
                }
                Ok(Scalar(number.to_string()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Scalar, A::Error> {
                let mut all: Vec<String> = Vec::new();
                while let Some(Scalar(one)) = list.next_element()? {
                    all.push(one);
                }
                Ok(Scalar(all.join(",")))
            }
        }
        deserializer.deserialize_any(ScalarVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn script(command: &str, shell: ShellWord) -> At<HookScript> {
        let command = Words::Text(command.to_owned());
        At::new(HookScript::Table(HookTable { command, shell }))
    }

    #[test]
    fn what_has_its_default_is_not_written_and_tables_come_last() {
        let text = |text: &str| Some(At::new(text.to_owned()));
        let words = ["echo", "a b"].map(str::to_owned).to_vec();
        let method = MethodTable {
            name: At::new("a".to_owned()),
            command: Some(At::new(Words::List(words))),
            prepare: Some(script("x", ShellWord::Named("bash -e".to_owned()))),
            output: text("pipe"),
            exit_codes: Some(At::new(vec![0, 1])),
            default: true,
            ..MethodTable::default()
        };
        let file = ExperimentFile {
            name: text("bench"),
            question: "q".to_owned(),
            dir: text("/d"),
            env: BTreeMap::from([("A".to_owned(), At::new("1".to_owned()))]),
            plan: PlanTable {
                rounds: Some(At::new(2)),
                cache: Some(CacheWord::AsIs),
                ..PlanTable::default()
            },
            hooks: HooksTable {
                setup: Some(script("a | b", ShellWord::Default(true))),
                ..HooksTable::default()
            },
            method: vec![method],
            ..ExperimentFile::default()
        };
        let expected = r#"name = "bench"
question = "q"
dir = "/d"

[env]
A = "1"

[plan]
rounds = 2
cache = "as-is"

[hooks.setup]
command = "a | b"
shell = true

[[method]]
name = "a"
command = ["echo", "a b"]
output = "pipe"
exit_codes = [0, 1]

[method.prepare]
command = "x"
shell = "bash -e"
"#;
        assert_eq!(file.to_toml().unwrap(), expected);
    }

    proptest! {
        #[test]
        fn a_text_is_read_as_it_was(text in r#"(\PC|['"\\\n\t\x00-\x1f\x7f-\u{9f}]){0,20}"#) {
            let words = Words::List(vec![text.clone()]);
            let method = MethodTable {
                name: At::new(text.clone()),
                command: Some(At::new(words.clone())),
                prepare: Some(script(&text, ShellWord::Named(text.clone()))),
                conclude: Some(At::new(HookScript::Plain(words))),
                default: true,
                env: BTreeMap::from([(text.clone(), At::new(text.clone()))]),
                parameters: BTreeMap::from([(text.clone(), text.clone())]),
                ..MethodTable::default()
            };
            let method = vec![method.clone(), method];
            let file = ExperimentFile { question: text, method, ..ExperimentFile::default() };
            let read: ExperimentFile = toml::from_str(&file.to_toml().unwrap()).unwrap();
            prop_assert_eq!(read.question, file.question);
            prop_assert_eq!(read.method, file.method);
        }
    }
}

//! The types of the file's content, some of which may be written in several forms, and the place of
//! a value in the file. The JSON Schema in `docs/` is generated from them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// An experiment of your own for `bytelab run`: one job, done by several methods.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// The name of its runs [default: the name of the file]
    pub(super) name: Option<At<String>>,
    /// The folder where commands work and where relative paths start [default: that of this file]
    pub(super) dir: Option<At<String>>,
    /// Variables in the environment of all commands and hooks
    #[serde(default)]
    pub(super) env: BTreeMap<String, At<String>>,
    /// The question that it answers, in one sentence
    #[serde(default)]
    pub(super) question: String,
    /// What varies: each gives a flag, a value for `{name}` in commands, and a column
    #[serde(default)]
    pub(super) param: Vec<ParamTable>,
    /// The file that the methods work on, as `{file}`
    pub(super) data: Option<DataTable>,
    /// How much is measured, unless flags say it
    #[serde(default)]
    pub(super) plan: PlanTable,
    /// What must be equal for all methods
    #[serde(default)]
    pub(super) answer: AnswerTable,
    /// Metrics that commands print: by name, a regular expression for their standard output, whose
    /// first group is the value
    #[serde(default)]
    pub(super) metrics: BTreeMap<String, At<String>>,
    /// Metrics that have a column in its tables, besides the time and the memory that all have
    #[serde(default)]
    pub(super) primary_metrics: Vec<At<String>>,
    /// How its figures are shown [default: tables]
    #[serde(default)]
    pub(super) view: ViewWord,
    /// Commands around the measuring, which are not timed
    #[serde(default)]
    pub(super) hooks: HooksTable,
    /// The methods; the first one is the reference
    pub(super) method: Vec<MethodTable>,
    /// What must not be exceeded
    #[serde(default)]
    pub(super) threshold: Vec<ThresholdTable>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ParamTable {
    /// Of small letters, digits, - and _
    pub(super) name: At<String>,
    pub(super) kind: KindWord,
    /// One value, a list `a,b` or a range `a..b`
    pub(super) default: At<Scalar>,
    /// The least value of bytes or a count
    pub(super) min: Option<At<Scalar>>,
    /// The largest value of bytes or a count
    pub(super) max: Option<At<Scalar>>,
    /// What is allowed, of kind word
    #[serde(default)]
    pub(super) words: Vec<String>,
    #[serde(default)]
    pub(super) help: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum KindWord {
    Bytes,
    Count,
    Path,
    Word,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum ViewWord {
    /// A table for each combination of values, with verdicts
    #[default]
    Tables,
    /// The same, but the times of combinations that differ by the param `size` (six values or more)
    /// are one table
    SizeSweep,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct DataTable {
    /// A file of yours; a relative path starts at the folder of this file
    pub(super) file: Option<At<String>>,
    /// The size of a file that is made, such as `64MiB` or `{size}`
    pub(super) size: Option<At<Scalar>>,
    /// What is in it
    #[serde(default)]
    pub(super) content: Content,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum Content {
    /// Bytes that cannot be compressed
    #[default]
    Random,
    /// Lines of letters
    Text,
    Zeros,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct PlanTable {
    pub(super) rounds: Option<At<u32>>,
    pub(super) sessions: Option<At<u32>>,
    /// The minimum where neither `rounds` nor `sessions` is given, whatever time it takes
    pub(super) min_sessions: Option<At<u32>>,
    /// The maximum where neither `rounds` nor `sessions` is given
    pub(super) max_sessions: Option<At<u32>>,
    pub(super) warm_up: Option<At<u32>>,
    /// Samples of the counting pass
    pub(super) counting: Option<At<u32>>,
    /// Time for the whole run, such as `5s`
    pub(super) time: Option<At<String>>,
    /// Time for one sample; a method that needs more is killed
    pub(super) sample_limit: Option<At<String>>,
    pub(super) cache: Option<CacheWord>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum CacheWord {
    Warm,
    Cold,
    AsIs,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerTable {
    /// Where plain commands answer
    pub(super) from: At<AnswerSource>,
    /// Of `file`: what the command writes, such as `{dir}/out`
    pub(super) file: Option<At<String>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum AnswerSource {
    Stdout,
    File,
    #[default]
    None,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct HooksTable {
    /// Once per point, before any method is started
    pub(super) setup: Option<At<Hook>>,
    /// Before each sample
    pub(super) prepare: Option<At<Hook>>,
    /// After each sample
    pub(super) conclude: Option<At<Hook>>,
    /// Once per point when the run has ended, in whatever way
    pub(super) cleanup: Option<At<Hook>>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "they are keys of the file")]
pub(super) struct MethodTable {
    pub(super) name: At<String>,
    /// One line on what it does
    #[serde(default)]
    pub(super) about: String,
    /// A program that is started for each sample and timed from outside
    pub(super) command: Option<At<Words>>,
    /// A program that speaks the line protocol and times itself
    pub(super) worker: Option<At<Words>>,
    /// Whether the command is for /bin/sh; or the command of another shell, such as `bash -e`
    #[serde(default)]
    pub(super) shell: ShellWord,
    /// The file that is its standard input
    pub(super) input: Option<At<String>>,
    /// Where its standard output goes: `null`, `pipe` to discard it after a pipe, `inherit` to show
    /// it, or a file [default: null]
    pub(super) output: Option<At<String>>,
    /// Variables in its environment, besides those of all commands
    #[serde(default)]
    pub(super) env: BTreeMap<String, At<String>>,
    /// The number of processes that run the command at the same time in each sample [default: 1]
    pub(super) copies: Option<At<u32>>,
    /// The exit codes with which it has done its job [default: 0]
    pub(super) exit_codes: Option<At<Vec<i32>>>,
    /// Whether its runs count whatever their exit code is
    #[serde(default)]
    pub(super) ignore_failure: bool,
    /// Whether a sample lasts until all processes have ended that it leaves running
    #[serde(default)]
    pub(super) wait_for_all: bool,
    /// Whether the processes that it leaves running are left alone, and compared without
    #[serde(default)]
    pub(super) keep_running: bool,
    /// The values that were put in its command, for files of other programs
    #[serde(default)]
    pub(super) parameters: BTreeMap<String, String>,
    /// Run whenever the method is started
    pub(super) setup: Option<At<Hook>>,
    /// Before each of its samples, instead of that of all methods
    pub(super) prepare: Option<At<Hook>>,
    /// After each of its samples, instead of that of all methods
    pub(super) conclude: Option<At<Hook>>,
    #[serde(default)]
    pub(super) role: RoleWord,
    /// Whether it is measured when no method is named
    #[serde(default = "yes")]
    pub(super) default: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum RoleWord {
    #[default]
    Contender,
    /// Stands beside the contenders and has no verdict
    Yardstick,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ThresholdTable {
    /// The methods that it is for; `*` stands for any text [default: all that compete]
    pub(super) method: Option<At<Words>>,
    /// Such as `50ms`
    pub(super) max_wall: Option<At<String>>,
    pub(super) max_cpu: Option<At<String>>,
    /// Such as `10MiB`
    pub(super) max_rss: Option<At<Scalar>>,
    pub(super) max_syscalls: Option<At<f64>>,
    /// Time divided by that of the reference
    pub(super) max_ratio: Option<At<f64>>,
}

fn yes() -> bool {
    true
}

/// A value and where it stands.
#[derive(Clone, Debug, Default)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
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
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(untagged))]
pub(super) enum Words {
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
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(untagged))]
pub(super) enum Hook {
    Plain(Words),
    Table(HookTable),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct HookTable {
    pub(super) command: Words,
    /// Whether the command is for /bin/sh; or the command of another shell, such as `bash -e`
    #[serde(default)]
    pub(super) shell: ShellWord,
}

impl<'de> Deserialize<'de> for Hook {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hook, D::Error> {
        struct HookVisitor;
        impl<'de> Visitor<'de> for HookVisitor {
            type Value = Hook;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a list of strings or { command = …, shell = true }")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Hook, E> {
                Ok(Hook::Plain(Words::Text(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Hook, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element()? {
                    words.push(word);
                }
                Ok(Hook::Plain(Words::List(words)))
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Hook, A::Error> {
                HookTable::deserialize(MapAccessDeserializer::new(table)).map(Hook::Table)
            }
        }
        deserializer.deserialize_any(HookVisitor)
    }
}

/// The shell of a script: none, /bin/sh, or another one with its arguments.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(untagged))]
pub(super) enum ShellWord {
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
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scalar(pub(super) String);

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

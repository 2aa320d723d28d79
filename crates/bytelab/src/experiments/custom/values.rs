//! Values that may be written in several forms, and the place of a value in the file.

use std::fmt;
use std::ops::Range;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

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

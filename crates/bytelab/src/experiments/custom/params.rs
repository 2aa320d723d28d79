//! The params of the file.

use lab::param::{Kind, Param, parse_bytes};
use lab::template::is_name;

use super::file::{KindWord, ParamTable};
use super::names::{OWN, leak};
use super::origin::ReservedNames;
use super::place::Mistake;
use super::values::{At, Scalar};

/// The maximum of bytes or a count, unless the file sets a lower one.
const MOST: u64 = 1 << 50;

pub(super) fn params(
    tables: &[ParamTable],
    taken: &ReservedNames<'_>,
) -> Result<Vec<Param>, Mistake> {
    let mut params: Vec<Param> = Vec::new();
    for table in tables {
        let At { value: name, span } = &table.name;
        if !is_name(name) {
            let text = format!(
                "{name:?}: a name is made of at most 32 small letters, digits, - and _, with a letter first"
            );
            return Err(Mistake::at(span, text));
        }
        if OWN.contains(&name.as_str())
            || name == "job"
            || taken.flags.iter().any(|flag| flag == name)
        {
            return Err(Mistake::at(
                span,
                format!("{name} means something else; name it otherwise"),
            ));
        }
        if params.iter().any(|param| param.name == name) {
            return Err(Mistake::at(span, format!("there are two params {name}")));
        }
        params.push(param(table)?);
    }
    Ok(params)
}

fn param(table: &ParamTable) -> Result<Param, Mistake> {
    let default = &table.default;
    let param =
        Param::new(leak(table.name.value.clone()), kind(table)?, leak(default.value.0.clone()))
            .help(leak(table.help.clone()));
    // An empty default would mean that there is none.
    let parsed = if default.value.0.is_empty() {
        Err(anyhow::anyhow!("a value is needed"))
    } else {
        param.parse(&default.value.0)
    };
    match parsed {
        Ok(_) => Ok(param),
        Err(error) => {
            let text = error.chain().last().map(ToString::to_string).unwrap_or_default();
            Err(Mistake::at(&default.span, format!("{:?}: {text}", default.value.0)))
        }
    }
}

fn kind(table: &ParamTable) -> Result<Kind, Mistake> {
    let is_number = matches!(table.kind, KindWord::Bytes | KindWord::Count);
    let limited = table.min.as_ref().or(table.max.as_ref());
    if let Some(limited) = limited.filter(|_| !is_number) {
        return Err(Mistake::at(&limited.span, "only bytes and counts have limits"));
    }
    let span = &table.name.span;
    if table.kind != KindWord::Word && !table.words.is_empty() {
        return Err(Mistake::at(span, "only a param of kind = \"word\" has words"));
    }
    let (least, most) = (limit(table.min.as_ref(), 0)?, limit(table.max.as_ref(), MOST)?);
    if least > most {
        return Err(Mistake::at(span, "its min is more than its max"));
    }
    match table.kind {
        KindWord::Bytes => Ok(Kind::Bytes(least, most)),
        KindWord::Count => Ok(Kind::Count(least, most)),
        KindWord::Path => Ok(Kind::Path),
        KindWord::Word if table.words.is_empty() => {
            Err(Mistake::at(span, "a param of kind = \"word\" needs words = [\"…\"]"))
        }
        KindWord::Word => {
            let wrong = table.words.iter().find(|word| word.is_empty() || word.contains(','));
            if let Some(word) = wrong {
                return Err(Mistake::at(
                    span,
                    format!("{word:?} cannot be a word: it is empty or has a comma"),
                ));
            }
            let words: Vec<&'static str> = table.words.iter().cloned().map(leak).collect();
            Ok(Kind::Word(Box::leak(words.into_boxed_slice())))
        }
    }
}

fn limit(given: Option<&At<Scalar>>, otherwise: u64) -> Result<u64, Mistake> {
    let Some(At { value: Scalar(text), span }) = given else { return Ok(otherwise) };
    let number =
        parse_bytes(text).map_err(|error| Mistake::at(span, format!("{text}: {error:#}")))?;
    if number > MOST {
        return Err(Mistake::at(span, format!("{text} is more than 1PiB (2 to the 50th)")));
    }
    Ok(number)
}

//! Texts with names in braces, which are replaced by values of the point. Pure.

use crate::param::Point;

/// The text with each `{name}` of the point replaced once: inserted values are not expanded again.
/// `{{name}}` becomes `{name}`; `${name}` and all other braces are kept.
pub fn fill(text: &str, point: &Point, form: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Name(name) => match point.get(name) {
                Some(value) => out.push_str(&form(&value.to_string())),
                None => out = out + "{" + name + "}",
            },
        }
    }
    out
}

/// A text that [`fill`] turns into this one, whatever the values of the point are.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(brace) = rest.find('{') {
        let (before, from) = rest.split_at(brace);
        out.push_str(before);
        let name = from[1..].split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        match name {
            Some(name) if !before.ends_with('$') => {
                out = out + "{{" + name + "}}";
                rest = &from[name.len() + 2..];
            }
            _ => {
                out.push('{');
                rest = &from[1..];
            }
        }
    }
    out + rest
}

/// The names that the text contains.
pub fn names(text: &str) -> Vec<&str> {
    let name = |piece| if let Piece::Name(name) = piece { Some(name) } else { None };
    pieces(text).into_iter().filter_map(name).collect()
}

/// Whether the text is a valid name: lowercase letters, digits, `-` and `_`, beginning with a
/// letter.
pub fn is_name(text: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    text.len() <= 32
        && text.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
        && text.bytes().all(plain)
}

#[derive(Clone, Copy)]
enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(brace) = rest.find('{') {
        let (before, from) = rest.split_at(brace);
        let after = &from[1..];
        pieces.push(Piece::Text(before));
        let escaped = after.strip_prefix('{').and_then(|after| after.split_once("}}"));
        let plain = after.split_once('}');
        if let Some((name, tail)) = escaped.filter(|(name, _)| is_name(name)) {
            pieces.push(Piece::Text(&after[..name.len() + 2]));
            rest = tail;
        } else if let Some((name, tail)) = plain.filter(|(name, _)| is_name(name))
            && !before.ends_with('$')
        {
            pieces.push(Piece::Name(name));
            rest = tail;
        } else {
            pieces.push(Piece::Text(&from[..1]));
            rest = after;
        }
    }
    pieces.push(Piece::Text(rest));
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str, named: &[&str]) {
        let mut point = Point::default();
        point.set("file", "/a {size} b");
        point.set("size", 7u64);
        assert_eq!(fill(text, &point, str::to_owned), expected, "{text}");
        assert_eq!(names(text), named, "{text}");
    }

    #[test]
    fn a_name_in_braces_becomes_the_value() {
        check("{file}", "/a {size} b", &["file"]);
        check("if={file}:{size}", "if=/a {size} b:7", &["file", "size"]);
        check("{other} {", "{other} {", &["other"]);
    }

    #[test]
    fn braces_of_the_command_s_own_stay() {
        check("{{size}} {{size} {Size} {}", "{size} {7 {Size} {}", &["size"]);
        check("awk '{ print $1 }' ${size}", "awk '{ print $1 }' ${size}", &[]);
        check("{{{size}}}", "{{size}}", &[]);
        check("{{print}}", "{print}", &[]);
    }

    proptest! {
        #[test]
        fn a_text_without_names_and_doubled_braces_stays(text in "[a-z{ $é]{0,20}") {
            prop_assert_eq!(fill(&text, &Point::default(), str::to_owned), text);
        }

        #[test]
        fn an_escaped_text_comes_back(text in "([{}$]|a|é|[{]a[}]|[{]{2}a[}]{2}){0,12}") {
            let mut point = Point::default();
            point.set("a", "value");
            let escaped = escape(&text);
            prop_assert_eq!(fill(&escaped, &point, str::to_owned), text, "{}", escaped);
            prop_assert!(names(&escaped).is_empty(), "{}", escaped);
        }

        #[test]
        fn nothing_panics(text in "[{}a$é-]{0,24}") {
            let mut point = Point::default();
            point.set("a", "{a}");
            fill(&text, &point, str::to_owned);
        }
    }
}

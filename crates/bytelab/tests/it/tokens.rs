//! Rust sources as trees of words, punctuation and groups, without comments. It is a small part of
//! what `syn` does, and needs no dependency: with a dependency that the procedural macros also
//! have, cargo would build all of them, and the code that uses them, in another configuration.

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Word(String),
    Punct(char),
    /// The text of a string, without its quotes.
    Text(String),
    /// A group with its opening bracket.
    Group(char, Vec<Token>),
}

/// All tokens of a text that compiles.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut groups: Vec<(char, Vec<Token>)> = vec![(' ', Vec::new())];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut token = None;
        let len = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => {
                let len = string(rest);
                token = Some(Token::Text(rest[1..len - 1].to_owned()));
                len
            }
            'r' | 'b' | 'c' if let Some(len) = prefixed(rest) => {
                token = Some(Token::Text(rest[..len].to_owned()));
                len
            }
            '\'' => character(rest),
            '(' | '[' | '{' => {
                groups.push((first, Vec::new()));
                1
            }
            ')' | ']' | '}' => {
                let (open, inside) = groups.pop().unwrap();
                token = Some(Token::Group(open, inside));
                1
            }
            _ if is_of_word(first) => {
                let len = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
                token = Some(Token::Word(rest[..len].to_owned()));
                len
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ => {
                token = Some(Token::Punct(first));
                first.len_utf8()
            }
        };
        groups.last_mut().unwrap().1.extend(token);
        rest = &rest[len..];
    }
    assert_eq!(groups.len(), 1, "a bracket is open");
    groups.pop().unwrap().1
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a block comment; block comments may be nested.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        let begins = text[at..].starts_with("/*");
        let ends = text[at..].starts_with("*/");
        depth = depth + usize::from(begins) - usize::from(ends);
        at += if begins || ends { 2 } else { text[at..].chars().next().unwrap().len_utf8() };
        if depth == 0 {
            return at;
        }
    }
}

/// The length of a string with its quotes.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text[1..].find(|c| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.unwrap() + 2
}

/// The length of a string or a byte with a prefix of letters, such as `br#"…"#`; `None` for a word.
fn prefixed(text: &str) -> Option<usize> {
    let letters = text.find(|c| !"rbc".contains(c))?;
    let (prefix, rest) = text.split_at(letters);
    if prefix == "b" && rest.starts_with('\'') {
        return Some(letters + character(rest));
    }
    if !["r", "b", "c", "br", "cr"].contains(&prefix) {
        return None;
    }
    if !prefix.contains('r') {
        return rest.starts_with('"').then(|| letters + string(rest));
    }
    let hashes = rest.find(|c| c != '#')?;
    let end = format!("\"{}", &rest[..hashes]);
    let inside = rest[hashes..].strip_prefix('"')?;
    Some(letters + hashes + 1 + inside.find(&end)? + end.len())
}

/// The length of a character with its quotes, or of the quote of a lifetime.
fn character(text: &str) -> usize {
    let mut after = text[1..].chars();
    match after.next() {
        Some('\\') => 3 + text[3..].find('\'').unwrap() + 1,
        Some(c) if after.next() == Some('\'') => c.len_utf8() + 2,
        _ => 1,
    }
}

#[test]
fn texts_comments_and_lifetimes_hide_no_code() {
    let text = r##"a::b("x\"}"); /* { /* */ */ 'x' '\'' '\u{7d}' b'}' r#"}"}"# c: &'a str // }
        br"}" rbc"##;
    let found: Vec<String> = tokens(text).iter().map(|token| format!("{token:?}")).collect();
    let expected = [
        r#"Word("a")"#,
        "Punct(':')",
        "Punct(':')",
        r#"Word("b")"#,
        r#"Group('(', [Text("x\\\"}")])"#,
        "Punct(';')",
        r#"Text("b'}'")"#,
        r##"Text("r#\"}\"}\"#")"##,
        r#"Word("c")"#,
        "Punct(':')",
        "Punct('&')",
        r#"Word("a")"#,
        r#"Word("str")"#,
        r#"Text("br\"}\"")"#,
        r#"Word("rbc")"#,
    ];
    assert_eq!(found, expected);
}

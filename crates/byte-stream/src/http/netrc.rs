//! The credentials of a host in the text of a `.netrc` file. Pure: text in, credentials out.

use crate::{Error, ErrorKind, Result};

/// `login:password` of the first entry for this host, or of the entry `default`.
pub(crate) fn find(text: &str, host: &str) -> Result<Option<Vec<u8>>> {
    let mut words = Words { text, rest: text };
    let (mut login, mut password) = (None, None);
    let mut is_ours = false;
    while let Some(word) = words.keyword() {
        match word {
            "machine" | "default" if is_ours => break,
            "machine" => is_ours = words.value(word)?.eq_ignore_ascii_case(host),
            "default" => is_ours = true,
            "login" | "password" => {
                let value = words.value(word)?;
                let known = if word == "login" { &mut login } else { &mut password };
                if is_ours {
                    *known = Some(value);
                }
            }
            "account" => drop(words.value(word)?),
            "macdef" => words.skip_macro(),
            // Other programs have words of their own.
            _ => {}
        }
    }
    let is_known = login.is_some() || password.is_some();
    let both = || [login.unwrap_or_default(), password.unwrap_or_default()].join(":");
    Ok(is_known.then(|| both().into_bytes()))
}

struct Words<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Words<'a> {
    /// The next word outside of comments.
    fn keyword(&mut self) -> Option<&'a str> {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with('#') {
                return Some(self.word()).filter(|word| !word.is_empty());
            }
            self.skip_line();
        }
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// The word behind a keyword, which may stand in quotes.
    fn value(&mut self, keyword: &str) -> Result<String> {
        self.rest = self.rest.trim_start();
        if let Some(quoted) = self.rest.strip_prefix('"') {
            return self.quoted(quoted);
        }
        match self.word() {
            "" => Err(self.wrong(&format!("nothing follows `{keyword}`"))),
            word => Ok(word.to_owned()),
        }
    }

    fn quoted(&mut self, quoted: &'a str) -> Result<String> {
        let mut value = String::new();
        let mut chars = quoted.char_indices();
        while let Some((at, c)) = chars.next() {
            let c = match c {
                '"' => {
                    self.rest = &quoted[at + 1..];
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, 'r')) => '\r',
                    Some((_, 't')) => '\t',
                    Some((_, other)) => other,
                    None => break,
                },
                c => c,
            };
            value.push(c);
        }
        Err(self.wrong("a quotation mark is not closed"))
    }

    /// A macro ends with an empty line.
    fn skip_macro(&mut self) {
        self.skip_line();
        while !self.rest.is_empty() {
            let is_last = self.rest.lines().next().is_none_or(str::is_empty);
            self.skip_line();
            if is_last {
                return;
            }
        }
    }

    fn skip_line(&mut self) {
        self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
    }

    fn wrong(&self, what: &str) -> Error {
        let before = &self.text[..self.text.len() - self.rest.len()];
        let line = 1 + before.matches('\n').count();
        Error::new(ErrorKind::InvalidUse, format!("the netrc file, line {line}: {what}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        let got = match find(text, "host") {
            Ok(found) => found.map_or("none".to_owned(), |user| String::from_utf8(user).unwrap()),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "{text:?}");
    }

    #[test]
    fn the_first_entry_for_the_host_or_the_default_counts() {
        check("machine host login me password pw", "me:pw");
        check("machine\nHOST\n\tpassword pw\n\tlogin me\r\n", "me:pw");
        check("machine other login x password y machine host login me password pw", "me:pw");
        check("machine host login a password b machine host login c password d", "a:b");
        check("machine other login x password y default login me password pw", "me:pw");
        check("default login a password b machine host login c password d", "a:b");
        check("machine other login x password y", "none");
        check("machine host", "none");
        check("machine host login me", "me:");
        check("", "none");
    }

    #[test]
    fn comments_macros_and_quotes_are_understood() {
        check("# machine host login x\nmachine host login me password #pw", "me:#pw");
        check("machine host login me # password x\n password pw", "me:pw");
        check("macdef m\nmachine host login x\n\nmachine host login me", "me:");
        check("machine host macdef init\ncd /\n\r\n\nlogin me password pw", "me:pw");
        check("machine host login \"a b\" password \"\\\"\\\\\\t\"", "a b:\"\\\t");
        check("machine \"host\" port 1 account x login me", "me:");
    }

    proptest! {
        #[test]
        fn a_quoted_entry_is_found_before_any_text(
            login in any::<String>(),
            password in any::<String>(),
            text in "([a-z]{0,3}|machine|default|login|macdef|host|[ \\n\"\\\\#]){0,30}",
        ) {
            let quoted = |text: &str| {
                format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            };
            let _ = find(&text, "host");
            let [user, secret] = [&login, &password].map(|text| quoted(text));
            let entry = format!("machine host login {user} password {secret}");
            let found = find(&format!("{entry} machine x {text}"), "host").unwrap();
            prop_assert_eq!(found.unwrap(), format!("{login}:{password}").into_bytes());
        }
    }

    #[test]
    fn a_word_that_is_missing_is_an_error_with_its_line() {
        check("machine", "the netrc file, line 1: nothing follows `machine`");
        check("machine host\nlogin", "the netrc file, line 2: nothing follows `login`");
        let open = "the netrc file, line 2: a quotation mark is not closed";
        check("machine host\npassword \"x\\", open);
    }
}

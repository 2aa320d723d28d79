//! Finds elements in the XML of S3 and STS, which has neither attributes of interest nor comments.

/// The texts between the tags of the elements with this name, still escaped.
pub(crate) fn elements<'a>(xml: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (start, end) = (format!("<{name}"), format!("</{name}>"));
    let mut rest = xml;
    std::iter::from_fn(move || {
        loop {
            let (_, behind) = rest.split_once(&start)?;
            rest = behind;
            // Another name may begin with this one, and an element without content has no end.
            let is_name = behind.starts_with(|c: char| c == '>' || c.is_ascii_whitespace());
            let Some((tag, content)) = behind.split_once('>').filter(|_| is_name) else { continue };
            if tag.ends_with('/') {
                continue;
            }
            let (content, behind) = content.split_once(&end)?;
            rest = behind;
            return Some(content);
        }
    })
}

/// The text of the first element with this name; `None` if there is none, or an empty one.
pub(crate) fn text(xml: &str, name: &str) -> Option<String> {
    elements(xml, name).next().map(unescaped).filter(|text| !text.is_empty())
}

fn unescaped(mut text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    while let Some((before, behind)) = text.split_once('&') {
        plain.push_str(before);
        text = behind;
        if let Some((name, behind)) = behind.split_once(';')
            && let Some(c) = character(name)
        {
            plain.push(c);
            text = behind;
        } else {
            plain.push('&');
        }
    }
    plain + text
}

/// The character of a reference.
fn character(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        name => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_elements_with_a_name_are_found() {
        let xml = "<?xml version=\"1.0\"?>\n<a xmlns=\"x\"><Key>1</Key><KeyCount>9</KeyCount>\
                   <Key/><Key />\n<Key b=\"c\">2</Key><Key></Key><Key>3";
        assert_eq!(elements(xml, "Key").collect::<Vec<_>>(), ["1", "2", ""]);
        assert_eq!(text(xml, "KeyCount").as_deref(), Some("9"));
        assert_eq!(text(xml, "Other"), None);
        assert_eq!(text("<a></a>", "a"), None);
    }

    #[test]
    fn references_are_characters() {
        let check = |escaped: &str, expected: &str| assert_eq!(unescaped(escaped), expected);
        check("&quot;a&amp;amp;&apos;&lt;&gt;", "\"a&amp;'<>");
        check("&#x41;&#66;&#10;", "AB\n");
        check("a & b; &x; &#xd800; &", "a & b; &x; &#xd800; &");
    }

    proptest! {
        #[test]
        fn a_text_that_is_escaped_is_found(value in any::<String>(), other in "[<>/a-z&;#]{0,20}") {
            let escaped = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let xml = format!("<k>{escaped}</k>{other}");
            prop_assert_eq!(text(&xml, "k"), Some(value).filter(|value| !value.is_empty()));
        }
    }
}

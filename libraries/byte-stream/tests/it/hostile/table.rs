//! Reads the table of hostile answers: `tests/data/hostile.txt`, which says how it is written.

/// What a server sends to one request, and what it does then.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) bytes: Vec<u8>,
    pub(super) end: End,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    Close,
    Reset,
    /// Nothing more, and the connection stays open.
    Hang,
    /// This again and again.
    Endless(Vec<u8>),
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) kind: &'static str,
    /// The section of the RFC that the answer breaks or bends.
    pub(super) rfc: &'static str,
    pub(super) name: &'static str,
    /// The verdicts: `ok`, `empty`, `wrong`, `hang`, `error`, or the kind of our error.
    pub(super) ours: &'static str,
    pub(super) curl: &'static str,
    pub(super) bare: &'static str,
    pub(super) decodes: bool,
    pub(super) retries: bool,
    /// One for each connection; the last one for all further ones.
    pub(super) answers: Vec<Answer>,
}

impl Case {
    pub(super) fn title(&self) -> String {
        format!("{} | {}", self.kind, self.name)
    }

    pub(super) fn hangs(&self) -> bool {
        self.answers.iter().any(|answer| answer.end == End::Hang)
    }
}

pub(super) fn cases() -> Vec<Case> {
    let (mut cases, mut kind, mut rfc, mut flag) = (Vec::new(), "", "", "");
    for line in include_str!("../../data/hostile.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((name, rest)) = line.strip_prefix('[').and_then(|line| line.split_once("] ")) {
            let (number, more) = rest.strip_prefix("RFC ").unwrap().split_once(' ').unwrap();
            let section = more.split(' ').next().unwrap();
            flag = more[section.len()..].trim();
            (kind, rfc) = (name, &rest[..rest.len() - more.len() + section.len()]);
            assert!(number.parse::<u32>().is_ok() && ["", "decode", "retries"].contains(&flag));
            continue;
        }
        let columns: Vec<&'static str> = line.splitn(5, " | ").collect();
        let &[name, ours, curl, bare, answers] = columns.as_slice() else { panic!("{line}") };
        let answers = answers.split(" => ").map(answer).collect();
        let (decodes, retries) = (flag == "decode", flag == "retries");
        cases.push(Case { kind, rfc, name, ours, curl, bare, decodes, retries, answers });
    }
    cases
}

fn answer(text: &str) -> Answer {
    let text = text.trim();
    let end = |end| (text.rfind('<').map_or(text, |at| &text[..at]), end);
    let (bytes, end) = match text.rsplit_once('<').map(|(_, end)| end) {
        Some("hang>") => end(End::Hang),
        Some("reset>") => end(End::Reset),
        Some(more) if more.starts_with("endless:") => {
            let more = more.trim_start_matches("endless:").trim_end_matches('>');
            end(End::Endless(unescape(more).repeat(512)))
        }
        _ => (text, End::Close),
    };
    Answer { bytes: unescape(&expand(bytes)), end }
}

/// Replaces `{200}` and the like, and repeats `{3*text}`.
fn expand(text: &str) -> String {
    let Some((before, rest)) = text.split_once('{') else { return text.to_owned() };
    let (inner, rest) = rest.split_once('}').unwrap();
    let expanded = match inner {
        "200" => r"HTTP/1.1 200 OK\r\n".to_owned(),
        "5" => r"Content-Length: 5\r\n".to_owned(),
        "chunked" => r"Transfer-Encoding: chunked\r\n".to_owned(),
        "chunks" => r"5\r\nhello\r\n0\r\n\r\n".to_owned(),
        _ => {
            let (times, text) = inner.split_once('*').unwrap();
            text.repeat(times.parse().unwrap())
        }
    };
    format!("{before}{expanded}{}", expand(rest))
}

/// Replaces `\r`, `\n`, `\t`, `\0`, `\"`, `\\` and `\x7f`.
fn unescape(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((before, escaped)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let (letter, behind) = escaped.split_at(1);
        rest = behind;
        bytes.push(match letter {
            "r" => b'\r',
            "n" => b'\n',
            "t" => b'\t',
            "0" => 0,
            "\"" | "\\" => letter.as_bytes()[0],
            "x" => {
                let (digits, behind) = rest.split_at(2);
                rest = behind;
                u8::from_str_radix(digits, 16).unwrap()
            }
            _ => panic!("{text}"),
        });
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

#[test]
fn the_notation_of_the_table_is_read() {
    let text = r"{200}X: {3*a\0}\r\n\x7f\\<endless:x>";
    let read = answer(text);
    assert_eq!(read.bytes, b"HTTP/1.1 200 OK\r\nX: a\0a\0a\0\r\n\x7f\\");
    assert_eq!(read.end, End::Endless(vec![b'x'; 512]));
    assert_eq!(answer("<html>").bytes, b"<html>");
}

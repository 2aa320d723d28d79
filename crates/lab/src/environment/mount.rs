//! The mounted file systems, from /proc/self/mountinfo.

use super::tree::Tree;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) id: u64,
    /// major:minor; major 0 means no device.
    pub(super) device: String,
    /// The part of the file system that is mounted.
    pub(super) root: String,
    pub(super) point: String,
    pub(super) options: String,
    pub(super) kind: String,
    pub(super) source: String,
    pub(super) super_options: String,
}

impl Mount {
    /// Fields are separated by spaces; the number of those before the single `-` varies (proc(5)).
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let (left, right): (Vec<&str>, Vec<&str>) =
            (left.split(' ').collect(), right.split(' ').collect());
        Some(Self {
            id: left.first()?.parse().ok()?,
            device: (*left.get(2)?).to_owned(),
            root: unescape(left.get(3)?),
            point: unescape(left.get(4)?),
            options: (*left.get(5)?).to_owned(),
            kind: (*right.first()?).to_owned(),
            source: unescape(right.get(1)?),
            super_options: (*right.get(2)?).to_owned(),
        })
    }

    pub(super) fn all(tree: &Tree) -> Vec<Self> {
        let text = tree.text("proc/self/mountinfo").unwrap_or_default();
        text.lines().filter_map(Self::parse).collect()
    }
}

/// Spaces, tabs, line ends and backslashes are written as `\040` and so on.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) if code.is_ascii() => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            _ => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_taken_apart_at_its_spaces() {
        let line = r"27 1 254:0 /part /with\040space rw,noatime shared:1 master:2 - ext4 /dev/vda rw,discard";
        let mount = Mount::parse(line).unwrap();
        assert_eq!((mount.id, mount.device.as_str(), mount.root.as_str()), (27, "254:0", "/part"));
        assert_eq!((mount.point.as_str(), mount.options.as_str()), ("/with space", "rw,noatime"));
        assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("ext4", "/dev/vda"));
        assert_eq!(mount.super_options, "rw,discard");
        assert_eq!(Mount::parse("27 1 254:0 / / rw ext4 /dev/vda rw"), None);
        assert_eq!(Mount::parse("27 1 254:0 - ext4"), None);
    }

    #[test]
    fn escapes_become_what_they_stand_for() {
        let check = |text, expected: &str| assert_eq!(unescape(text), expected);
        check(r"a\040b\134\011", "a b\\\t");
        check(r"a\", r"a\");
        check(r"a\9990", r"a\9990");
        check(r"\é12", r"\é12");
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in r"(\PC|[ :/\\-]|[0-9]|\\[0-9]{1,3}| - )*") {
            let _ = Mount::parse(&line);
            let _ = unescape(&line);
        }
    }
}

//! Names that are replaced in a text where they are whole words.

use std::collections::BTreeMap;

/// Names, and what stands for each.
#[derive(Default)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// Adds names; `stand_in` gets the number of each, from 1, and the name.
    pub(super) fn extend(&mut self, names: Vec<String>, stand_in: impl Fn(usize, &str) -> String) {
        let mut n = 0;
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            self.0.entry(name).or_insert_with_key(|name| {
                n += 1;
                stand_in(n, name)
            });
        }
    }

    /// What stands for the text, if all of it is a name.
    pub(super) fn whole(&self, text: &str) -> Option<String> {
        self.0.get(text).cloned()
    }

    /// The text with each name replaced, the longest one where several begin. What was put in is
    /// not looked at again.
    pub(super) fn replaced(&self, text: &str) -> String {
        let mut shown = String::new();
        let mut before = None;
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let found = Some(()).filter(|()| !joins(before, first)).and_then(|()| self.first(rest));
            let taken = found.map_or(first.len_utf8(), |(name, _)| name.len());
            shown += found.map_or(&rest[..taken], |(_, stand_in)| stand_in);
            before = rest[..taken].chars().next_back();
            rest = &rest[taken..];
        }
        shown
    }

    /// The longest name with which the text begins, as a whole word.
    fn first(&self, text: &str) -> Option<(&String, &String)> {
        let is_first = |name: &str| {
            let rest = text.strip_prefix(name);
            rest.is_some_and(|rest| {
                !rest.chars().next().is_some_and(|next| joins(name.chars().next_back(), next))
            })
        };
        self.0.iter().filter(|(name, _)| is_first(name)).max_by_key(|(name, _)| name.len())
    }
}

/// Whether two characters belong to one word.
fn joins(a: Option<char>, b: char) -> bool {
    a.is_some_and(char::is_alphanumeric) && b.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_as_whole_words_and_once() {
        let mut names = Names::default();
        let all = ["cat", "cat a", "2", "ada"].map(str::to_owned).to_vec();
        names.extend(all, |n, _| format!("name-{}", n + 1));
        for (text, expected) in [
            ("cat", "name-2"),
            ("'cat a' ended", "'name-3' ended"),
            ("concatenate 12 2.5", "concatenate 12 name-4.5"),
            ("/home/ada/x", "/home/name-5/x"),
            ("é2 2é", "é2 2é"),
            ("", ""),
        ] {
            assert_eq!(names.replaced(text), expected);
        }
        assert_eq!(names.whole("cat a").as_deref(), Some("name-3"));
        assert_eq!(names.whole("cats"), None);
    }
}

//! The names of the rows of a table: whole where there is room, else without what they have in
//! common, and where that does not do, numbers.

use std::collections::BTreeSet;

use unicode_width::UnicodeWidthStr;

use crate::views::rows::{Row, Rows};
use crate::views::words::{escape_controls, shortened};

pub(super) struct RowNames {
    /// In the order of the rows.
    pub(super) texts: Vec<String>,
    /// The lines above the table, by which the names are understood; none where they are whole.
    pub(super) above: Vec<String>,
}

impl RowNames {
    fn fit(&self, width: usize) -> bool {
        self.texts.iter().all(|text| text.width() <= width)
    }
}

/// The names of the rows, at most as wide as this. A table that is drawn again and again has no
/// room for lines above it.
pub(super) fn of_rows(rows: &Rows<'_>, width: usize) -> RowNames {
    let name = |row: &Row<'_>| escape_controls(row.name()).into_owned();
    let whole: Vec<String> = rows.iter().map(name).collect();
    let order: Vec<usize> = rows.iter().map(|row| row.index).collect();
    if rows.left.is_some() {
        let texts = whole.iter().map(|name| shortened(name, width)).collect();
        return RowNames { texts, above: Vec::new() };
    }
    fitting(whole, &order, of_params(rows), width)
}

/// The first of these kinds of names that is at most as wide as this: whole; the values of the
/// params; without the common part; numbers. `order` has the place of each in the run.
pub(super) fn fitting(
    whole: Vec<String>,
    order: &[usize],
    params: Option<RowNames>,
    width: usize,
) -> RowNames {
    let whole = RowNames { texts: whole, above: Vec::new() };
    if whole.fit(width) {
        return whole;
    }
    let shorter = params.into_iter().chain(without_common(&whole.texts));
    let found = shorter.into_iter().find(|names| names.fit(width));
    found.unwrap_or_else(|| numbered(&whole.texts, order))
}

/// `n=1`, if the params of the commands distinguish all rows.
fn of_params(rows: &Rows<'_>) -> Option<RowNames> {
    let parameters = rows.options.parameters?;
    let name = |row: &Row<'_>| {
        let values = parameters.get(row.name()).filter(|values| !values.is_empty())?;
        let values = values.iter().map(|(name, value)| format!("{name}={value}"));
        Some(escape_controls(&values.collect::<Vec<_>>().join(" ")).into_owned())
    };
    let texts: Vec<String> = rows.iter().map(name).collect::<Option<_>>()?;
    let differ = texts.iter().collect::<BTreeSet<_>>().len() == texts.len();
    let first = rows.iter().next()?;
    let above = vec![format!("{}: {}", texts.first()?, escape_controls(first.name()))];
    differ.then_some(RowNames { texts, above })
}

/// The names without the words with which all of them begin, and those with which all of them end.
fn without_common(whole: &[String]) -> Option<RowNames> {
    let words: Vec<Vec<&str>> = whole.iter().map(|name| name.split(' ').collect()).collect();
    let (first, others) = words.split_first().filter(|(_, others)| !others.is_empty())?;
    // At least one word stays of each.
    let most = words.iter().map(Vec::len).min()?.saturating_sub(1);
    let begins = |n: &usize| others.iter().all(|words| words[*n] == first[*n]);
    let begin = (0..most).take_while(begins).count();
    let from_end = |words: &[&str], n: usize| words[words.len() - 1 - n].to_owned();
    let ends = |n: &usize| others.iter().all(|words| from_end(words, *n) == from_end(first, *n));
    let end = (0..most - begin).take_while(ends).count();
    if begin + end == 0 {
        return None;
    }
    let text = |words: &Vec<&str>| {
        let own = words[begin..words.len() - end].join(" ");
        let before = if begin > 0 { "… " } else { "" };
        format!("{before}{own}{}", if end > 0 { " …" } else { "" })
    };
    let common = [&first[..begin], &["…"], &first[first.len() - end..]].concat();
    let above = vec![format!("All are: {}", common.join(" "))];
    Some(RowNames { texts: words.iter().map(text).collect(), above })
}

/// Each name as its number in the run, and above the table which is which.
fn numbered(whole: &[String], order: &[usize]) -> RowNames {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    let number = |index: &usize| sorted.partition_point(|other| other <= index);
    let numbers: Vec<usize> = order.iter().map(number).collect();
    let mut lines: Vec<(usize, &String)> = numbers.iter().copied().zip(whole).collect();
    lines.sort_unstable();
    RowNames {
        texts: numbers.iter().map(usize::to_string).collect(),
        above: lines.iter().map(|(number, name)| format!("{number}: {name}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(whole: &[&str], width: usize, texts: &[&str], above: &[&str]) {
        let whole: Vec<String> = whole.iter().map(|name| (*name).to_owned()).collect();
        let order: Vec<usize> = (0..whole.len()).rev().collect();
        let names = fitting(whole, &order, None, width);
        assert_eq!(names.texts, texts);
        assert_eq!(names.above, above);
    }

    #[test]
    fn names_are_whole_where_there_is_room_and_else_lose_their_common_part() {
        let greps = ["grep ERROR a.log | wc -l", "grep WARN a.log | wc -l"];
        check(&greps, 24, &greps, &[]);
        let above = ["All are: grep … a.log | wc -l"];
        check(&greps, 12, &["… ERROR …", "… WARN …"], &above);
        let above = ["All are: gzip … x"];
        check(&["gzip -c x", "gzip -9 -c x"], 9, &["… -c …", "… -9 -c …"], &above);
    }

    #[test]
    fn where_that_does_not_do_they_are_numbered_as_they_were_given() {
        let above = ["1: second-of-the-names", "2: first-of-the-names"];
        check(&["first-of-the-names", "second-of-the-names"], 6, &["2", "1"], &above);
    }

    #[test]
    fn a_word_of_each_name_stays() {
        let names = without_common(&["a b c".to_owned(), "a b c d".to_owned()]).unwrap();
        assert_eq!(names.texts, ["… c", "… c d"]);
        assert!(without_common(&["a".to_owned(), "b".to_owned()]).is_none());
        assert!(without_common(&["a b".to_owned()]).is_none());
    }
}

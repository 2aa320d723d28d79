//! The unit and the order that a user chose.

use super::fixture::Fixture;
use super::*;

#[test]
fn times_have_the_unit_and_lines_the_order_that_was_chosen() {
    let f = Fixture::reading();
    let layout = PageLayout { width: 120, colour: false };
    let arranged = |time_unit, order| {
        let table = TableOptions { time_unit, order, ..TableOptions::default() };
        text(&f.run, &f.analysis, TextOptions { table, ..ALL_NOTES }, &layout)
    };
    let line = |text: &str, name: &str| {
        let is_of = |line: &&str| line.get(2..).is_some_and(|line| line.starts_with(name));
        let line = text.lines().find(is_of);
        line.unwrap_or_else(|| panic!("{name}: {text}")).to_owned()
    };
    for (unit, wall) in [
        (None, "9.71"),
        (Some(TimeUnit::Second), "0.00971"),
        (Some(TimeUnit::Millisecond), "9.71"),
        (Some(TimeUnit::Microsecond), "9710"),
    ] {
        let line = line(&arranged(unit, RowOrder::Auto), "mmap ");
        assert!(line.split_whitespace().any(|word| word == wall), "{unit:?}: {line}");
        // What is no time keeps its unit.
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(words.contains(&"13.8") && words.contains(&"133"), "{line}");
    }
    let names = ["read ", "mmap ", "mmap-window", "read-4k", "buf-reader", "pread-threads"];
    let ordered = arranged(None, RowOrder::Command);
    let places = names.map(|name| ordered.find(&line(&ordered, name)).unwrap());
    assert!(places.is_sorted(), "{ordered}");
    assert_eq!(arranged(None, RowOrder::MeanTime), arranged(None, RowOrder::Auto));
    assert_ne!(arranged(None, RowOrder::Auto), ordered);
}

//! Deltas as JSON: what is created applies to what it was made of, and the original's examples.

use fleece_codec::{Doc, Encoder, ErrorKind, json};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::suites::decoded;
use crate::{data, table};

fn document(value: &Json) -> Doc<Vec<u8>> {
    Doc::check(json::to_fleece(value.to_string().as_bytes()).unwrap()).unwrap()
}

fn applied(old: &Json, delta: &Json) -> fleece_codec::Result<Json> {
    let new = json::apply_delta(document(old).root(), delta.to_string().as_bytes())?;
    Ok(fleece_codec::from_slice(&new).unwrap())
}

#[test]
fn the_examples_of_the_original_apply() {
    let wound = "to wound the autumnal city. So howled out for the world to give him a name.  The in-dark answered with the wind.";
    let bobby = json!({"age": 8, "grade": 3, "name": {"first": "Bobby", "last": "Briggs"}});
    for (old, delta, new) in [
        (
            bobby,
            json!({"age": 18, "grade": [], "name": {"first": "Robert"}}),
            json!({"age": 18, "name": {"first": "Robert", "last": "Briggs"}}),
        ),
        (json!("The fog"), json!(["4=1-1+d|2=", 0, 2]), json!("The dog")),
        (json!({"a": 1}), json!({"a": [[1]], "b": [{"c": 2}]}), json!({"a": [1], "b": {"c": 2}})),
        (json!([1, 2]), json!({}), json!([1, 2])),
        (json!([1, 2, 3]), json!({"1": 9}), json!([1, 9, 3])),
        (json!([1, 2, 3]), json!({"3-": [4]}), json!([1, 2, 3, 4])),
        (json!([1, 2, 3]), json!({"2-": []}), json!([1, 2])),
        (json!([1, 2, 3]), json!({"0": 0, "1-": [5, [6]]}), json!([0, 5, [6]])),
        (json!([1, 2]), json!({"0-": []}), json!([])),
        (json!([]), json!({"0-": [1]}), json!([1])),
        (json!({"a": [5, 6]}), json!({"a": {"1": 7}}), json!({"a": [5, 7]})),
        (
            json!([[1, 2], {"a": 1}]),
            json!({"0": {"1": [[]]}, "1": {"a": []}}),
            json!([[1, []], {}]),
        ),
        (json!(["The fog"]), json!({"0": ["4=1-1+d|2=", 0, 2]}), json!(["The dog"])),
        (
            json!((0..12).collect::<Vec<i64>>()),
            json!({"10": [{"x": 1}], "11-": []}),
            json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, {"x": 1}]),
        ),
        (
            json!(wound),
            json!(["1-1+T|12=5-4+eter|13=3+he |37=1-3+its|6=1-27=4-5=", 0, 2]),
            json!(
                "To wound the eternal city. So he howled out for the world to give him its name. The in-dark answered with wind."
            ),
        ),
    ] {
        assert_eq!(applied(&old, &delta).unwrap(), new, "{delta}");
    }
}

#[test]
fn a_delta_that_does_not_fit_is_an_error() {
    for (old, delta) in [
        (json!([1]), json!({"1": 2})),
        (json!([1]), json!({"00": 2})),
        (json!([1]), json!({"+0": 2})),
        (json!([1]), json!({"a": 2})),
        (json!([1]), json!({"-": []})),
        (json!([1]), json!({"2-": []})),
        (json!([1]), json!({"0-": 2})),
        (json!([1, 2]), json!({"0-": [], "1": 2})),
        (json!([1, 2]), json!({"0-": [], "1-": []})),
        (json!([1]), json!({"0": {"a": 2}})),
        (json!({"a": 1}), json!({"a": {"b": 2}})),
        (json!({}), json!({"a": {"b": 2}})),
        (json!("text"), json!(["3=", 0, 2])),
        (json!("text"), json!(["5=", 0, 2])),
        (json!("text"), json!(["4=2+a|", 0, 2])),
        (json!("text"), json!(["4=3+a|b", 0, 2])),
        (json!("text"), json!(["4", 0, 2])),
        (json!("text"), json!(["4*", 0, 2])),
        (json!("\u{e9}xt"), json!(["1=3-", 0, 2])),
        (json!("text"), json!([1, 2])),
        (json!("text"), json!([1, 2, 3])),
    ] {
        let error = applied(&old, &delta).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongType, "{old} {delta}: {error}");
    }
    let error = json::apply_delta(document(&json!(1)).root(), b"[1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Syntax);
}

#[test]
fn an_array_has_a_delta_of_its_items_as_the_original_makes_it() {
    for (old, new, expected) in [
        (json!([1, 2, 3]), json!([1, 9, 3]), json!({"1": 9})),
        (json!([1, 2, 3]), json!([1, 2, 3, 4]), json!({"3-": [4]})),
        (json!([1, 2, 3]), json!([1, 2]), json!({"2-": []})),
        (json!([1, 2, 3]), json!([9, 2]), json!({"0": 9, "2-": []})),
        (json!([[1], [2]]), json!([[1], [3]]), json!({"1": {"0": 3}})),
        (json!([1]), json!([[2]]), json!({"0": [[2]]})),
        (json!([{"b": 1, "c": 2}]), json!([{"b": 1}]), json!({"0": {"c": []}})),
        (json!({"a": [1, 2]}), json!({"a": [1, 3]}), json!({"a": {"1": 3}})),
        // Of an array of which nothing stays, or nothing was there, all is written.
        (json!([1]), json!([]), json!([[]])),
        (json!([]), json!([1]), json!([[1]])),
    ] {
        let delta = json::create_delta(document(&old).root(), document(&new).root()).unwrap();
        let delta: Json = serde_json::from_str(&delta).unwrap();
        assert_eq!(delta, expected, "{old} {new}");
        assert_eq!(applied(&old, &delta).unwrap(), new, "{old} {delta}");
    }
}

#[test]
fn values_that_are_nested_deeply_have_a_delta_whatever_the_stack() {
    let nested = |(open, close): (&str, &str), levels: usize, inner: &str| {
        [open.repeat(levels).as_str(), inner, close.repeat(levels).as_str()].concat()
    };
    let work = move || {
        for (levels, brackets, of_delta) in [
            (10, ("[", "]"), "{\"0\":"),
            (64, ("[", "]"), "{\"0\":"),
            (200, ("[", "]"), "{\"0\":"),
            (511, ("[", "]"), "{\"0\":"),
            (511, ("{\"k\":", "}"), "{\"k\":"),
        ] {
            let [old, new] = ["{\"a\":1}", "{\"a\":[[2]]}"].map(|inner| {
                // What is changed has two levels less below it.
                let text = nested(brackets, levels - 2, inner);
                Doc::check(json::to_fleece(text.as_bytes()).unwrap()).unwrap()
            });
            let delta = json::create_delta(old.root(), new.root()).unwrap();
            assert_eq!(delta, nested((of_delta, "}"), levels - 2, "{\"a\":[[[2]]]}"), "{levels}");
            let made = json::apply_delta(old.root(), delta.as_bytes()).unwrap();
            assert_eq!(Doc::open(made).unwrap().root(), new.root(), "{levels}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(work);
    thread.unwrap().join().unwrap();
}

#[test]
fn values_that_are_nested_too_deeply_have_none() {
    let deep = |inner: i64| {
        let mut encoder = Encoder::new();
        (0..600).for_each(|_| encoder.begin_array());
        encoder.write_i64(inner);
        (0..600).for_each(|_| encoder.end_array());
        Doc::open(encoder.finish().unwrap()).unwrap()
    };
    let error = json::create_delta(deep(1).root(), deep(2).root()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooDeep);
    let delta = "{\"0\":".repeat(514) + "1" + &"}".repeat(514);
    let error = json::apply_delta(deep(1).root(), delta.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooDeep);
}

/// The deltas of the original's tests: the values, what it makes of them, and what is made here if
/// that differs, with the reason. Texts of which only the lengths matter are shortened.
#[test]
fn the_deltas_of_the_original_apply_and_most_are_made_as_it_makes_them() {
    let rows = table("suites/deltas.tsv");
    let mut same = 0;
    for row in &rows {
        let [group, old, new, theirs, ours, reason] = row.as_slice() else { panic!("{row:?}") };
        assert_eq!(ours.is_empty(), reason.is_empty(), "{group}: a reason where it differs");
        same += usize::from(ours.is_empty());
        let value = |text: &str| -> Json { serde_json::from_slice(&decoded(text)).unwrap() };
        let expected = value(if ours.is_empty() { theirs } else { ours });
        let [old, new, theirs] = [old, new, theirs].map(|text| value(text));
        let made = json::create_delta(document(&old).root(), document(&new).root()).unwrap();
        let made: Json = serde_json::from_str(&made).unwrap();
        assert_eq!(made, expected, "{group}: {old} {new}");
        for delta in [theirs, made] {
            assert_eq!(applied(&old, &delta).unwrap(), new, "{group}: {old} {delta}");
        }
    }
    let readme = String::from_utf8(data("../../README.md")).unwrap();
    let row = format!("| deltas, `deltas.tsv` | {0} | {0} | {same} | 0 |", rows.len());
    assert!(readme.contains(&row), "README.md has no row {row}");
}

fn any_json() -> impl Strategy<Value = Json> {
    let text = prop_oneof!["[ab\u{e9}]{0,3}", "[ab\u{e9}\u{1F600}]{58,64}"];
    let scalar = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-3..3_i64).prop_map(Json::from),
        text.prop_map(Json::from),
    ];
    scalar.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|pairs| Json::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_created_delta_can_be_applied(old in any_json(), new in any_json()) {
        let delta = json::create_delta(document(&old).root(), document(&new).root()).unwrap();
        let delta: Json = serde_json::from_str(&delta).unwrap();
        prop_assert_eq!(&applied(&old, &delta).unwrap(), &new, "{}", delta);
        prop_assert_eq!(delta == json!({}), old == new);
    }

    #[test]
    fn a_text_that_changes_little_has_a_short_delta(
        start in "[a\u{e9}]{0,80}", gone in "[b\u{1F600}]{0,4}", come in "[c\u{e9}]{0,4}", end in "[a\u{e9}]{60,80}",
    ) {
        let (old, new) = (json!(format!("{start}{gone}{end}")), json!(format!("{start}{come}{end}")));
        let delta = json::create_delta(document(&old).root(), document(&new).root()).unwrap();
        prop_assert!(delta.len() <= 48, "{}", delta);
        let delta: Json = serde_json::from_str(&delta).unwrap();
        prop_assert_eq!(applied(&old, &delta).unwrap(), new);
    }

    #[test]
    fn any_delta_is_applied_or_refused(old in any_json(), delta in any_json()) {
        let _ = applied(&old, &delta);
    }
}

//! Amendments: the deltas that the original wrote, appended and extern.

use crate::vector;
use fleece_codec::{CheckOptions, Doc, Edit, Encoder, fleece, json};
use std::sync::Arc;

/// Edits the base of a vector and compares both forms of delta with the original's.
fn check(name: &str, change: impl Fn(&mut Edit<'_>)) {
    let base: Arc<[u8]> = vector(&format!("{name}.base")).into();
    let doc = Doc::check(base.clone()).unwrap();
    let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
    change(&mut edit);

    let mut encoder = Encoder::amend_append(base.clone()).unwrap();
    encoder.write_edit(&edit).unwrap();
    let appended = [&base, &encoder.finish().unwrap()[..]].concat();
    assert!(appended == vector(&format!("{name}_appended")), "{name}: {appended:02x?}");

    let mut encoder = Encoder::amend_extern(base.clone()).unwrap();
    encoder.write_edit(&edit).unwrap();
    let delta = encoder.finish().unwrap();
    assert!(delta == vector(&format!("{name}_extern")), "{name}: {delta:02x?}");

    let apart = CheckOptions::new().base(base).check(delta).unwrap();
    let together = Doc::check(appended).unwrap();
    assert_eq!(apart.root(), together.root());
}

#[test]
fn a_changed_key_is_the_same() {
    check("api_delta_change", |edit| edit.set("age", 9));
}

#[test]
fn a_removed_and_an_added_key_are_the_same() {
    check("api_delta_remove", |edit| {
        edit.remove("breed");
        edit.set("color", "brown");
    });
}

#[test]
fn nested_changes_are_the_same() {
    check("api_delta_nested", |edit| {
        edit.entry("owner").set("last", "Smith");
        edit.entry("tags").push("wise");
    });
}

#[test]
fn a_dict_of_which_nothing_is_left_is_the_same() {
    check("api_delta_all", |edit| {
        for key in ["age", "breed", "name", "owner", "tags", "weight"] {
            edit.remove(key);
        }
        edit.set("x", 1);
    });
}

#[test]
fn generations_are_the_same() {
    let expected = vector("api_delta_generations");
    let mut document = vector("api_delta_change.base");
    for generation in 0..4 {
        let base: Arc<[u8]> = document.clone().into();
        let doc = Doc::check(base.clone()).unwrap();
        let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
        edit.set(&format!("gen{generation}"), generation);
        if generation == 2 {
            edit.remove("age");
        }
        let mut encoder = Encoder::amend_append(base.clone()).unwrap();
        encoder.write_edit(&edit).unwrap();
        document = [&base, &encoder.finish().unwrap()[..]].concat();
    }
    let ours = Doc::check(document).unwrap();
    let theirs = Doc::check(expected).unwrap();
    assert_eq!(json::to_string(ours.root()).unwrap(), json::to_string(theirs.root()).unwrap());
    assert_eq!(ours.as_bytes(), theirs.as_bytes());
}

#[test]
fn an_edit_without_changes_is_one_pointer() {
    let base: Arc<[u8]> = vector("api_delta_nested.base").into();
    let doc = Doc::check(base.clone()).unwrap();
    let edit = Edit::from_dict(doc.root().as_dict().unwrap());
    let mut encoder = Encoder::amend_extern(base.clone()).unwrap();
    encoder.write_edit(&edit).unwrap();
    let delta = encoder.finish().unwrap();
    assert_eq!(delta.len(), 2);
    assert_eq!(CheckOptions::new().base(base).check(delta).unwrap().root(), doc.root());
}

#[test]
fn strings_of_the_base_are_written_again_if_they_are_not_reused() {
    let base: Arc<[u8]> = fleece!({"age": 7, "name": "a text", "size": 1}).into();
    let doc = Doc::check(base.clone()).unwrap();
    let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
    edit.set("age", "a text");
    let amendment = |reuse| {
        let mut encoder = Encoder::amend_append(base.clone()).unwrap();
        encoder.set_reuse_base_strings(reuse);
        let [first, second] = [(); 2].map(|()| {
            encoder.write_edit(&edit).unwrap();
            encoder.finish().unwrap()
        });
        assert_eq!(first, second);
        let amended = Doc::check([&base, &first[..]].concat()).unwrap();
        let text = json::to_string(amended.root()).unwrap();
        assert_eq!(text, r#"{"age":"a text","name":"a text","size":1}"#);
        first.len()
    };
    // The key and the text, each with its header.
    assert_eq!(amendment(true) + 4 + 8, amendment(false));
}

//! JSON text: values, limits, and where an error is. What is accepted is in `suites`.

use fleece_codec::json::{self, ParseOptions, PrintOptions, to_fleece};
use fleece_codec::{Doc, Encoder, ErrorKind, SharedKeys, fleece};
use std::sync::Arc;

fn printed(text: &str) -> String {
    let doc = Doc::check(to_fleece(text.as_bytes()).unwrap()).unwrap();
    json::to_string(doc.root()).unwrap()
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    let not_utf8: [&[u8]; 4] =
        [b"\"\xff\"", b"\"a long string, then \xc3\"", b"\"\\n\xe2\x82\"", b"{\"\xff\":1}"];
    for text in not_utf8 {
        assert_eq!(to_fleece(text).unwrap_err().kind(), ErrorKind::BadUtf8);
        let padded = [text, &[b' '; 40]].concat();
        assert_eq!(to_fleece(&padded).unwrap_err().kind(), ErrorKind::BadUtf8);
    }
}

#[test]
fn errors_say_where() {
    let check = |text: &str, line, column, message: &str| {
        let error = to_fleece(text.as_bytes()).unwrap_err();
        assert_eq!(error.line_column(), Some((line, column)), "{text}");
        assert!(error.to_string().starts_with(message), "{text}: {error}");
    };
    check("", 1, 1, "expected a value, found the end");
    check("[1,\n\n  x]", 3, 3, "expected a value, found `x`");
    check("{\"a\" 1}", 1, 6, "expected `:`, found `1`");
    check("{\"a\":1 \"b\"}", 1, 8, "expected `,` or `}`, found `\"`");
    check("[1 2]", 1, 4, "expected `,` or `]`, found `2`");
    check("[1]\u{1}", 1, 4, "expected the end, found byte 0x01");
    check("\n\"abc\\q\"", 2, 5, "an escape that is none");
    check("\"\\u12\"", 1, 2, "an escape that is none");
    check("\"\\ud83d\\u00\"", 1, 8, "an escape that is none");
    for half in ["\\ud800", "\\uDC00", "\\ud800\\u0041", "\\ud800\\ud800\\udc00", "\\ud800x"] {
        check(&format!("[\"a{half}\"]"), 1, 4, "half of a surrogate pair, which is no character");
    }
    check("[1.x]", 1, 4, "expected a number, found `x`");
    check("[1,01]", 1, 5, "expected a number, found `1`");
}

#[test]
fn numbers_keep_their_value() {
    let check = |text: &str, expected: &str| assert_eq!(printed(text), expected, "{text}");
    check("18446744073709551615", "18446744073709551615");
    check("18446744073709551616", "1.8446744073709552e+19");
    check("-9223372036854775808", "-9223372036854775808");
    check("-9223372036854775809", "-9.223372036854776e+18");
    check("-18446744073709551615", "-1.8446744073709552e+19");
    check("0.00000000000000000000000005", "5e-26");
}

#[test]
fn depth_is_limited() {
    let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
    assert!(to_fleece(nested(512).as_bytes()).is_ok());
    assert_eq!(to_fleece(nested(513).as_bytes()).unwrap_err().kind(), ErrorKind::TooDeep);
    let mut encoder = Encoder::new();
    let options = ParseOptions::new().depth_limit(1_000_000);
    json::encode(nested(1_000_000).as_bytes(), &mut encoder, &options).unwrap();
    assert!(Doc::open(encoder.finish().unwrap()).is_ok());
}

#[test]
fn pretty_text_reads_back() {
    let bytes = fleece!({"a": [1, {"b": null}, [], {}], "c": "x\"y"});
    let doc = Doc::check(bytes.clone()).unwrap();
    let text = PrintOptions::new().pretty(2).print(doc.root()).unwrap();
    let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    },\n    [],\n    {}\n  ],\n  \"c\": \"x\\\"y\"\n}";
    assert_eq!(text, expected);
    assert_eq!(to_fleece(text.as_bytes()).unwrap(), bytes);
}

#[test]
fn shared_keys_apply_to_json_too() {
    let mut encoder = Encoder::new();
    encoder.set_shared_keys(SharedKeys::new());
    let text = br#"[{"zip": 1, "a key that is too long": 2}, {"zip": 3}]"#;
    json::encode(text, &mut encoder, &ParseOptions::new()).unwrap();
    let keys = Arc::new(encoder.take_shared_keys().unwrap());
    let bytes = encoder.finish().unwrap();
    assert_eq!(keys.len(), 1);
    assert!(json::to_string(Doc::check(&bytes).unwrap().root()).is_err());
    let doc = Doc::check(&bytes).unwrap().with_shared_keys(keys);
    assert_eq!(doc.root().path("[1].zip").unwrap().as_i64(), Some(3));
    assert_eq!(
        PrintOptions::new().canonical().print(doc.root()).unwrap(),
        r#"[{"a key that is too long":2,"zip":1},{"zip":3}]"#
    );
}

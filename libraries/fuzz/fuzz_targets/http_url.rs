//! Any text as a URL and as a redirect from there: no panic; it stays within HTTP, never leaves
//! https, and nothing gets into the request that ends a line of it.
#![no_main]

use byte_stream::fuzz::{RequestTarget, url};
use libfuzzer_sys::fuzz_target;

fn check(target: &RequestTarget) {
    let is_plain = |text: &str| text.bytes().all(|byte| byte > b' ' && byte != 0x7f);
    assert!(is_plain(&target.authority) && is_plain(&target.target), "{target:?}");
    assert!(target.target.starts_with(['/', '?']), "{target:?}");
    assert!(!target.host.is_empty() && !target.host.contains(['@', '/', '?', '#']), "{target:?}");
    assert!(target.authority.trim_start_matches('[').starts_with(&target.host), "{target:?}");
}

fuzz_target!(|texts: (&str, &[u8])| {
    let Some((first, next)) = url(texts.0, texts.1) else { return };
    check(&first);
    if let Some(next) = next {
        check(&next);
        assert!(next.secure || !first.secure, "{texts:?}");
    }
});

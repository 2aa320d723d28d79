//! Any text as a netrc file: no panic; and an entry in front of it is found as it was written.
#![no_main]

use byte_stream::fuzz::credentials;
use libfuzzer_sys::fuzz_target;

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fuzz_target!(|texts: (&str, &str, &str, &str)| {
    let (file, host, login, password) = texts;
    let _ = credentials(file, host);
    let [name, user, secret] = [host, login, password].map(quoted);
    let entry = format!("machine {name} login {user} password {secret}\nmachine other\n{file}");
    // The rest of the file is not read.
    let expected = format!("{login}:{password}").into_bytes();
    assert_eq!(credentials(&entry, host), Some(Some(expected)), "{texts:?}");
});

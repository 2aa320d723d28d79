//! Tests of where the store is, and of what each store must do.

#[cfg(feature = "postgres")]
pub mod server;
pub mod suite;

use super::*;

fn check(flag: Option<&str>, variables: &[(&str, &str)], expected: &str) {
    let variable = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
    };
    let got = match locate(flag.map(Into::into), variable) {
        Ok(Location::File(path)) => path.display().to_string(),
        Ok(Location::Server(server)) => server.to_string(),
        Err(error) => format!("{error:#}"),
    };
    assert_eq!(got, expected);
}

#[test]
fn the_flag_is_first_then_the_variable_then_the_data_directory() {
    let all = [("BYTELAB_STORE", "v"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
    check(Some("f"), &all, "f");
    check(None, &all, "v");
    check(None, &all[1..], "/x/bytelab/runs.sqlite");
    check(None, &all[2..], "/h/.local/share/bytelab/runs.sqlite");
}

#[test]
fn empty_variables_and_relative_data_directories_are_ignored() {
    let odd = [("BYTELAB_STORE", ""), ("XDG_DATA_HOME", "x"), ("HOME", "/h")];
    check(None, &odd, "/h/.local/share/bytelab/runs.sqlite");
}

#[test]
fn a_store_that_cannot_be_located_says_what_to_do() {
    check(Some(""), &[], "--store is empty: name a file");
    check(
        None,
        &[("HOME", "")],
        "no place for the store: neither HOME nor XDG_DATA_HOME is set; name a file with --store",
    );
}

#[test]
fn a_url_is_a_server() {
    check(Some("postgres://me:secret@host/db"), &[], "postgres://host/db");
    check(None, &[("BYTELAB_STORE", "postgresql://host/db")], "postgres://host/db");
}

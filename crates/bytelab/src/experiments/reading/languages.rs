//! Methods in other languages: workers, of which the best of each language competes by default.

use lab::experiment::{How, Method};
use lab::run::Role;

/// Of `workers/LANGUAGE`: what stands in front of its methods' names, and the methods, the best one first.
const LANGUAGES: &[(&str, &[(&str, &str)])] = &[(
    "c",
    &[
        ("read", "C: read into a reused buffer"),
        ("fread", "C: fread into a reused buffer"),
        ("getc", "C: getc, one byte after the other"),
        ("mmap", "C: the whole file mapped"),
    ],
)];

pub(super) fn methods() -> Vec<Method> {
    let of_language = |(language, methods): &(&str, &[(&str, &str)])| {
        let methods = methods.iter().enumerate();
        let methods = methods.map(|(i, (name, about))| method(language, name, about, i == 0));
        methods.collect::<Vec<Method>>()
    };
    LANGUAGES.iter().flat_map(of_language).collect()
}

fn method(language: &str, name: &str, about: &str, is_best: bool) -> Method {
    let argv = [format!("{{workers/{language}}}"), "reading".to_owned(), name.to_owned()];
    Method {
        name: format!("{language}-{name}"),
        about: about.to_owned(),
        reads: vec!["size", "file", "parallel", "buffer"],
        how: How::Worker { argv: argv.to_vec() },
        role: Role::Contender,
        bypasses_cache: false,
        // All of them are many; --language asks for them.
        default: is_best,
        job: None,
    }
}

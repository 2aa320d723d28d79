//! Any bytes as what another program measured, in each format: no panic; an error of one line, or a
//! run that can be analyzed, is finite throughout, and is the same when it is read back from our
//! own document.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::run::Run;
use report::import::{self, FORMATS, ImportFormat, ImportedFile};

const SOURCE: ImportedFile<'static> = ImportedFile { file: "f", written: "2026-01-02T03:04:05Z" };

fn check(run: &Run) {
    let analysis = analysis::analyze(run);
    assert_eq!(analysis.cells.len(), run.cells.len());
    for column in run.cells.iter().flat_map(|cell| cell.values.values()) {
        assert!(column.iter().all(|value| !value.is_infinite()));
    }
    let text = serde_json::to_vec(run).expect("a run is a document");
    let back = import::file(ImportFormat::Json, &text, &SOURCE).expect("our own document is read");
    assert_eq!(serde_json::to_vec(&back).expect("a run is a document"), text);
}

fuzz_target!(|bytes: &[u8]| {
    let _ = import::guess(bytes);
    for (_, format, _) in FORMATS {
        match import::file(format, bytes, &SOURCE) {
            Ok(run) => check(&run),
            Err(error) => assert!(!format!("{error:#}").contains('\n'), "{error:#}"),
        }
    }
    // Criterion's are several files, here divided by NUL.
    let mut parts = bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    let names = ["benchmark.json", "sample.json", "estimates.json", "raw.csv"];
    let files = names.iter().filter_map(|name| Some((format!("a/new/{name}"), parts.next()?)));
    if let Ok(run) = import::folder(&files.filter(|(_, text)| !text.is_empty()).collect(), &SOURCE) {
        check(&run);
    }
});

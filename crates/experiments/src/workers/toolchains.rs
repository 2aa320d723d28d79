//! The languages: the sources and commands of each worker. Plain data; a new language is a new
//! entry.

use super::toolchain::{BuildDirectory, Library, Program, Tool, Toolchain};

/// Paths from the root of the repository, where the sources have the same relative paths; after
/// `in` that of the package, where it is another one.
macro_rules! sources {
    ($($path:literal $(in $own:literal)?),* $(,)?) => { &[$(($path, source!($path $($own)?))),*] };
}

macro_rules! source {
    ($path:literal) => {
        include_str!(concat!("../../embedded/", $path))
    };
    ($path:literal $own:literal) => {
        include_str!(concat!("../../", $own))
    };
}

/// A tool that prints its version when it is called with one argument.
const fn tool(names: &'static [&'static str], version: &'static [&'static str]) -> Tool {
    Tool::Program(Program { names, version, path: &[] })
}

pub(super) const TOOLCHAINS: &[Toolchain] = &[
    RUST,
    RUST_HTTP,
    RUST_AWAITING,
    C,
    C_HTTP,
    CPP,
    CPP_SIMDJSON,
    CPP_YYJSON,
    GO,
    GO_HTTP,
    JAVA,
    JAVA_JSON,
    PYTHON,
    PYTHON_JSON,
    NODE,
    HASKELL,
    HASKELL_PLAIN,
    HASKELL_HTTP,
    SWIFT,
];

/// A worker that is one program in the directory of its build output.
const PROGRAM: Toolchain = Toolchain {
    name: "",
    language: "",
    tools: &[],
    install: "",
    sources: &[],
    build: &[],
    more: &[],
    run: &["{out}/worker"],
    levels: &[],
    build_directory: BuildDirectory::Fresh,
};

/// Contenders with large dependencies; cargo detects best which build output a changed source or
/// compiler makes stale.
const RUST: Toolchain = Toolchain {
    name: "rust",
    language: "rust",
    tools: &[tool(&["cargo"], &["--version"])],
    install: "install Rust (https://rustup.rs)",
    sources: sources![
        "rust-toolchain.toml",
        "workers/rust/Cargo.toml" in "embedded/workers/rust/manifest.toml",
        "workers/rust/Cargo.lock",
        "workers/rust/src/main.rs",
        "workers/rust/src/protocol.rs",
        "workers/rust/src/simd.rs",
        "workers/rust/src/sonic.rs",
        "workers/rust/src/tagged.rs",
        "workers/rust/src/serde_typed.rs",
        "workers/rust/src/typed.rs",
        "workers/rust/src/rkyv.rs",
        "workers/rust/src/flat.rs",
        "workers/rust/src/person_generated.rs",
        "crates/experiments/src/decoding/jobs.rs" in "src/decoding/jobs.rs",
        "crates/experiments/src/decoding/typed.rs" in "src/decoding/typed.rs",
    ],
    build: &[&[
        "{cargo}",
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--target-dir",
        "{out}/target",
    ]],
    more: &["--manifest-path", "{src}/workers/rust/Cargo.toml"],
    run: &["{out}/target/release/bytelab-worker"],
    build_directory: BuildDirectory::Kept,
    ..PROGRAM
};

/// Separate from the others: decoding needs no HTTP client, and HTTP needs no decoders.
const RUST_HTTP: Toolchain = Toolchain {
    name: "rust/http",
    sources: sources![
        "rust-toolchain.toml",
        "workers/rust/src/protocol.rs",
        "workers/rust/http/Cargo.toml" in "embedded/workers/rust/http/manifest.toml",
        "workers/rust/http/Cargo.lock",
        "workers/rust/http/src/main.rs",
        "workers/rust/http/src/jobs.rs",
        "workers/rust/http/src/atto.rs",
        "workers/rust/http/src/hyper.rs",
        "workers/rust/http/src/reqwest.rs",
        "workers/rust/http/src/ureq.rs",
        "crates/experiments/src/shared/fold.rs" in "src/shared/fold.rs",
    ],
    more: &["--manifest-path", "{src}/workers/rust/http/Cargo.toml"],
    run: &["{out}/target/release/bytelab-http"],
    ..RUST
};

/// Two builds of one program. It has no dependencies, so that it needs no network.
const RUST_AWAITING: Toolchain = Toolchain {
    name: "rust/awaiting",
    sources: sources![
        "rust-toolchain.toml",
        "workers/rust/src/protocol.rs",
        "workers/rust/awaiting/Cargo.toml" in "embedded/workers/rust/awaiting/manifest.toml",
        "workers/rust/awaiting/Cargo.lock",
        "workers/rust/awaiting/src/lib.rs",
        "workers/rust/awaiting/src/stream.rs",
        "workers/rust/awaiting/src/main.rs",
        "workers/rust/awaiting/src/jobs.rs",
        "workers/rust/awaiting/src/tasks.rs",
        "crates/experiments/src/shared/fold.rs" in "src/shared/fold.rs",
    ],
    build: &[&[
        "{cargo}",
        "build",
        "--profile",
        "{level}",
        "--locked",
        "--quiet",
        "--target-dir",
        "{out}/target",
    ]],
    more: &["--manifest-path", "{src}/workers/rust/awaiting/Cargo.toml"],
    run: &["{out}/target/{level}/bytelab-awaiting"],
    levels: &["O3", "O0"],
    ..RUST
};

const C: Toolchain = Toolchain {
    name: "c",
    language: "c",
    tools: &[tool(&["cc", "gcc", "clang"], &["--version"])],
    install: "install a C compiler (Debian: apt install gcc libc6-dev)",
    sources: sources!["workers/c/worker.c"],
    build: &[&["{cc}", "-{level}", "-o", "{out}/worker", "{src}/workers/c/worker.c", "-pthread"]],
    levels: &["O3", "O0", "O1", "O2"],
    ..PROGRAM
};

/// The same program with libcurl.
const C_HTTP: Toolchain = Toolchain {
    name: "c/http",
    tools: &[
        tool(&["cc", "gcc", "clang"], &["--version"]),
        Tool::Library(Library {
            name: "libcurl",
            headers: &["curl/curlver.h"],
            version: "LIBCURL_VERSION",
            at_least: [7, 60],
        }),
    ],
    install: "install a C compiler and libcurl (Debian: apt install gcc libcurl4-openssl-dev)",
    more: &["-DWITH_CURL", "-lcurl"],
    ..C
};

const CPP_COMPILER: Tool = tool(&["c++", "g++", "clang++"], &["--version"]);

const CPP: Toolchain = Toolchain {
    name: "cpp",
    language: "cpp",
    tools: &[CPP_COMPILER],
    install: "install a C++ compiler (Debian: apt install g++)",
    sources: sources!["workers/cpp/protocol.hpp", "workers/cpp/worker.cpp"],
    build: &[&["{c++}", "-std=c++17", "-{level}", "-o", "{out}/worker"]],
    more: &["{src}/workers/cpp/worker.cpp", "-pthread"],
    levels: &["O3", "O0", "O1", "O2"],
    ..PROGRAM
};

/// Debian 13 has these versions of simdjson and yyjson. Older ones are not measured, so that the
/// figures of two machines are of similar versions.
const CPP_SIMDJSON: Toolchain = Toolchain {
    name: "cpp/simdjson",
    tools: &[
        CPP_COMPILER,
        Tool::Library(Library {
            name: "simdjson",
            headers: &["simdjson/simdjson_version.h", "simdjson.h"],
            version: "SIMDJSON_VERSION",
            at_least: [3, 10],
        }),
    ],
    install: "install a C++ compiler and simdjson (Debian 13: apt install g++ libsimdjson-dev)",
    sources: sources![
        "workers/cpp/protocol.hpp",
        "workers/cpp/json/decoding.hpp",
        "workers/cpp/json/simdjson.cpp",
    ],
    more: &["{src}/workers/cpp/json/simdjson.cpp", "-lsimdjson"],
    ..CPP
};

const CPP_YYJSON: Toolchain = Toolchain {
    name: "cpp/yyjson",
    tools: &[
        CPP_COMPILER,
        Tool::Library(Library {
            name: "yyjson",
            headers: &["yyjson.h"],
            version: "YYJSON_VERSION_STRING",
            at_least: [0, 10],
        }),
    ],
    install: "install a C++ compiler and yyjson (Debian 13: apt install g++ libyyjson-dev)",
    sources: sources![
        "workers/cpp/protocol.hpp",
        "workers/cpp/json/decoding.hpp",
        "workers/cpp/json/yyjson.cpp",
    ],
    more: &["{src}/workers/cpp/json/yyjson.cpp", "-lyyjson"],
    ..CPP
};

const GO: Toolchain = Toolchain {
    name: "go",
    language: "go",
    tools: &[tool(&["go"], &["version"])],
    install: "install Go (https://go.dev/dl, Debian: apt install golang)",
    sources: sources!["workers/go/worker.go", "workers/go/decoding.go", "workers/go/loading.go"],
    build: &[&[
        "{go}",
        "build",
        "-o",
        "{out}/worker",
        "{src}/workers/go/worker.go",
        "{src}/workers/go/decoding.go",
        "{src}/workers/go/loading.go",
    ]],
    ..PROGRAM
};

/// The same program with net/http.
const GO_HTTP: Toolchain = Toolchain {
    name: "go/http",
    sources: sources![
        "workers/go/worker.go",
        "workers/go/decoding.go",
        "workers/go/loading.go",
        "workers/go/http.go"
    ],
    more: &["{src}/workers/go/http.go"],
    ..GO
};

const JAVA_COMPILER: Tool = tool(&["javac"], &["--version"]);
const JAVA_PROGRAM: Tool = tool(&["java"], &["--version"]);

const JAVA: Toolchain = Toolchain {
    name: "java",
    language: "java",
    tools: &[JAVA_COMPILER, JAVA_PROGRAM],
    install: "install a JDK (Debian: apt install default-jdk-headless)",
    sources: sources!["workers/java/Protocol.java", "workers/java/Worker.java"],
    build: &[&[
        "{javac}",
        "-d",
        "{out}",
        "{src}/workers/java/Protocol.java",
        "{src}/workers/java/Worker.java",
    ]],
    run: &["{java}", "-cp", "{out}", "Worker"],
    ..PROGRAM
};

/// Jackson, of the versions that `pom.xml` names.
const JAVA_JSON: Toolchain = Toolchain {
    name: "java/json",
    tools: &[JAVA_COMPILER, JAVA_PROGRAM, tool(&["mvn"], &["--version"])],
    install: "install a JDK and Maven (Debian: apt install default-jdk-headless maven)",
    sources: sources![
        "workers/java/Protocol.java",
        "workers/java/json/pom.xml",
        "workers/java/json/Decoding.java",
    ],
    build: &[
        &[
            "{mvn}",
            "--quiet",
            "--batch-mode",
            "--strict-checksums",
            "--file",
            "{src}/workers/java/json/pom.xml",
            "dependency:copy-dependencies",
            "-DoutputDirectory={out}/jars",
        ],
        &[
            "{javac}",
            "-cp",
            "{out}/jars/*",
            "-d",
            "{out}",
            "{src}/workers/java/Protocol.java",
            "{src}/workers/java/json/Decoding.java",
        ],
    ],
    run: &["{java}", "-cp", "{out}:{out}/jars/*", "Decoding"],
    ..JAVA
};

const PYTHON_PROGRAM: Tool = Tool::Program(Program {
    names: &["python3"],
    version: &["--version"],
    path: &["-c", "import sys; print(sys.executable)"],
});

const PYTHON: Toolchain = Toolchain {
    name: "python",
    language: "python",
    tools: &[PYTHON_PROGRAM],
    install: "install Python (Debian: apt install python3)",
    sources: sources![
        "workers/python/worker.py",
        "workers/python/decoding.py",
        "workers/python/loading.py"
    ],
    run: &["{python3}", "{src}/workers/python/worker.py"],
    ..PROGRAM
};

/// The same program with packages beside it, of which `requirements.txt` has the digests.
const PYTHON_JSON: Toolchain = Toolchain {
    name: "python/json",
    tools: &[PYTHON_PROGRAM, tool(&["pip3", "pip"], &["--version"])],
    install: "install Python with pip (Debian: apt install python3-pip)",
    sources: sources![
        "workers/python/worker.py",
        "workers/python/decoding.py",
        "workers/python/loading.py",
        "workers/python/json/requirements.txt",
    ],
    build: &[&[
        "{python3}",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
        "--only-binary=:all:",
        "--require-hashes",
        "--target",
        "{src}/workers/python",
        "--requirement",
        "{src}/workers/python/json/requirements.txt",
    ]],
    ..PYTHON
};

const NODE: Toolchain = Toolchain {
    name: "node",
    language: "node",
    tools: &[tool(&["node", "nodejs"], &["--version"])],
    install: "install Node.js (Debian: apt install nodejs)",
    sources: sources!["workers/node/worker.js", "workers/node/decoding.js"],
    run: &["{node}", "{src}/workers/node/worker.js"],
    ..PROGRAM
};

const HASKELL: Toolchain = Toolchain {
    name: "haskell",
    language: "haskell",
    tools: &[tool(&["ghc"], &["--version"])],
    install: "install GHC (Debian: apt install ghc)",
    sources: sources!["workers/haskell/worker.hs"],
    build: &[&[
        "{ghc}",
        "-v0",
        "-{level}",
        "-funbox-strict-fields",
        "-threaded",
        // The runtime counts its allocations.
        "-with-rtsopts=-T",
        "-outputdir",
        "{out}/objects",
        "-o",
        "{out}/worker",
        "{src}/workers/haskell/worker.hs",
    ]],
    levels: &["O2", "O0", "O1"],
    ..PROGRAM
};

/// The same program with the flags of the study of `ByteString`, and no others: threads take a
/// third more CPU time.
const HASKELL_PLAIN: Toolchain = Toolchain {
    name: "haskell/plain",
    build: &[&[
        "{ghc}",
        "-v0",
        "-{level}",
        "-funbox-strict-fields",
        "-outputdir",
        "{out}/objects",
        "-o",
        "{out}/worker",
        "{src}/workers/haskell/worker.hs",
    ]],
    ..HASKELL
};

/// The same program with the package http-client, of the version that the compiler knows.
const HASKELL_HTTP: Toolchain = Toolchain {
    name: "haskell/http",
    tools: &[
        tool(&["ghc"], &["--version"]),
        tool(&["ghc-pkg"], &["field", "http-client", "version", "--simple-output"]),
    ],
    install: "install GHC and http-client (Debian: apt install ghc libghc-http-client-dev)",
    more: &["-DWITH_HTTP_CLIENT", "-package", "http-client"],
    ..HASKELL
};

const SWIFT: Toolchain = Toolchain {
    name: "swift",
    language: "swift",
    tools: &[tool(&["swiftc"], &["--version"])],
    install: "install Swift (https://swift.org/install, Debian 13: apt install swiftlang; in a checkout of bytelab, `cargo build --release && workers/swift-root` makes such a Debian, as root)",
    sources: sources!["workers/swift/worker.swift"],
    build: &[&["{swiftc}", "-{level}", "-o", "{out}/worker", "{src}/workers/swift/worker.swift"]],
    levels: &["O", "Onone", "Osize", "Ounchecked"],
    ..PROGRAM
};

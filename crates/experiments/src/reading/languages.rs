//! Methods in other languages, as workers; the best method of each language competes by default.

use measure::experiment::{Execution, Method};

use super::source::method;

/// The methods of a language, each with a one-line description.
type Methods = &'static [(&'static str, &'static str)];

/// The workers of `workers/LANGUAGE`: the prefix of the methods' names, and the methods, the best
/// one first.
const LANGUAGES: &[(&str, Methods)] = &[
    (
        "c",
        &[
            ("read", "C: read into a reused buffer"),
            ("fread", "C: fread into a reused buffer"),
            ("getc", "C: getc, one byte after the other"),
            ("mmap", "C: the whole file mapped"),
        ],
    ),
    (
        "cpp",
        &[
            ("read", "C++: ifstream::read into a reused buffer"),
            ("getline", "C++: getline into a reused string"),
            ("istreambuf-iterator", "C++: istreambuf_iterator, one byte after the other"),
        ],
    ),
    (
        "go",
        &[
            ("read", "Go: os.File.Read into a reused buffer"),
            ("bufio", "Go: bufio.Reader.ReadByte, one byte after the other"),
            ("readfile", "Go: os.ReadFile, the whole file in a new slice"),
            ("mmap", "Go: syscall.Mmap, the whole file mapped"),
        ],
    ),
    (
        "java",
        &[
            ("file-input-stream", "Java: FileInputStream into a reused array"),
            ("buffered-input-stream", "Java: BufferedInputStream into a reused array"),
            ("file-channel", "Java: FileChannel into a reused direct buffer"),
            ("mapped-byte-buffer", "Java: MappedByteBuffer, 1 GiB mapped at a time"),
            ("read-all-bytes", "Java: Files.readAllBytes, the whole file in a new array"),
            ("read-byte", "Java: BufferedInputStream.read(), one byte after the other"),
        ],
    ),
    (
        "python",
        &[
            ("adler32", "Python: readinto, added up in C by zlib.adler32 of 256 bytes at a time"),
            ("numpy", "Python: readinto, added up in C by numpy, if that is installed"),
            ("readinto", "Python: readinto a reused bytearray, sum() of a memoryview"),
            ("read", "Python: read, sum() of the bytes"),
            ("mmap", "Python: the whole file mapped, sum() of a memoryview"),
            ("for", "Python: read, then for byte in chunk"),
        ],
    ),
    (
        "node",
        &[
            ("read-sync", "Node: fs.readSync into a reused Buffer"),
            ("read", "Node: fs.read into a reused Buffer, awaited"),
            ("read-file-sync", "Node: fs.readFileSync, the whole file in a new Buffer"),
            ("read-stream", "Node: for await of fs.createReadStream"),
            ("for-of", "Node: fs.readSync, then for (const byte of buffer)"),
        ],
    ),
    (
        "haskell",
        &[
            ("hgetbuf", "Haskell: hGetBuf into a reused buffer, then a loop over it"),
            ("strict-hget", "Haskell: strict ByteString: hGet of `buffer` bytes, then foldl'"),
            (
                "strict-readfile",
                "Haskell: strict ByteString: readFile, the whole file in a new one, then foldl'",
            ),
            ("lazy-fold", "Haskell: lazy ByteString: hGetContents, then foldl'"),
            (
                "lazy-chunks",
                "Haskell: lazy ByteString: hGetContents, then foldl' of each of its chunks",
            ),
            ("lazy-unpack", "Haskell: lazy ByteString: unpack to a list, then foldl'"),
            ("string", "Haskell: hGetContents, a list of Char, then foldl'"),
        ],
    ),
    (
        "swift",
        &[
            ("read-unsafe", "Swift: read(2) into a reused buffer"),
            ("input-stream-unsafe", "Swift: InputStream into a reused buffer"),
        ],
    ),
];

/// Ways of Swift to get a `Data` of a file, each with the styles in which its bytes are summed.
const DATA_OF_FILES: &[(&str, &str, &[&str])] = &[
    ("always-mapped", "Data(contentsOf:options: .alwaysMapped)", &["unsafe"]),
    (
        "mapped-if-safe",
        "Data(contentsOf:options: .mappedIfSafe)",
        &["for", "for-each", "reduce", "unsafe"],
    ),
    ("contents", "Data(contentsOf:)", &["unsafe", "enumerate", "nsdata"]),
    ("file-handle", "FileHandle.read(upToCount:)", &["for", "for-each", "reduce", "unsafe"]),
];

/// Ways of Swift to get a `Data` of a URL.
const DATA_OF_URLS: &[(&str, &str)] = &[
    ("data", "URLSession.data(from:)"),
    ("completion", "dataTask(with:completionHandler:)"),
    ("delegate", "dataTask(with:) and an incremental delegate"),
];

const STYLES: &[(&str, &str)] = &[
    ("for", "for byte in"),
    ("for-each", "forEach"),
    ("reduce", "reduce"),
    ("unsafe", "for in withUnsafeBytes"),
    ("unsafe-twice", "for in withUnsafeBytes, twice"),
    ("enumerate", "for in each part of enumerateBytes"),
    ("nsdata", "for in NSData.bytes"),
];

/// The sources that `URLSession` reads: Foundation on Linux has no `file://` URLs.
const URL_SOURCES: &str =
    if cfg!(target_vendor = "apple") { "file|http|https" } else { "http|https" };

pub(super) fn methods() -> Vec<Method> {
    let of_all = |(language, methods): &(&'static str, Methods)| {
        let (language, methods) = (*language, methods.iter().enumerate());
        methods.map(move |(i, (name, about))| of_language(language, name, about, i == 0))
    };
    let mut methods: Vec<Method> = LANGUAGES.iter().flat_map(of_all).collect();
    for (way, about, styles) in DATA_OF_FILES {
        let styles = STYLES.iter().filter(|(style, _)| styles.contains(style));
        methods.extend(styles.map(|style| of_language_in(style, way, about)));
    }
    for (way, about) in DATA_OF_URLS {
        methods.extend(STYLES.iter().map(|style| of_url(of_language_in(style, way, about))));
    }
    for (name, about) in [
        ("bytes-for", "Swift: URLSession.bytes(from:), for try await byte in"),
        ("bytes-reduce", "Swift: URLSession.bytes(from:), then reduce"),
    ] {
        methods.push(of_url(of_language("swift", name, about, false)));
    }
    methods
}

fn of_language_in((style, summed): &(&str, &str), way: &str, about: &str) -> Method {
    let (name, about) = (format!("{way}-{style}"), format!("Swift: {about}, then {summed}"));
    of_language("swift", &name, &about, false)
}

fn of_url(method: Method) -> Method {
    method.reads(&["server"]).job(URL_SOURCES)
}

fn of_language(language: &str, name: &str, about: &str, is_best: bool) -> Method {
    let execution = Execution::worker([&format!("{{workers/{language}}}"), "reading", name]);
    let method = method(&format!("{language}-{name}"), about, &["buffer"], execution).job("file");
    // The others are many; `--language` selects them.
    Method { default: is_best, ..method }
}

//! Methods in other languages, as workers: what their users call to get from JSON to values.

/// The programs of `workers/`: the language is what stands before the slash. With them, the methods
/// and a line on each.
pub(super) const METHODS: &[(&str, &str, &str)] = &[
    ("cpp/simdjson", "simdjson", "C++: simdjson's dom::parser, used again, into its tree"),
    ("cpp/yyjson", "yyjson", "C++: yyjson_read, into its immutable tree"),
    ("go", "json", "Go: encoding/json, into any"),
    ("java/json", "jackson", "Java: Jackson's ObjectMapper.readTree, into JsonNode"),
    ("node", "json", "Node: JSON.parse, into objects and arrays"),
    ("python", "json", "Python: json.loads, into dicts and lists"),
    ("python/json", "orjson", "Python: orjson.loads, into dicts and lists"),
    ("python/json", "msgpack", "Python: MessagePack by msgpack.unpackb, into dicts and lists"),
];

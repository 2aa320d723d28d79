// Reads a document, draws three lines of a file, and counts the bytes of a path or URL.
//   ./example [FILE [URL]]
import CBytelab

struct Failed: Error { let message: String }

/// Calls what makes a handle or an error; the error is thrown.
func made<Handle>(
    _ call: (UnsafeMutablePointer<Handle?>, UnsafeMutablePointer<OpaquePointer?>) -> BytelabStatus
) throws -> Handle {
    var handle: Handle?
    var error: OpaquePointer?
    guard call(&handle, &error) == BYTELAB_STATUS_OK, let handle else { throw thrown(error) }
    return handle
}

func thrown(_ error: OpaquePointer?) -> Failed {
    defer { bytelab_error_free(error) }
    return Failed(message: String(cString: bytelab_error_message(error)))
}

func text(_ bytes: BytelabBytes) -> String {
    String(decoding: UnsafeBufferPointer(start: bytes.data, count: Int(bytes.len)), as: UTF8.self)
}

func printName() throws {
    let json = #"{"people": [{"name": "Ada", "born": 1815}]}"#
    let document: OpaquePointer = try made {
        bytelab_fleece_from_json(json, json.utf8.count, $0, $1)
    }
    defer { bytelab_fleece_free(document) }
    let path = "people[0].name"
    var name = BytelabValue()
    var bytes = BytelabBytes()
    let found = bytelab_value_path(bytelab_fleece_root(document), path, path.utf8.count, &name)
    if found == BYTELAB_STATUS_OK, bytelab_value_string(name, &bytes) == BYTELAB_STATUS_OK {
        print("name:", text(bytes))
    }
}

func printSample(_ file: String) throws {
    var options = BytelabSampleOptions()
    options.n = 3
    options.seed = 7
    options.at_most = true
    let records: OpaquePointer = try file.withCString { path in
        var paths: [UnsafePointer<CChar>?] = [path]
        return try made { bytelab_sample(&paths, 1, &options, $0, $1) }
    }
    defer { bytelab_records_free(records) }
    for index in 0..<bytelab_records_count(records) {
        var record = BytelabBytes()
        if bytelab_records_get(records, index, &record) == BYTELAB_STATUS_OK {
            print("line:", text(record), terminator: "")
        }
    }
}

func printSize(_ address: String) throws {
    let stream: OpaquePointer = try made { bytelab_stream_open(address, nil, $0, $1) }
    defer { bytelab_stream_close(stream) }
    var (sum, chunk, error) = (0, BytelabBytes(), OpaquePointer?.none)
    var status = bytelab_stream_next(stream, &chunk, &error)
    while status == BYTELAB_STATUS_OK {
        sum += chunk.len
        status = bytelab_stream_next(stream, &chunk, &error)
    }
    guard status == BYTELAB_STATUS_END else { throw thrown(error) }
    print("bytes:", sum)
}

let arguments = CommandLine.arguments
let file = arguments.count > 1 ? arguments[1] : "/etc/passwd"
try printName()
try printSample(file)
try printSize(arguments.count > 2 ? arguments[2] : file)

// Reading and copying in Swift: the 14 ways of URLSession of a study, and what Foundation has beside them.
//
//   reading: main METHOD            speaks the line protocol of bytelab; reads url= if it is given one, else file=
//   copying: main copy METHOD SIZE  copies standard input to standard output, with a buffer of SIZE bytes

import Dispatch
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What is read.
struct Source {
    var path: String
    var url: URL
    var buffer: Int
}

/// What a method has read: how many bytes, and their sum.
struct Tally {
    var bytes = 0
    var total: UInt64 = 0

    mutating func add(_ data: Data, _ sum: Sum) {
        bytes += data.count
        total &+= sum(data)
    }
}

struct Refused: Error { let reason: String }
struct Failed: Error { let reason: String }

// The ways to go through the bytes of a Data.

typealias Sum = @Sendable (Data) -> UInt64

let sums: [(name: String, sum: Sum)] = [
    ("for", { data in
        var total: UInt64 = 0
        for byte in data { total &+= UInt64(byte) }
        return total
    }),
    ("for-each", { data in
        var total: UInt64 = 0
        data.forEach { total &+= UInt64($0) }
        return total
    }),
    ("reduce", { data in data.reduce(0 as UInt64) { $0 &+ UInt64($1) } }),
    ("unsafe", { data in data.withUnsafeBytes(sumOf) }),
]

func sumOf(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var total: UInt64 = 0
    for byte in bytes { total &+= UInt64(byte) }
    return total
}

// The ways to get a Data, each of which is combined with each of these.

typealias Way = (Source, @escaping Sum) async throws -> Tally

let ways: [(name: String, read: Way)] = [
    ("data", { source, sum in
        let (data, response) = try await session.data(from: source.url)
        try check(response)
        return tally(data, sum)
    }),
    ("delegate", { source, sum in try await receiver.read(source.url, sum) }),
    ("completion", { source, sum in
        let data = try await withCheckedThrowingContinuation { continuation in
            let task = session.dataTask(with: source.url) { data, response, error in
                continuation.resume(with: Result {
                    if let error { throw error }
                    try check(response)
                    return data ?? Data()
                })
            }
            task.resume()
        }
        return tally(data, sum)
    }),
    ("file-handle", { source, sum in
        guard let file = FileHandle(forReadingAtPath: source.path) else { throw systemError(source.path) }
        defer { try? file.close() }
        var tally = Tally()
        while let data = try file.read(upToCount: source.buffer), !data.isEmpty { tally.add(data, sum) }
        return tally
    }),
    ("contents", { source, sum in tally(try Data(contentsOf: URL(fileURLWithPath: source.path)), sum) }),
    ("mapped-if-safe", { source, sum in
        tally(try Data(contentsOf: URL(fileURLWithPath: source.path), options: .mappedIfSafe), sum)
    }),
    ("always-mapped", { source, sum in
        tally(try Data(contentsOf: URL(fileURLWithPath: source.path), options: .alwaysMapped), sum)
    }),
]

func tally(_ data: Data, _ sum: Sum) -> Tally {
    var tally = Tally()
    tally.add(data, sum)
    return tally
}

/// Keeps nothing of what it gets, so that each time it is got anew.
let withoutCache: URLSessionConfiguration = {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    return configuration
}()
let session = URLSession(configuration: withoutCache)
let receiver = Receiver()

/// Of a file there is no status.
func check(_ response: URLResponse?) throws {
    if let response = response as? HTTPURLResponse, response.statusCode != 200 {
        throw Failed(reason: "\(response.url?.absoluteString ?? "the URL") was answered with status \(response.statusCode)")
    }
}

/// The incremental delegate: sums each piece when it comes. One task at a time.
final class Receiver: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private lazy var session = URLSession(configuration: withoutCache, delegate: self, delegateQueue: nil)
    private var tally = Tally()
    private var sum: Sum = { _ in 0 }
    private var ended: CheckedContinuation<Tally, Error>?

    func read(_ url: URL, _ sum: @escaping Sum) async throws -> Tally {
        tally = Tally()
        self.sum = sum
        return try await withCheckedThrowingContinuation { continuation in
            ended = continuation
            session.dataTask(with: url).resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        tally.add(data, sum)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        ended?.resume(with: Result {
            if let error { throw error }
            try check(task.response)
            return tally
        })
        ended = nil
    }
}

// The ways that hand over one byte after the other, or their own buffer.

let others: [(name: String, read: (Source) async throws -> Tally)] = [
    ("bytes-for", { source in
        let (bytes, response) = try await session.bytes(from: source.url)
        try check(response)
        var tally = Tally()
        for try await byte in bytes {
            tally.bytes += 1
            tally.total &+= UInt64(byte)
        }
        return tally
    }),
    ("bytes-reduce", { source in
        let (bytes, response) = try await session.bytes(from: source.url)
        try check(response)
        return try await bytes.reduce(into: Tally()) { tally, byte in
            tally.bytes += 1
            tally.total &+= UInt64(byte)
        }
    }),
    ("read-unsafe", { source in
        let file = open(source.path, O_RDONLY)
        guard file >= 0 else { throw systemError(source.path) }
        defer { close(file) }
        return try filled(source) { read(file, $0.baseAddress, $0.count) }
    }),
    ("input-stream-unsafe", { source in
        guard let stream = InputStream(fileAtPath: source.path) else { throw systemError(source.path) }
        stream.open()
        defer { stream.close() }
        return try filled(source) { stream.read($0.baseAddress!, maxLength: $0.count) }
    }),
]

nonisolated(unsafe) var reused = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)

/// Sums what `fill` puts into a buffer that is used again, until nothing more comes.
func filled(_ source: Source, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int) throws -> Tally {
    if reused.count != source.buffer {
        reused.deallocate()
        reused = .allocate(capacity: source.buffer)
    }
    var tally = Tally()
    while true {
        let got = fill(reused)
        if got == 0 { return tally }
        guard got > 0 else { throw systemError(source.path) }
        tally.bytes += got
        tally.total &+= sumOf(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(reused)[..<got]))
    }
}

/// Foundation on Linux has no `bytes(from:)`. Where it has one, the compiler prefers that to this.
extension URLSession {
    @_disfavoredOverload
    func bytes(from url: URL) async throws -> (AsyncThrowingStream<UInt8, Error>, URLResponse) {
        throw Refused(reason: "this Foundation has no URLSession.bytes(from:)")
    }
}

// Copying.

let copies: [(name: String, copy: (Int) throws -> Void)] = [
    ("read-write", { size in
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 4096)
        while true {
            let got = read(0, buffer, size)
            if got == 0 { return }
            guard got > 0 else { throw systemError("standard input") }
            var done = 0
            while done < got {
                let written = write(1, buffer + done, got - done)
                guard written >= 0 else { throw systemError("standard output") }
                done += written
            }
        }
    }),
    ("file-handle", { size in
        while let data = try FileHandle.standardInput.read(upToCount: size), !data.isEmpty {
            try FileHandle.standardOutput.write(contentsOf: data)
        }
    }),
    ("read-to-end", { _ in
        let data = try FileHandle.standardInput.readToEnd()
        try FileHandle.standardOutput.write(contentsOf: data ?? Data())
    }),
]

func systemError(_ name: String) -> Failed { Failed(reason: "\(name): \(String(cString: strerror(errno)))") }

// The line protocol.

/// Combinations are named WAY-SUM.
func method(named name: String) -> ((Source) async throws -> Tally)? {
    for way in ways {
        for style in sums where name == "\(way.name)-\(style.name)" {
            return { source in try await way.read(source, style.sum) }
        }
    }
    return others.first { $0.name == name }?.read
}

/// Answers orders until bye or the end of the input.
func serve(_ read: (Source) async throws -> Tally) async {
    var source: Source?
    while let line = readLine() {
        let words = line.split(separator: " ")
        let arguments = words.dropFirst().map(argument)
        func value(_ name: String) -> String? { arguments.first { $0.name == name }?.value }
        do {
            switch (words.first, source) {
            case ("prepare", _):
                source = try prepared(value)
                say("ready")
            case ("go", let source?):
                say(try await sample(read, source, String(words[1]), Int(value("ops") ?? "") ?? 1))
            case ("go", nil):
                say("fail go before prepare")
            default:
                return
            }
        } catch {
            say(refusal(error, of: source?.url.absoluteString ?? "prepare"))
        }
    }
}

func prepared(_ value: (String) -> String?) throws -> Source {
    guard let path = value("file") else { throw Failed(reason: "prepare has no file") }
    guard value("parallel") ?? "1" == "1" else { throw Refused(reason: "reads one file at a time: --parallel 1") }
    let size = value("size").flatMap { Int($0) } ?? Int.max
    guard let buffer = value("buffer").flatMap({ Int($0) }), buffer > 0 else {
        throw Failed(reason: "prepare has no buffer above 0")
    }
    let url = value("url").flatMap { $0.isEmpty ? nil : URL(string: $0) }
    return Source(path: path, url: url ?? URL(fileURLWithPath: path), buffer: max(1, min(buffer, size)))
}

/// Between the two readings of the clock there is only the job.
func sample(
    _ read: (Source) async throws -> Tally, _ source: Source, _ n: String, _ ops: Int
) async throws -> String {
    var tally = Tally()
    let cpuBefore = cpuTime()
    let start = DispatchTime.now().uptimeNanoseconds
    for _ in 0..<ops { tally = try await read(source) }
    let wall = DispatchTime.now().uptimeNanoseconds - start
    let cpu = Double(cpuTime() - cpuBefore) / Double(ops)
    let answer = String(tally.total, radix: 16)
    let padded = String(repeating: "0", count: 16 - answer.count) + answer
    return "done \(n) wall=\(wall) ops=\(ops) bytes=\(tally.bytes * ops) answer=\(padded) cpu_ns=\(cpu)"
}

/// Of all threads of the process, in ns.
func cpuTime() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Int(time.tv_sec) * 1_000_000_000 + Int(time.tv_nsec)
}

/// What this Foundation does not have or do is skipped, all else has failed.
func refusal(_ error: Error, of name: String) -> String {
    switch error {
    case let refused as Refused: return "skip " + escaped(refused.reason)
    case let failed as Failed: return "fail " + escaped(failed.reason)
    case let error as URLError where error.code == .unsupportedURL:
        return "skip " + escaped("URLSession of this Foundation does not get \(name): \(error.localizedDescription)")
    default: return "fail " + escaped("\(name): \(error.localizedDescription)")
    }
}

func argument(_ word: Substring) -> (name: String, value: String) {
    let pair = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let value = pair.count == 2 ? String(pair[1]) : ""
    return (String(pair[0]), value.removingPercentEncoding ?? value)
}

/// Printable ASCII and spaces on one line, the rest as %XX.
func escaped(_ text: String) -> String {
    var printable = CharacterSet(charactersIn: " "..."~")
    printable.remove("%")
    return text.addingPercentEncoding(withAllowedCharacters: printable) ?? ""
}

func say(_ line: String) {
    print(line)
    fflush(nil)
}

func exit(with reason: String) -> Never {
    FileHandle.standardError.write(Data((reason + "\n").utf8))
    exit(1)
}

let words = CommandLine.arguments
if words.count == 4, words[1] == "copy", let copy = copies.first(where: { $0.name == words[2] }), let size = Int(words[3]),
    size > 0
{
    do {
        try copy.copy(size)
    } catch {
        exit(with: (error as? Failed)?.reason ?? error.localizedDescription)
    }
} else if words.count == 2, let read = method(named: words[1]) {
    say("hello 1 name=\(words[1]) lang=swift")
    await serve(read)
} else {
    let combined = ways.flatMap { way in sums.map { "\(way.name)-\($0.name)" } } + others.map(\.name)
    let names = (combined.joined(separator: " "), copies.map(\.name).joined(separator: " "))
    exit(with: "usage: METHOD, of \(names.0); or copy METHOD SIZE, of \(names.1)")
}

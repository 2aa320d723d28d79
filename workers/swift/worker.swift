// Methods in Swift: the 14 ways of URLSession of a study, and what Foundation has beside them.
// `worker reading METHOD` speaks the line protocol; it gets url= if it is given one, else file= as a URL. In the
// counting pass it also tells how often the runtime retained and released an object.
// `worker copying METHOD [SIZE]` copies standard input to standard output.

import Dispatch
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
#if os(Linux)
import Synchronization
#endif

/// What is read, and what is used again for it. For one task at a time.
final class Source: @unchecked Sendable {
    let path: String
    let url: URL
    let buffer: UnsafeMutableBufferPointer<UInt8>
    let receiver = Receiver()

    init(path: String, url: URL, buffer: Int) {
        self.path = path
        self.url = url
        self.buffer = .allocate(capacity: buffer)
    }

    deinit { buffer.deallocate() }
}

/// What a method has read: how many bytes, and their sum.
struct Tally: Sendable {
    var bytes = 0
    var total: UInt64 = 0

    mutating func add(_ data: Data, _ sum: Sum) {
        bytes += data.count
        total &+= sum(data)
    }

    mutating func add(_ byte: UInt8) {
        bytes += 1
        total &+= UInt64(byte)
    }
}

typealias Method = @Sendable (Source) async throws -> Tally

/// Why there is no result: Foundation does not have or do it, or it went wrong.
enum Refusal: Error { case skip(String), fail(String) }

func systemError(_ name: String) -> Refusal { .fail("\(name): \(String(cString: strerror(errno)))") }

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
    ("unsafe-twice", { data in
        let first = data.withUnsafeBytes(sumOf)
        let second = data.withUnsafeBytes(sumOf)
        return first == second ? second : 0
    }),
    ("enumerate", { data in
        var total: UInt64 = 0
        data.enumerateBytes { bytes, _, _ in total &+= sumOf(UnsafeRawBufferPointer(bytes)) }
        return total
    }),
    ("nsdata", { data in
        let object = data as NSData
        return sumOf(UnsafeRawBufferPointer(start: object.bytes, count: object.length))
    }),
]

func sumOf(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var total: UInt64 = 0
    for byte in bytes { total &+= UInt64(byte) }
    return total
}

// The ways to get a Data, each of which is combined with each of these: WAY-SUM.

let ways: [(name: String, read: @Sendable (Source, @escaping Sum) async throws -> Tally)] = [
    ("data", { source, sum in
        let (data, response) = try await URLSession.uncached.data(from: source.url)
        return try tally(data, response, sum)
    }),
    ("delegate", { source, sum in try await source.receiver.read(source.url, sum) }),
    ("completion", { source, sum in
        try await withCheckedThrowingContinuation { ended in
            let task = URLSession.uncached.dataTask(with: source.url) { data, response, error in
                ended.resume(with: Result {
                    if let error { throw error }
                    return try tally(data ?? Data(), response, sum)
                })
            }
            task.resume()
        }
    }),
    ("file-handle", { source, sum in
        guard let file = FileHandle(forReadingAtPath: source.path) else { throw systemError(source.path) }
        defer { try? file.close() }
        var tally = Tally()
        while let data = try file.read(upToCount: source.buffer.count), !data.isEmpty { tally.add(data, sum) }
        return tally
    }),
    ("contents", { try tally(Data(contentsOf: URL(fileURLWithPath: $0.path)), nil, $1) }),
    ("mapped-if-safe", { try tally(Data(contentsOf: URL(fileURLWithPath: $0.path), options: .mappedIfSafe), nil, $1) }),
    ("always-mapped", { try tally(Data(contentsOf: URL(fileURLWithPath: $0.path), options: .alwaysMapped), nil, $1) }),
]

extension URLSession {
    static let uncached = URLSession(configuration: configurationWithoutCache)

    static var configurationWithoutCache: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        return configuration
    }

    /// Foundation on Linux has none. Where it has one, the compiler prefers that to this.
    @_disfavoredOverload
    func bytes(from url: URL) async throws -> (AsyncThrowingStream<UInt8, Error>, URLResponse) {
        throw Refusal.skip("this Foundation has no URLSession.bytes(from:)")
    }
}

func tally(_ data: Data, _ response: URLResponse?, _ sum: Sum) throws -> Tally {
    try check(response)
    var tally = Tally()
    tally.add(data, sum)
    return tally
}

/// Of a file there is no status.
func check(_ response: URLResponse?) throws {
    guard let response = response as? HTTPURLResponse, response.statusCode != 200 else { return }
    throw Refusal.fail("\(response.url?.absoluteString ?? "the URL") was answered with status \(response.statusCode)")
}

/// The incremental delegate: sums each piece when it comes.
final class Receiver: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private lazy var session = URLSession(
        configuration: URLSession.configurationWithoutCache, delegate: self, delegateQueue: nil)
    private var tally = Tally()
    private var sum: Sum = { _ in 0 }
    private var ended: CheckedContinuation<Tally, Error>?

    func read(_ url: URL, _ sum: @escaping Sum) async throws -> Tally {
        (tally, self.sum) = (Tally(), sum)
        return try await withCheckedThrowingContinuation { ended in
            self.ended = ended
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

// The ways that hand over one byte after the other, or fill a buffer.

let others: [(name: String, read: Method)] = [
    ("bytes-for", { source in
        let (bytes, response) = try await URLSession.uncached.bytes(from: source.url)
        try check(response)
        var tally = Tally()
        for try await byte in bytes { tally.add(byte) }
        return tally
    }),
    ("bytes-reduce", { source in
        let (bytes, response) = try await URLSession.uncached.bytes(from: source.url)
        try check(response)
        return try await bytes.reduce(into: Tally()) { tally, byte in tally.add(byte) }
    }),
    ("read-unsafe", { source in
        let file = open(source.path, O_RDONLY | O_CLOEXEC)
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

/// Sums what `fill` puts into the buffer, until nothing more comes.
func filled(_ source: Source, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int) throws -> Tally {
    var tally = Tally()
    while true {
        let got = fill(source.buffer)
        if got == 0 { return tally }
        guard got > 0 else { throw systemError(source.path) }
        tally.bytes += got
        tally.total &+= sumOf(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(source.buffer)[..<got]))
    }
}

/// Several files are read by a task each, which repeats its file.
func run(_ read: @escaping Method, _ sources: [Source], _ ops: Int) async throws -> Tally {
    @Sendable func repeated(_ source: Source) async throws -> Tally {
        var tally = Tally()
        for _ in 0..<ops { tally = try await read(source) }
        return tally
    }
    if sources.count == 1 { return try await repeated(sources[0]) }
    return try await withThrowingTaskGroup(of: Tally.self) { group in
        for source in sources { group.addTask { try await repeated(source) } }
        return try await group.reduce(into: Tally()) { all, tally in
            all.bytes += tally.bytes
            all.total &+= tally.total
        }
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
]

// Reference counting.

/// How often the runtime retained and released an object. It calls both through pointers, by which
/// Apple's Instruments count them. Only the counting pass does so: it takes time.
#if os(Linux)
enum References {
    typealias Retain = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void

    static let retains = Atomic<Int>(0)
    static let releases = Atomic<Int>(0)
    nonisolated(unsafe) static var retain: Retain?
    nonisolated(unsafe) static var release: Release?

    /// False where the runtime has no such pointers.
    static let areCounted: Bool = {
        guard ProcessInfo.processInfo.environment["BYTELAB_COUNTING"] != nil,
            let retained = dlsym(nil, "_swift_retain"), let released = dlsym(nil, "_swift_release")
        else { return false }
        let ofRetain = retained.assumingMemoryBound(to: Retain.self)
        let ofRelease = released.assumingMemoryBound(to: Release.self)
        (retain, release) = (ofRetain.pointee, ofRelease.pointee)
        ofRelease.pointee = { object in
            References.releases.add(1, ordering: .relaxed)
            References.release!(object)
        }
        ofRetain.pointee = { object in
            References.retains.add(1, ordering: .relaxed)
            return References.retain!(object)
        }
        // Since Swift 6 the pointers are looked at only where this is set.
        let enable = "_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly"
        dlsym(nil, enable)?.assumingMemoryBound(to: Bool.self).pointee = true
        return true
    }()

    static func now() -> (retains: Int, releases: Int) {
        (retains.load(ordering: .relaxed), releases.load(ordering: .relaxed))
    }
}
#else
enum References {
    static let areCounted = false
    static func now() -> (retains: Int, releases: Int) { (0, 0) }
}
#endif

// The line protocol.

/// The user and the system time of this process until now, in ns.
func cpuTime() -> (user: Double, system: Double) {
    #if os(Linux)
    // The C library of Linux has an enumeration for it.
    let own = __rusage_who_t(RUSAGE_SELF.rawValue)
    #else
    let own = RUSAGE_SELF
    #endif
    var usage = rusage()
    guard getrusage(own, &usage) == 0 else { return (0, 0) }
    func ns(_ time: timeval) -> Double { Double(time.tv_sec) * 1e9 + Double(time.tv_usec) * 1e3 }
    return (ns(usage.ru_utime), ns(usage.ru_stime))
}

/// Answers orders until bye or the end of the input.
func serve(_ read: @escaping Method) async {
    var sources: [Source] = []
    while let line = readLine(), line != "bye" {
        let words = line.split(separator: " ")
        let arguments = Dictionary(words.dropFirst().map(argument)) { first, _ in first }
        do {
            switch words.first {
            case "prepare":
                sources = try prepared(arguments)
                say("ready")
            case "go" where words.count > 1 && !sources.isEmpty:
                let ops = Int(arguments["ops"] ?? "1") ?? 1
                let before = References.now()
                let cpuBefore = cpuTime()
                let start = DispatchTime.now().uptimeNanoseconds
                let tally = try await run(read, sources, ops)
                let wall = DispatchTime.now().uptimeNanoseconds - start
                let cpu = cpuTime()
                let after = References.now()
                let answer = String(tally.total, radix: 16)
                let zeros = String(repeating: "0", count: 16 - answer.count)
                var done = "done \(words[1]) wall=\(wall) ops=\(ops) bytes=\(tally.bytes * ops)"
                done += " answer=\(zeros)\(answer)"
                done += " user_ns=\((cpu.user - cpuBefore.user) / Double(ops))"
                done += " system_ns=\((cpu.system - cpuBefore.system) / Double(ops))"
                if References.areCounted {
                    let retains = Double(after.retains - before.retains) / Double(ops)
                    let releases = Double(after.releases - before.releases) / Double(ops)
                    done += " arc_retains=\(retains) arc_releases=\(releases)"
                }
                say(done)
            default:
                say("fail an order that I do not know, or too early")
            }
        } catch {
            say(refusal(error))
        }
    }
}

func prepared(_ arguments: [String: String]) throws -> [Source] {
    guard let buffer = Int(arguments["buffer"] ?? "131072"), buffer > 0 else {
        throw Refusal.fail("buffer is not a number above 0")
    }
    #if canImport(FoundationNetworking)
    if arguments["certificates"] != nil {
        throw Refusal.skip("URLSession of this Foundation can be given no certificate to trust")
    }
    #endif
    var sources: [Source] = []
    while let path = arguments[sources.isEmpty ? "file" : "file\(sources.count + 1)"] {
        let url = arguments[sources.isEmpty ? "url" : "url\(sources.count + 1)"].flatMap { URL(string: $0) }
        sources.append(Source(path: path, url: url ?? URL(fileURLWithPath: path), buffer: buffer))
    }
    guard !sources.isEmpty else { throw Refusal.fail("prepare names no file") }
    return sources
}

func refusal(_ error: Error) -> String {
    let info = (error as NSError).userInfo
    let name = info[NSURLErrorFailingURLStringErrorKey] ?? info[NSFilePathErrorKey] ?? "Foundation"
    switch error {
    case Refusal.skip(let reason): return "skip " + escaped(reason)
    case Refusal.fail(let reason): return "fail " + escaped(reason)
    case let error as URLError where error.code == .unsupportedURL:
        return "skip " + escaped("URLSession of this Foundation: \(error.localizedDescription) \(name)")
    default: return "fail " + escaped("\(name): \(error.localizedDescription)")
    }
}

/// name=value, with the bytes that are written as %XX.
func argument(_ word: Substring) -> (String, String) {
    let pair = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    return (pair[0], pair.count == 2 ? pair[1].removingPercentEncoding ?? pair[1] : "")
}

func escaped(_ text: String) -> String {
    let printable = CharacterSet(charactersIn: " "..."~").subtracting(CharacterSet(charactersIn: "%"))
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

let combined: [(name: String, read: Method)] = ways.flatMap { way in
    sums.map { style in ("\(way.name)-\(style.name)", { @Sendable in try await way.read($0, style.sum) }) }
}
let methods = combined + others
let words = CommandLine.arguments.dropFirst()
let name = words.dropFirst().first
let size = Int(words.dropFirst(2).first ?? "131072") ?? 0
if words.first == "reading", let method = methods.first(where: { $0.name == name }) {
    say("hello 1 name=swift-\(method.name) lang=swift")
    _ = References.areCounted
    await serve(method.read)
} else if words.first == "copying", let copy = copies.first(where: { $0.name == name }), size > 0 {
    do { try copy.copy(size) } catch { exit(with: refusal(error)) }
} else {
    let (reading, copying) = (methods.map(\.name).joined(separator: " "), copies.map(\.name).joined(separator: " "))
    exit(with: "use: worker reading METHOD, of \(reading) | worker copying METHOD [SIZE], of \(copying)")
}

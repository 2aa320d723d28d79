// A method of `reading` in Swift: `swiftc -O examples/worker.swift -o mine`, then
// `bytelab run reading --worker mine=./mine`.
import Foundation

var path = ""
setvbuf(stdout, nil, _IOLBF, 0)
print("hello 1 name=mine lang=swift")
while let line = readLine(), line != "bye" {
    let words = line.split(separator: " ")
    if words[0] == "prepare" {
        let file = words.first { $0.hasPrefix("file=") }
        path = file?.dropFirst(5).removingPercentEncoding ?? ""
        print("ready")
    } else {
        let start = DispatchTime.now().uptimeNanoseconds
        var (total, size) = (0, 0)
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        while let chunk = try file.read(upToCount: 128 << 10), !chunk.isEmpty {
            chunk.withUnsafeBytes { for byte in $0 { total += Int(byte) } }
            size += chunk.count
        }
        let wall = DispatchTime.now().uptimeNanoseconds - start
        print("done \(words[1]) wall=\(wall) bytes=\(size) answer=\(String(format: "%016lx", total))")
    }
}

//! A method of `reading` in Rust: rustc -O worker.rs; bytelab run reading --worker 'mine=./worker'

fn main() {
    let mut path = String::new();
    println!("hello 1 name=mine lang=rust");
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        if words[0] == "prepare" {
            // A path with %XX in it is not understood here.
            let file = words.iter().find_map(|word| word.strip_prefix("file="));
            path = file.unwrap_or_default().to_owned();
            println!("ready");
        } else if words[0] == "go" {
            let start = std::time::Instant::now();
            let all = std::fs::read(&path).unwrap_or_default();
            let total: u64 = all.iter().map(|byte| u64::from(*byte)).sum();
            let wall_ns = start.elapsed().as_nanos();
            println!("done {} wall={wall_ns} bytes={} answer={total:016x}", words[1], all.len());
        } else {
            break;
        }
    }
}

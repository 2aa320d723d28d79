# What CI runs, by name; CI tests with all features, and takes 100 runs of A/A.
test:
    cargo test --workspace --all-features
lint:
    cargo fmt --all --check && cargo clippy --workspace --all-targets -- -D warnings
self-test:
    cargo run --release -- self-test
aa:
    cargo run --release -- self-test --aa 200
statistics:
    cargo bench -p bytelab-analysis --bench statistics
swift-root:
    cargo build --release && workers/swift-root
newest-cats:
    cargo build --release && workers/newest-cats
man:
    cargo run --release -- man target/man
dist:
    .ci/dist
ci:
    .ci/run

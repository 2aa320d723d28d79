# syntax=docker/dockerfile:1
# bytelab in a Debian, whose commands it measures: docker run --rm IMAGE 'gzip -c /bin/bash' 'gzip -9c /bin/bash'
#
# Run it with `--volume NAME:/home/bytelab` to keep the runs, and with `--cap-add PERFMON --security-opt
# seccomp=unconfined` to let it use perf events. It is no root; `--user root` makes it one.
FROM rust:1.95.0-slim-bookworm AS build
# rust-toolchain.toml also names what only developers need.
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/source/target \
    cargo build --locked --profile dist --package bytelab --features parquet,postgres \
    && install target/dist/bytelab /usr/local/bin/

FROM debian:bookworm-slim
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/local/bin/bytelab /usr/local/bin/
RUN useradd --create-home --uid 1000 bytelab
USER 1000
WORKDIR /home/bytelab
ENTRYPOINT ["bytelab"]
CMD ["--help"]

// What the decoders in C++ share: the jobs and answers of
// `crates/experiments/src/decoding/jobs.rs` in bytelab. A `Decoder` has:
//
//   using Doc, using Value                    a parsed document, which owns its memory, and a value in it
//   Decoder(std::string_view text)            keeps the text as the library wants to have it
//   const Doc &parse()                        the text, once more; throws std::runtime_error
//   static Value root(const Doc &)
//   static Value find(Value, const Step &)
//   static std::uint64_t visit(Value)         adds up `len` of texts and keys, `whole` of numbers, and booleans
//   static std::uint64_t digest(Value)        by `mixed` and `digest_of`
//   static std::uint64_t mark(Value)          by `mark_of`
//   static std::string print(const Doc &)
#pragma once

#include "../protocol.hpp"

#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

// A key, or an index.
struct Step {
    std::string key;
    std::optional<std::size_t> index;
};

// What is too large becomes the largest integer, as in Rust.
inline std::uint64_t whole(double number) {
    using Limits = std::numeric_limits<std::int64_t>;
    if (number >= 9223372036854775808.0)
        return static_cast<std::uint64_t>(Limits::max());
    if (number <= -9223372036854775808.0)
        return static_cast<std::uint64_t>(Limits::min());
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
}

inline std::uint64_t bits(double number) {
    std::uint64_t all;
    std::memcpy(&all, &number, sizeof all);
    return all;
}

inline std::uint64_t mark_of(std::string_view text) {
    std::uint64_t start = 0;
    for (std::size_t i = 0; i < 4 && text.size() >= 4; i++)
        start |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    return text.size() + (start << 32);
}

// The finaliser of splitmix64 over the sum so far.
inline std::uint64_t mixed(std::uint64_t sum, std::uint64_t next) {
    auto z = (sum * 0x9e3779b97f4a7c15) ^ next;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

inline std::uint64_t digest_of(std::uint64_t sum, std::string_view text) {
    for (unsigned char byte : text)
        sum = mixed(sum, byte);
    return sum;
}

// Keeps a result from being optimised away.
template <class T> inline void keep(const T &value) { asm volatile("" : : "g"(&value) : "memory"); }

template <class Decoder> class Decoding {
    Decoder decoder;
    // One that stays as it is: a decoder may hold the document that it parsed last.
    Decoder first;
    const typename Decoder::Doc &doc;
    std::size_t size_bytes;
    std::string job;
    std::vector<Step> steps;

    typename Decoder::Value look_up(const typename Decoder::Doc &in) const {
        auto value = Decoder::root(in);
        for (const auto &step : steps)
            value = Decoder::find(value, step);
        return value;
    }

  public:
    Decoding(const std::string &text, const Arguments &arguments)
        : decoder(text), first(text), doc(first.parse()), size_bytes(text.size()), job(arguments.at("job")) {
        std::istringstream tokens(arguments.at("pointer"));
        std::string token;
        for (std::getline(tokens, token, '/'); std::getline(tokens, token, '/');)
            steps.push_back(step(token));
    }

    static Step step(const std::string &token) {
        if (!token.empty() && token.find_first_not_of("0123456789") == std::string::npos)
            return {"", std::stoull(token)};
        std::string key;
        for (std::size_t i = 0; i < token.size(); i++) {
            auto is_escape = token[i] == '~' && i + 1 < token.size();
            key += is_escape ? (token[++i] == '1' ? '/' : '~') : token[i];
        }
        return {key, std::nullopt};
    }

    // Gives the answer, if the job has one.
    std::optional<std::uint64_t> run(std::uint64_t ops) {
        std::optional<std::uint64_t> answer;
        for (std::uint64_t i = 0; i < ops; i++) {
            keep(doc);
            if (job == "lookup")
                return looked_up(ops);
            if (job == "traverse")
                answer = Decoder::visit(Decoder::root(doc));
            else if (job == "to-json")
                keep(Decoder::print(doc));
            else if (job == "bytes-to-name")
                answer = Decoder::mark(look_up(decoder.parse()));
            else if (job == "bytes-to-all" || job == "json-to-all")
                answer = Decoder::visit(Decoder::root(decoder.parse()));
            else
                keep(decoder.parse());
        }
        return answer;
    }

    // It takes nanoseconds, so the loop has nothing else.
    std::uint64_t looked_up(std::uint64_t ops) const {
        std::uint64_t answer = 0;
        for (std::uint64_t i = 0; i < ops; i++) {
            keep(doc);
            answer = Decoder::mark(look_up(doc));
            keep(answer);
        }
        return answer;
    }

    std::uint64_t digest() const {
        Decoder again(Decoder::print(doc));
        return Decoder::digest(Decoder::root(again.parse()));
    }

    std::size_t size() const { return size_bytes; }
};

inline std::string contents(const std::string &path) {
    auto file = opened(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <class Decoder> int serve(const std::string &name) {
    return serve(name, [](const Arguments &arguments) -> Task {
        auto task = std::make_shared<Decoding<Decoder>>(contents(arguments.at("file")), arguments);
        auto run = [=](std::uint64_t ops) { return Sample{0, task->run(ops), task->size()}; };
        return {run, [=] { return task->digest(); }};
    });
}

// Methods in C++: `worker reading METHOD` and `worker sampling METHOD` speak the line protocol, `worker copying`
// copies standard input to standard output.
#include "protocol.hpp"

#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct Done {
    std::uint64_t bytes = 0;
    std::uint64_t answer = 0;

    operator Sample() const { return {bytes, answer, std::nullopt}; }
};

std::uint64_t sum(std::string_view bytes) {
    std::uint64_t total = 0;
    for (unsigned char byte : bytes)
        total += byte;
    return total;
}

// Reading: each takes a file and a buffer, and adds up all bytes.

Done by_read(const std::string &path, std::vector<char> &buffer) {
    auto file = opened(path);
    Done done;
    while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0) {
        auto n = static_cast<std::size_t>(file.gcount());
        done.answer += sum({buffer.data(), n});
        done.bytes += n;
    }
    return done;
}

Done by_getline(const std::string &path, std::vector<char> &) {
    auto file = opened(path);
    Done done;
    for (std::string line; std::getline(file, line);) {
        auto ended = !file.eof();
        done.answer += sum(line) + (ended ? '\n' : 0);
        done.bytes += line.size() + ended;
    }
    return done;
}

Done by_iterator(const std::string &path, std::vector<char> &) {
    auto file = opened(path);
    Done done;
    for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) {
        done.answer += static_cast<unsigned char>(*at);
        done.bytes++;
    }
    return done;
}

using Reading = Done (*)(const std::string &path, std::vector<char> &buffer);

const std::map<std::string, Reading> READING = {
    {"read", by_read}, {"getline", by_getline}, {"istreambuf-iterator", by_iterator}};

// A file, and what its reader uses again.
struct Reader {
    std::string path;
    std::vector<char> buffer;
    Done last;
    std::string why;
};

// Several files are read by a thread each, which repeats its file.
Task reading(const std::string &name, const Arguments &arguments) {
    auto readers = std::make_shared<std::vector<Reader>>();
    for (std::string file = "file"; arguments.count(file) > 0;) {
        std::vector<char> buffer(std::stoull(arguments.at("buffer")));
        readers->push_back({arguments.at(file), std::move(buffer), {}, ""});
        file = "file" + std::to_string(readers->size() + 1);
    }
    auto read = READING.at(name);
    auto run = [=](std::uint64_t ops) {
        auto repeat = [=](Reader &reader) {
            try {
                for (std::uint64_t i = 0; i < ops; i++)
                    reader.last = read(reader.path, reader.buffer);
            } catch (const std::exception &error) {
                reader.why = error.what();
            }
        };
        std::vector<std::thread> threads;
        for (std::size_t i = 1; i < readers->size(); i++)
            threads.emplace_back(repeat, std::ref((*readers)[i]));
        repeat(readers->front());
        for (auto &thread : threads)
            thread.join();
        Done all;
        for (auto &reader : *readers) {
            if (!reader.why.empty())
                throw std::runtime_error(reader.why);
            all.bytes += reader.last.bytes * ops;
            all.answer += reader.last.answer;
        }
        return all;
    };
    return {run, nullptr};
}

// Sampling: every record is read, and kept with a probability.

constexpr std::size_t RECORD_BYTES = 64;

struct Sampling {
    std::string path;
    std::uint64_t samples, records;
    std::mt19937_64 random{std::random_device{}()};

    bool keeps() {
        std::uniform_real_distribution<double> unit;
        return unit(random) * static_cast<double>(records) <= static_cast<double>(samples);
    }

    // A file beside the data that has lost its name, or, where none can be made, one among the temporary ones.
    std::ofstream output() const {
        namespace fs = std::filesystem;
        auto name = ".sample-" + std::to_string(std::random_device{}());
        for (const auto &dir : {fs::path(path).parent_path(), fs::temp_directory_path()}) {
            std::ofstream out(dir / name, std::ios::binary);
            if (out) {
                fs::remove(dir / name);
                return out;
            }
        }
        throw std::runtime_error("no file for the sample beside " + path);
    }

    // What was drawn, in records and bytes.
    Done by_read(std::ofstream &out) {
        auto file = opened(path);
        Done done;
        for (char record[RECORD_BYTES]; file.read(record, sizeof record);) {
            if (keeps()) {
                out.write(record, sizeof record);
                done.bytes += sizeof record;
                done.answer++;
            }
        }
        return done;
    }

    Done by_getline(std::ofstream &out) {
        auto file = opened(path);
        Done done;
        for (std::string line; std::getline(file, line);) {
            if (keeps()) {
                out << line << '\n';
                done.bytes += line.size() + 1;
                done.answer++;
            }
        }
        return done;
    }

    // The answer is how many were to be drawn: about as many must have been, within 8 standard deviations.
    Done checked(Done done) const {
        auto wanted = static_cast<double>(samples), drawn = static_cast<double>(done.answer);
        auto p = wanted / static_cast<double>(records);
        if (std::abs(drawn - wanted) > 8 * std::sqrt(wanted * (1 - p)) + 1)
            throw std::runtime_error(std::to_string(done.answer) + " records were drawn, far from " +
                                     std::to_string(samples));
        return {done.bytes, samples};
    }
};

Task sampling(const std::string &name, const Arguments &arguments) {
    auto is_text = arguments.at("kind") == "text";
    if (is_text != (name == "getline"))
        throw Skip(is_text ? "reads records of 64 bytes: --kind binary" : "reads lines: --kind text");
    auto job = std::make_shared<Sampling>();
    job->path = arguments.at("file");
    job->samples = std::stoull(arguments.at("samples"));
    job->records = std::stoull(arguments.at("records"));
    auto run = [=](std::uint64_t ops) {
        Done all;
        for (std::uint64_t i = 0; i < ops; i++) {
            auto out = job->output();
            auto drawn = job->checked(is_text ? job->by_getline(out) : job->by_read(out));
            if (!out.flush())
                throw std::runtime_error("writing the sample");
            all = {all.bytes + drawn.bytes, drawn.answer};
        }
        return all;
    };
    return {run, nullptr};
}

int copying() {
    std::ios::sync_with_stdio(false);
    std::vector<char> buffer(128 << 10);
    while (std::cin.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), std::cin.gcount() > 0)
        std::cout.write(buffer.data(), std::cin.gcount());
    std::cout.flush();
    return std::cin.bad() || !std::cout;
}

} // namespace

int main(int argc, char **argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 2 && (words[0] == "reading" || words[0] == "sampling"))
        return serve(words[1], [&](const Arguments &arguments) {
            return (words[0] == "sampling" ? sampling : reading)(words[1], arguments);
        });
    if (words == std::vector<std::string>{"copying"})
        return copying();
    std::cerr << "use: worker reading METHOD | worker sampling METHOD | worker copying\n";
    return 2;
}

// The line protocol, and what else the workers in C++ share.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include <sys/resource.h>

using Arguments = std::map<std::string, std::string>;

// What a sample reports besides its time.
struct Sample {
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> answer;
    std::optional<std::size_t> size_bytes;
};

// A method that is set up for its arguments.
struct Task {
    std::function<Sample(std::uint64_t ops)> run;
    // Of all that it hands over; a method may have none.
    std::function<std::uint64_t()> digest;
};

struct Skip : std::runtime_error {
    using runtime_error::runtime_error;
};

inline std::ifstream opened(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("opening " + path);
    return file;
}

inline std::string unescaped(const std::string &text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); i++) {
        if (text[i] == '%' && i + 2 < text.size()) {
            out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

inline Arguments pairs(std::istringstream &words) {
    Arguments arguments;
    for (std::string word; words >> word;) {
        auto equals = word.find('=');
        if (equals != std::string::npos)
            arguments[word.substr(0, equals)] = unescaped(word.substr(equals + 1));
    }
    return arguments;
}

inline std::string hex(std::uint64_t number) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
    return digits;
}

// The user and the system time of this process until now, in ns.
struct Cpu {
    double user_ns = 0, system_ns = 0;
};

inline Cpu cpu_now() {
    auto ns = [](const timeval &time) { return time.tv_sec * 1e9 + time.tv_usec * 1e3; };
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return {};
    return {ns(usage.ru_utime), ns(usage.ru_stime)};
}

inline std::string go(const Task &task, const std::string &n, const Arguments &arguments) {
    auto wanted = arguments.find("ops");
    auto ops = wanted == arguments.end() ? 1 : std::stoull(wanted->second);
    auto before = cpu_now();
    auto start = std::chrono::steady_clock::now();
    auto sample = task.run(ops);
    std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - start;
    auto after = cpu_now();
    std::ostringstream line;
    line << std::fixed << std::setprecision(1);
    line << "done " << n << " wall=" << wall.count() << " ops=" << ops << " bytes=" << sample.bytes;
    line << " user_ns=" << (after.user_ns - before.user_ns) / static_cast<double>(ops);
    line << " system_ns=" << (after.system_ns - before.system_ns) / static_cast<double>(ops);
    if (sample.answer)
        line << " answer=" << hex(*sample.answer);
    if (sample.size_bytes)
        line << " size_bytes=" << *sample.size_bytes;
    return line.str();
}

inline std::string ready(const Task &task) {
    // The digest may be left out where an earlier process has given it.
    auto has_digest = std::getenv("BYTELAB_DIGEST") || std::getenv("BYTELAB_FRESH");
    return task.digest && !has_digest ? "ready digest=" + hex(task.digest()) : "ready";
}

// Answers orders until `bye` or the end of the input.
inline int serve(const std::string &name, const std::function<Task(const Arguments &)> &prepare) {
    std::cout << "hello 1 name=cpp-" << name << " lang=cpp" << std::endl;
    Task task;
    for (std::string line; std::getline(std::cin, line) && line != "bye";) {
        std::istringstream words(line);
        std::string verb, n;
        words >> verb;
        try {
            if (verb == "prepare") {
                task = prepare(pairs(words));
                std::cout << ready(task) << std::endl;
            } else if (verb == "go" && task.run) {
                words >> n;
                std::cout << go(task, n, pairs(words)) << std::endl;
            }
        } catch (const Skip &reason) {
            std::cout << "skip " << reason.what() << std::endl;
        } catch (const std::exception &error) {
            std::cout << "fail " << error.what() << std::endl;
        }
    }
    return 0;
}

// A method of `reading` in C++: c++ -O2 -o worker worker.cpp; bytelab run reading --worker 'mine=./worker'
#include <chrono>
#include <fstream>
#include <iomanip>
#include <iostream>

int main() {
    std::string line, path;
    std::cout << "hello 1 name=mine lang=cpp" << std::endl;
    while (std::getline(std::cin, line) && line != "bye") {
        if (line.rfind("prepare ", 0) == 0) { // A path with %XX in it is not understood here.
            auto start = line.find(" file=") + 6;
            path = line.substr(start, line.find(' ', start) - start);
            std::cout << "ready" << std::endl;
        } else { // go N
            auto start = std::chrono::steady_clock::now();
            unsigned long long size = 0, total = 0;
            static char buffer[128 << 10];
            for (std::ifstream file(path, std::ios::binary); file.read(buffer, sizeof buffer), file.gcount() > 0; size += file.gcount())
                for (auto i = 0; i < file.gcount(); i++) total += static_cast<unsigned char>(buffer[i]);
            std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - start;
            std::cout << "done " << std::stoi(line.substr(3)) << " wall=" << wall.count() << " bytes=" << size << " answer=" << std::hex << std::setfill('0') << std::setw(16) << total << std::dec << std::endl;
        }
    }
}

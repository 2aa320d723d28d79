// The peer for records of a fixed size: Vitter's method D ("An Efficient Algorithm for Sequential Random
// Sampling", 1987) with method A where few records are left, a seekg and a read for each record.
// seekg FILE RECORD_BYTES N SEED OUTPUT
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const long long len = std::atoll(argv[2]), n_asked = std::atoll(argv[3]);
  std::mt19937_64 rng(std::strtoull(argv[4], nullptr, 10));
  auto unit = [&] { return ((rng() >> 11) + 1) * (1.0 / (1ull << 53)); };
  std::ifstream in(argv[1], std::ios::binary);
  std::ofstream out(argv[5], std::ios::binary);
  in.seekg(0, std::ios::end);
  const long long total = in.tellg() / len;
  if (!in || !out || n_asked > total) return 1;
  std::vector<char> record(len);
  long long at = 0;
  auto take = [&](double skip) {
    at += (long long)skip;
    in.seekg(at * len);
    in.read(record.data(), len);
    out.write(record.data(), len);
    ++at;
  };
  double n = n_asked, left = total;
  double v = std::exp(std::log(unit()) / n);
  while (n > 1 && n * 13 < left) {
    const double places = left - n + 1, inverse = 1 / (n - 1);
    double skip, x;
    for (;;) {
      for (;;) {
        x = left * (1 - v);
        skip = std::floor(x);
        if (skip < places) break;
        v = std::exp(std::log(unit()) / n);
      }
      const double y = std::exp(std::log(unit() * left / places) * inverse);
      v = y * (1 - x / left) * (places / (places - skip));
      if (v <= 1) break;
      double y2 = 1, top = left - 1, bottom, limit;
      if (n - 1 > skip) { bottom = left - n; limit = left - skip; }
      else { bottom = left - skip - 1; limit = places; }
      for (; top >= limit; --top, --bottom) y2 *= top / bottom;
      if (left / (left - x) >= y * std::exp(std::log(y2) * inverse)) {
        v = std::exp(std::log(unit()) * inverse);
        break;
      }
      v = std::exp(std::log(unit()) / n);
    }
    take(skip);
    left -= skip + 1;
    n -= 1;
  }
  while (n > 1) {
    double top = left - n, skip = 0, quotient = top / left;
    const double u = unit();
    double rest = left;
    while (quotient > u) { ++skip; --top; --rest; quotient *= top / rest; }
    take(skip);
    left -= skip + 1;
    n -= 1;
  }
  if (n == 1) take(std::min(std::floor(left * unit()), left - 1));
  out.close();
  return in && out ? 0 : 1;
}

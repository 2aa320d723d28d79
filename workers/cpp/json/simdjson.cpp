// From bytes to values by simdjson, into its tree: `worker decoding simdjson` speaks the line protocol. The text stands
// in memory with the padding that simdjson wants, and its parser is used again, as its documentation says.
#include <simdjson.h>

#include "decoding.hpp"

namespace {

namespace dom = simdjson::dom;

struct Simdjson {
    using Doc = dom::element;
    using Value = dom::element;

    simdjson::padded_string text;
    dom::parser parser;
    // It lies in the parser, and is gone when the parser reads the next one.
    Doc doc;

    explicit Simdjson(std::string_view text) : text(text) {}

    const Doc &parse() {
        doc = parser.parse(text);
        return doc;
    }

    static Value root(const Doc &doc) { return doc; }

    static Value find(Value value, const Step &step) {
        return step.index ? value.at(*step.index).value() : value.at_key(step.key).value();
    }

    static std::string print(const Doc &doc) { return simdjson::minify(doc); }

    static double number(Value value) {
        switch (value.type()) {
        case dom::element_type::INT64:
            return static_cast<double>(std::int64_t(value));
        case dom::element_type::UINT64:
            return static_cast<double>(std::uint64_t(value));
        default:
            return double(value);
        }
    }

    static std::uint64_t visit(Value value) {
        switch (value.type()) {
        case dom::element_type::STRING:
            return value.get_string_length().value();
        case dom::element_type::BOOL:
            return bool(value);
        case dom::element_type::NULL_VALUE:
            return 0;
        case dom::element_type::ARRAY: {
            std::uint64_t sum = 0;
            for (auto item : dom::array(value))
                sum += visit(item);
            return sum;
        }
        case dom::element_type::OBJECT: {
            std::uint64_t sum = 0;
            for (auto pair : dom::object(value))
                sum += pair.key.size() + visit(pair.value);
            return sum;
        }
        default:
            return whole(number(value));
        }
    }

    static std::uint64_t mark(Value value) {
        switch (value.type()) {
        case dom::element_type::STRING:
            return mark_of(std::string_view(value));
        case dom::element_type::BOOL:
            return bool(value);
        case dom::element_type::NULL_VALUE:
            return 0;
        case dom::element_type::ARRAY:
        case dom::element_type::OBJECT:
            return 1;
        default:
            return bits(number(value));
        }
    }

    static std::uint64_t digest(Value value) {
        switch (value.type()) {
        case dom::element_type::STRING:
            return digest_of(5, std::string_view(value));
        case dom::element_type::BOOL:
            return 2 + bool(value);
        case dom::element_type::NULL_VALUE:
            return 1;
        case dom::element_type::ARRAY: {
            std::uint64_t sum = 6;
            for (auto item : dom::array(value))
                sum = mixed(sum, digest(item));
            return sum;
        }
        case dom::element_type::OBJECT: {
            std::uint64_t sum = 7;
            for (auto pair : dom::object(value))
                sum += mixed(digest_of(8, pair.key), digest(pair.value));
            return sum;
        }
        default:
            return mixed(4, bits(number(value) + 0.0));
        }
    }
};

} // namespace

int main(int argc, char **argv) {
    if (argc == 3 && argv[1] == std::string("decoding") && argv[2] == std::string("simdjson"))
        return serve<Simdjson>("simdjson");
    std::cerr << "use: worker decoding simdjson\n";
    return 2;
}

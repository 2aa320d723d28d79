// From bytes to values by yyjson, into its immutable tree: `worker decoding yyjson` speaks the line protocol.
#include <yyjson.h>

#include "decoding.hpp"

namespace {

struct Free {
    void operator()(yyjson_doc *doc) const { yyjson_doc_free(doc); }
};

struct Yyjson {
    using Doc = std::unique_ptr<yyjson_doc, Free>;
    using Value = yyjson_val *;

    std::string text;
    Doc doc;

    explicit Yyjson(std::string_view text) : text(text) {}

    const Doc &parse() {
        // What was parsed before goes first, so that its memory can be used again.
        doc.reset();
        yyjson_read_err error;
        doc.reset(yyjson_read_opts(text.data(), text.size(), YYJSON_READ_NOFLAG, nullptr, &error));
        if (!doc)
            throw std::runtime_error(error.msg);
        return doc;
    }

    static Value root(const Doc &doc) { return yyjson_doc_get_root(doc.get()); }

    static Value find(Value value, const Step &step) {
        return step.index ? yyjson_arr_get(value, *step.index)
                          : yyjson_obj_getn(value, step.key.data(), step.key.size());
    }

    static std::string print(const Doc &doc) {
        std::size_t len = 0;
        std::unique_ptr<char, decltype(&std::free)> text(yyjson_write(doc.get(), YYJSON_WRITE_NOFLAG, &len),
                                                         &std::free);
        return {text.get(), len};
    }

    static std::uint64_t visit(Value value) {
        std::uint64_t sum = 0;
        std::size_t i, n;
        yyjson_val *key, *item;
        switch (yyjson_get_type(value)) {
        case YYJSON_TYPE_STR:
            return yyjson_get_len(value);
        case YYJSON_TYPE_NUM:
            return whole(yyjson_get_num(value));
        case YYJSON_TYPE_BOOL:
            return yyjson_get_bool(value);
        case YYJSON_TYPE_ARR:
            yyjson_arr_foreach(value, i, n, item) sum += visit(item);
            return sum;
        case YYJSON_TYPE_OBJ:
            yyjson_obj_foreach(value, i, n, key, item) sum += yyjson_get_len(key) + visit(item);
            return sum;
        default:
            return 0;
        }
    }

    static std::uint64_t mark(Value value) {
        switch (yyjson_get_type(value)) {
        case YYJSON_TYPE_STR:
            return mark_of(text_of(value));
        case YYJSON_TYPE_NUM:
            return bits(yyjson_get_num(value));
        case YYJSON_TYPE_BOOL:
            return yyjson_get_bool(value);
        default:
            return yyjson_is_ctn(value);
        }
    }

    static std::uint64_t digest(Value value) {
        std::uint64_t sum;
        std::size_t i, n;
        yyjson_val *key, *item;
        switch (yyjson_get_type(value)) {
        case YYJSON_TYPE_STR:
            return digest_of(5, text_of(value));
        case YYJSON_TYPE_NUM:
            return mixed(4, bits(yyjson_get_num(value) + 0.0));
        case YYJSON_TYPE_BOOL:
            return 2 + yyjson_get_bool(value);
        case YYJSON_TYPE_ARR:
            sum = 6;
            yyjson_arr_foreach(value, i, n, item) sum = mixed(sum, digest(item));
            return sum;
        case YYJSON_TYPE_OBJ:
            sum = 7;
            yyjson_obj_foreach(value, i, n, key, item) sum +=
                mixed(digest_of(8, text_of(key)), digest(item));
            return sum;
        default:
            return 1;
        }
    }

    static std::string_view text_of(Value value) { return {yyjson_get_str(value), yyjson_get_len(value)}; }
};

} // namespace

int main(int argc, char **argv) {
    if (argc == 3 && argv[1] == std::string("decoding") && argv[2] == std::string("yyjson"))
        return serve<Yyjson>("yyjson");
    std::cerr << "use: worker decoding yyjson\n";
    return 2;
}

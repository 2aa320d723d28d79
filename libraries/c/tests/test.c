// Holds the interface against what the header says; run under valgrind or AddressSanitizer.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytelab.h"

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

#define OK(call) CHECK((call) == BYTELAB_STATUS_OK)
#define TEXT(text) (text), strlen(text)

static bool is(BytelabBytes bytes, const char *text) {
    return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

// The error has this text in it; it is freed.
static void expect(BytelabError *error, const char *text) {
    CHECK(error != NULL);
    CHECK(strstr(bytelab_error_message(error), text) != NULL);
    bytelab_error_free(error);
}

static BytelabFleece *document(const char *json) {
    BytelabFleece *made;
    OK(bytelab_fleece_from_json(TEXT(json), &made, NULL));
    return made;
}

static void values_are_read(void) {
    BytelabFleece *open, *made = document("{\"a\":[1,-2,2.5,true,null,\"h\\u00e9\"],\"b\":{}}");
    BytelabBytes bytes = bytelab_fleece_bytes(made);
    OK(bytelab_fleece_check(bytes.data, bytes.len, &open, NULL));
    bytelab_fleece_free(made); // the bytes were copied
    BytelabValue root = bytelab_fleece_root(open), array, item;
    CHECK(bytelab_value_kind(root) == BYTELAB_KIND_DICT && bytelab_value_len(root) == 2);
    OK(bytelab_value_get(root, TEXT("a"), &array));
    CHECK(bytelab_value_kind(array) == BYTELAB_KIND_ARRAY && bytelab_value_len(array) == 6);
    uint64_t natural;
    int64_t integer;
    double number;
    bool truth;
    OK(bytelab_value_item(array, 0, &item));
    OK(bytelab_value_u64(item, &natural));
    OK(bytelab_value_path(root, TEXT("a[1]"), &item));
    OK(bytelab_value_i64(item, &integer));
    CHECK(natural == 1 && integer == -2);
    CHECK(bytelab_value_u64(item, &natural) == BYTELAB_STATUS_WRONG_TYPE && natural == 0);
    OK(bytelab_value_path(root, TEXT("a[2]"), &item));
    OK(bytelab_value_f64(item, &number));
    OK(bytelab_value_item(array, 3, &item));
    OK(bytelab_value_bool(item, &truth));
    CHECK(number == 2.5 && truth);
    OK(bytelab_value_item(array, 4, &item));
    CHECK(bytelab_value_kind(item) == BYTELAB_KIND_NULL);
    OK(bytelab_value_item(array, 5, &item));
    OK(bytelab_value_string(item, &bytes));
    CHECK(is(bytes, "h\xc3\xa9"));
    CHECK(bytelab_value_data(item, &bytes) == BYTELAB_STATUS_WRONG_TYPE && bytes.len == 0);
    CHECK(bytelab_value_item(array, 6, &item) == BYTELAB_STATUS_MISSING);
    CHECK(bytelab_value_get(root, TEXT("x"), &item) == BYTELAB_STATUS_MISSING);
    CHECK(bytelab_value_get(array, TEXT("x"), &item) == BYTELAB_STATUS_WRONG_TYPE);
    CHECK(bytelab_value_get(root, TEXT("\xff"), &item) == BYTELAB_STATUS_INVALID_USE);
    CHECK(bytelab_value_path(root, TEXT("a["), &item) == BYTELAB_STATUS_INVALID_USE);
    bytelab_fleece_free(open);
}

static void pairs_and_json_are_read(void) {
    BytelabFleece *made = document("{\"b\":[2],\"a\":1}");
    BytelabValue root = bytelab_fleece_root(made), value;
    BytelabPairs *pairs;
    BytelabBytes key;
    OK(bytelab_value_pairs(root, &pairs));
    OK(bytelab_pairs_next(pairs, &key, &value));
    CHECK(is(key, "a") && bytelab_value_kind(value) == BYTELAB_KIND_NUMBER);
    OK(bytelab_pairs_next(pairs, &key, &value));
    CHECK(is(key, "b") && bytelab_value_kind(value) == BYTELAB_KIND_ARRAY);
    CHECK(bytelab_value_pairs(value, NULL) == BYTELAB_STATUS_INVALID_USE);
    BytelabPairs *none;
    CHECK(bytelab_value_pairs(value, &none) == BYTELAB_STATUS_WRONG_TYPE && none == NULL);
    CHECK(bytelab_pairs_next(pairs, &key, &value) == BYTELAB_STATUS_END);
    bytelab_pairs_free(pairs);
    BytelabBuffer *json;
    BytelabError *error;
    OK(bytelab_value_to_json(root, 0, &json, &error));
    CHECK(error == NULL && is(bytelab_buffer_bytes(json), "{\"a\":1,\"b\":[2]}"));
    bytelab_buffer_free(json);
    CHECK(bytelab_value_to_json(root, 5, &json, &error) == BYTELAB_STATUS_TOO_LARGE);
    CHECK(json == NULL);
    expect(error, "limit");
    bytelab_fleece_free(made);
}

static void bad_bytes_are_errors(void) {
    const uint8_t cycle[] = {0x60, 1, 0x80, 1, 0x80, 2};
    BytelabFleece *made;
    BytelabError *error;
    uint64_t offset = 0;
    CHECK(bytelab_fleece_check(cycle, sizeof cycle, &made, &error) == BYTELAB_STATUS_BAD_DATA);
    CHECK(made == NULL && bytelab_error_offset(error, &offset) && offset == 2);
    CHECK(bytelab_error_http_status(error) == 0);
    bytelab_error_free(error);
    CHECK(bytelab_fleece_check(NULL, 0, &made, NULL) == BYTELAB_STATUS_BAD_DATA);
    CHECK(bytelab_fleece_from_json(TEXT("[1,\n 2,]"), &made, &error) == BYTELAB_STATUS_BAD_DATA);
    expect(error, "line 2 column 4");
    // All documents of six bytes with these beginnings: an error, or values.
    for (unsigned i = 0; i < 1 << 16; i++) {
        uint8_t bytes[] = {0x60 | (i & 0x1f), i >> 4, 0x80 | (i >> 12), i >> 5, 0x80, i & 7};
        if (bytelab_fleece_check(bytes, sizeof bytes, &made, NULL) != BYTELAB_STATUS_OK)
            continue;
        BytelabValue item = bytelab_fleece_root(made);
        bytelab_value_kind(item);
        BytelabBuffer *json;
        if (bytelab_value_to_json(item, 1000, &json, NULL) == BYTELAB_STATUS_OK)
            bytelab_buffer_free(json);
        for (size_t at = 0; at < 8; at++) // also where no value is
            bytelab_value_len((BytelabValue){made, at});
        bytelab_fleece_free(made);
    }
}

static void null_pointers_are_errors(void) {
    BytelabFleece *made;
    BytelabRecords *records;
    BytelabStream *stream;
    BytelabBytes bytes;
    BytelabError *error;
    BytelabValue none = {NULL, 0};
    const uint8_t byte = 0;
    CHECK(bytelab_fleece_check(NULL, 2, &made, &error) == BYTELAB_STATUS_INVALID_USE);
    expect(error, "null");
    CHECK(bytelab_fleece_check(&byte, SIZE_MAX, &made, NULL) == BYTELAB_STATUS_INVALID_USE);
    CHECK(bytelab_fleece_check(&byte, 1, NULL, NULL) == BYTELAB_STATUS_INVALID_USE);
    CHECK(bytelab_value_kind(none) == BYTELAB_KIND_UNDEFINED && bytelab_value_len(none) == 0);
    CHECK(bytelab_value_string(none, &bytes) == BYTELAB_STATUS_INVALID_USE);
    CHECK(bytelab_fleece_root(NULL).document == NULL && bytelab_fleece_bytes(NULL).len == 0);
    CHECK(bytelab_sample(NULL, 1, NULL, &records, NULL) == BYTELAB_STATUS_INVALID_USE);
    CHECK(bytelab_records_count(NULL) == 0 && bytelab_buffer_bytes(NULL).len == 0);
    CHECK(bytelab_records_get(NULL, 0, &bytes) == BYTELAB_STATUS_INVALID_USE);
    CHECK(bytelab_stream_open(NULL, NULL, &stream, NULL) == BYTELAB_STATUS_INVALID_USE);
    CHECK(bytelab_stream_next(NULL, &bytes, NULL) == BYTELAB_STATUS_INVALID_USE);
    CHECK(bytelab_copy(-1, 1, NULL, NULL) == BYTELAB_STATUS_INVALID_USE);
    CHECK(strlen(bytelab_error_message(NULL)) == 0 && !bytelab_error_offset(NULL, NULL));
    bytelab_fleece_free(NULL);
    bytelab_pairs_free(NULL);
    bytelab_buffer_free(NULL);
    bytelab_records_free(NULL);
    bytelab_stream_close(NULL);
    bytelab_error_free(NULL);
}

static void records_are_drawn(const char *file) {
    BytelabRecords *records, *again;
    BytelabError *error;
    BytelabSampleOptions options = {.n = 10, .seed = 7};
    OK(bytelab_sample(&file, 1, &options, &records, &error));
    OK(bytelab_sample(&file, 1, &options, &again, &error));
    CHECK(error == NULL && bytelab_records_count(records) == 10);
    for (size_t i = 0; i < 10; i++) {
        BytelabBytes one, other;
        OK(bytelab_records_get(records, i, &one));
        OK(bytelab_records_get(again, i, &other));
        CHECK(one.len == 10 && memcmp(one.data, "line", 4) == 0);
        CHECK(memcmp(one.data, other.data, one.len) == 0);
    }
    BytelabBytes bytes;
    CHECK(bytelab_records_get(records, 10, &bytes) == BYTELAB_STATUS_MISSING);
    bytelab_records_free(records);
    bytelab_records_free(again);
    options.n = 1 << 20;
    CHECK(bytelab_sample(&file, 1, &options, &records, &error) == BYTELAB_STATUS_BAD_DATA);
    bytelab_error_free(error);
    options.at_most = true;
    OK(bytelab_sample(&file, 1, &options, &records, NULL));
    CHECK(bytelab_records_count(records) == 10000);
    bytelab_records_free(records);
    options.format = "no such format";
    CHECK(bytelab_sample(&file, 1, &options, &records, &error) == BYTELAB_STATUS_BAD_DATA);
    expect(error, "no such format");
    file = "/no/such/file";
    options.format = NULL;
    CHECK(bytelab_sample(&file, 1, &options, &records, &error) == BYTELAB_STATUS_IO);
    expect(error, "/no/such/file");
}

// Makes a file with this text, whose name begins as that of another file does.
static const char *made(const char *beside, const char *ending, const char *text) {
    static char path[4096];
    snprintf(path, sizeof path, "%s%s", beside, ending);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    return path;
}

static void formats_are_found(const char *beside) {
    BytelabRecords *records;
    BytelabError *error;
    BytelabBytes record;
    BytelabSampleOptions options = {.n = 2, .seed = 1};
    const char *file = made(beside, ".fq", "@r1\nACGT\n+\n@III\n@r2\nGG\n+\n++\n");
    OK(bytelab_sample(&file, 1, &options, &records, &error));
    OK(bytelab_records_get(records, 0, &record));
    CHECK(is(record, "@r1\nACGT\n+\n@III\n"));
    bytelab_records_free(records);
    file = made(beside, ".csv", "id;note\n1;\"a\nb\"\n2;c\n");
    OK(bytelab_sample(&file, 1, &options, &records, &error));
    OK(bytelab_records_get(records, 0, &record));
    CHECK(is(record, "1;\"a\nb\"\n") && bytelab_records_count(records) == 2);
    bytelab_records_free(records);
    options.delimiter = ',';
    CHECK(bytelab_sample(&file, 1, &options, &records, &error) == BYTELAB_STATUS_BAD_DATA);
    expect(error, "the delimiter is a comma");
    options.delimiter = ';';
    options.no_header = true;
    options.n = 3;
    OK(bytelab_sample(&file, 1, &options, &records, &error));
    bytelab_records_free(records);
    options.header = true;
    CHECK(bytelab_sample(&file, 1, &options, &records, &error) == BYTELAB_STATUS_INVALID_USE);
    expect(error, "both set");
    options = (BytelabSampleOptions){.n = 4, .format = "lines"};
    OK(bytelab_sample(&file, 1, &options, &records, &error));
    bytelab_records_free(records);
    options.format = NULL;
    file = made(beside, ".txt", "\xff\xfeid\n");
    CHECK(bytelab_sample(&file, 1, &options, &records, &error) == BYTELAB_STATUS_BAD_DATA);
    expect(error, "iconv -f UTF-16");
}

static void streams_are_read(const char *file) {
    BytelabStream *stream;
    BytelabError *error;
    BytelabBytes chunk;
    BytelabStreamOptions options = {.buffer_bytes = 1000};
    size_t sum = 0;
    OK(bytelab_stream_open(file, &options, &stream, &error));
    while (bytelab_stream_next(stream, &chunk, &error) == BYTELAB_STATUS_OK)
        sum += chunk.len;
    CHECK(error == NULL && chunk.len == 0 && sum == 100000);
    CHECK(bytelab_stream_next(stream, &chunk, NULL) == BYTELAB_STATUS_END);
    bytelab_stream_close(stream);
    options.limit_bytes = 4;
    CHECK(bytelab_stream_open(file, &options, &stream, &error) == BYTELAB_STATUS_TOO_LARGE);
    expect(error, file);
    CHECK(bytelab_stream_open("/no/such", NULL, &stream, &error) == BYTELAB_STATUS_IO);
    expect(error, "/no/such");
    CHECK(bytelab_stream_open("http://127.0.0.1:1/", NULL, &stream, &error) == BYTELAB_STATUS_IO);
    CHECK(stream == NULL);
    expect(error, "127.0.0.1");
}

static void descriptors_are_copied(const char *file, const char *copy) {
    uint64_t copied = 0;
    int from = open(file, O_RDONLY), to = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0600);
    OK(bytelab_copy(from, to, &copied, NULL));
    CHECK(copied == 100000 && lseek(to, 0, SEEK_END) == 100000);
    BytelabError *error;
    CHECK(lseek(to, 0, SEEK_SET) == 0);
    CHECK(bytelab_copy(to, from, &copied, &error) == BYTELAB_STATUS_IO); // it is not for writing
    expect(error, "Bad file descriptor");
    close(from);
    close(to);
}

static bool stop_at_once(void *calls, uint64_t done_bytes, uint64_t total_bytes) {
    CHECK(done_bytes > 0 && done_bytes <= total_bytes);
    *(int *)calls += 1;
    return false;
}

static bool sum_up(void *sum, uint64_t done_bytes, uint64_t total_bytes) {
    CHECK(total_bytes == 100000);
    *(uint64_t *)sum = done_bytes;
    return true;
}

static void files_are_loaded(const char *file) {
    BytelabLoaded *loaded;
    BytelabError *error;
    BytelabBytes bytes;
    BytelabLoadChoice choice;
    OK(bytelab_load(file, NULL, &loaded, &error));
    bytes = bytelab_loaded_bytes(loaded);
    CHECK(error == NULL && bytes.len == 100000 && memcmp(bytes.data, "line 0000\n", 10) == 0);
    OK(bytelab_loaded_choice(loaded, &choice));
    CHECK(choice.way == BYTELAB_LOAD_WAY_READ && choice.reason == BYTELAB_LOAD_REASON_SMALL);
    CHECK(choice.threads == 1 && choice.size_bytes == 100000 && choice.cached_share < 0);
    bytelab_loaded_free(loaded);
    BytelabRange parts[] = {{99990, 100000}, {10, 19}, {5, 5}};
    BytelabLoadOptions options = {.parts = parts, .part_count = 3};
    for (options.way = 0; options.way < 5; options.way++) {
        if (options.way == BYTELAB_LOAD_WAY_MAP)
            continue;
        OK(bytelab_load(file, &options, &loaded, &error));
        CHECK(is(bytelab_loaded_bytes(loaded), "line 9999\nline 0001"));
        OK(bytelab_loaded_part(loaded, 1, &bytes));
        CHECK(is(bytes, "line 0001"));
        OK(bytelab_loaded_part(loaded, 2, &bytes));
        CHECK(bytes.len == 0);
        CHECK(bytelab_loaded_part(loaded, 3, &bytes) == BYTELAB_STATUS_MISSING);
        bytelab_loaded_free(loaded);
    }
    CHECK(bytelab_load(file, &options, &loaded, &error) == BYTELAB_STATUS_INVALID_USE);
    expect(error, "no way 5");
    uint64_t sum = 0, offset = 0;
    options = (BytelabLoadOptions){.way = BYTELAB_LOAD_WAY_MAP, .allow_map = true};
    OK(bytelab_load(file, &options, &loaded, &error));
    CHECK(bytelab_loaded_bytes(loaded).len == 100000);
    bytelab_loaded_free(loaded);
    options = (BytelabLoadOptions){.way = BYTELAB_LOAD_WAY_PREAD, .threads = 2};
    options.progress = sum_up;
    options.context = &sum;
    OK(bytelab_load(file, &options, &loaded, &error));
    CHECK(sum == 100000);
    bytelab_loaded_free(loaded);
    parts[1].end = 100001;
    options.parts = parts;
    options.part_count = 2;
    CHECK(bytelab_load(file, &options, &loaded, &error) == BYTELAB_STATUS_INVALID_USE);
    CHECK(loaded == NULL && bytelab_error_offset(error, &offset) && offset == 10);
    expect(error, file);
    options.parts = NULL;
    CHECK(bytelab_load(file, &options, &loaded, NULL) == BYTELAB_STATUS_INVALID_USE);
    int calls = 0;
    parts[1] = parts[0];
    options = (BytelabLoadOptions){.parts = parts, .part_count = 2, .way = BYTELAB_LOAD_WAY_PREAD};
    options.progress = stop_at_once;
    options.context = &calls;
    options.threads = 1;
    CHECK(bytelab_load(file, &options, &loaded, &error) == BYTELAB_STATUS_CANCELLED);
    expect(error, "cancelled");
    CHECK(loaded == NULL && calls == 1);
    options.part_count = 1;
    CHECK(bytelab_load(file, &options, &loaded, &error) == BYTELAB_STATUS_CANCELLED);
    expect(error, "cancelled");
    CHECK(loaded == NULL && calls == 2);
    CHECK(bytelab_load("/no/such", NULL, &loaded, &error) == BYTELAB_STATUS_IO);
    expect(error, "/no/such");
    CHECK(bytelab_load(NULL, NULL, &loaded, NULL) == BYTELAB_STATUS_INVALID_USE);
    CHECK(bytelab_load(file, NULL, NULL, NULL) == BYTELAB_STATUS_INVALID_USE);
    CHECK(bytelab_loaded_bytes(NULL).len == 0);
    CHECK(bytelab_loaded_part(NULL, 0, &bytes) == BYTELAB_STATUS_INVALID_USE);
    CHECK(bytelab_loaded_choice(NULL, &choice) == BYTELAB_STATUS_INVALID_USE);
    bytelab_loaded_free(NULL);
}

static void *read_in_thread(void *open) {
    BytelabValue item;
    for (size_t i = 0; i < 1000; i++) {
        BytelabBuffer *json;
        OK(bytelab_value_path(bytelab_fleece_root(open), TEXT("a[1].b"), &item));
        OK(bytelab_value_to_json(item, 0, &json, NULL));
        CHECK(is(bytelab_buffer_bytes(json), "7"));
        bytelab_buffer_free(json);
    }
    return NULL;
}

static void threads_share_a_document(void) {
    BytelabFleece *made = document("{\"a\":[0,{\"b\":7}]}");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, read_in_thread, made) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    bytelab_fleece_free(made);
}

int main(int argc, char **argv) {
    CHECK(argc == 3); // a file of 10000 lines of 9 bytes, and the path of a copy
    values_are_read();
    pairs_and_json_are_read();
    bad_bytes_are_errors();
    null_pointers_are_errors();
    records_are_drawn(argv[1]);
    formats_are_found(argv[2]);
    streams_are_read(argv[1]);
    descriptors_are_copied(argv[1], argv[2]);
    files_are_loaded(argv[1]);
    threads_share_a_document();
    puts("all is as the header says");
}

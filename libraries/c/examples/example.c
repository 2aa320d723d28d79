// Reads a document, draws three lines of a file, and counts the bytes of a path or URL.
//   ./example [FILE [URL]]
#include <stdio.h>
#include <string.h>

#include "bytelab.h"

// Prints what failed, and frees it.
static int failed(const char *what, BytelabError *error) {
    fprintf(stderr, "%s: %s\n", what, bytelab_error_message(error));
    bytelab_error_free(error);
    return 1;
}

static int print_name(void) {
    const char *json = "{\"people\": [{\"name\": \"Ada\", \"born\": 1815}]}";
    BytelabFleece *document;
    BytelabError *error;
    if (bytelab_fleece_from_json(json, strlen(json), &document, &error) != BYTELAB_STATUS_OK)
        return failed("JSON", error);
    const char *path = "people[0].name";
    BytelabValue name;
    BytelabBytes text;
    if (bytelab_value_path(bytelab_fleece_root(document), path, strlen(path), &name) ==
            BYTELAB_STATUS_OK &&
        bytelab_value_string(name, &text) == BYTELAB_STATUS_OK)
        printf("name: %.*s\n", (int)text.len, (const char *)text.data);
    bytelab_fleece_free(document);
    return 0;
}

static int print_sample(const char *file) {
    BytelabSampleOptions options = {.n = 3, .seed = 7, .at_most = true};
    BytelabRecords *records;
    BytelabError *error;
    if (bytelab_sample(&file, 1, &options, &records, &error) != BYTELAB_STATUS_OK)
        return failed("sample", error);
    BytelabBytes record;
    for (size_t i = 0; bytelab_records_get(records, i, &record) == BYTELAB_STATUS_OK; i++)
        printf("line: %.*s", (int)record.len, (const char *)record.data);
    bytelab_records_free(records);
    return 0;
}

static int print_size(const char *address) {
    BytelabStream *stream;
    BytelabError *error;
    if (bytelab_stream_open(address, NULL, &stream, &error) != BYTELAB_STATUS_OK)
        return failed("open", error);
    BytelabBytes chunk;
    BytelabStatus status;
    size_t sum = 0;
    while ((status = bytelab_stream_next(stream, &chunk, &error)) == BYTELAB_STATUS_OK)
        sum += chunk.len;
    bytelab_stream_close(stream);
    if (status != BYTELAB_STATUS_END)
        return failed("read", error);
    printf("bytes: %zu\n", sum);
    return 0;
}

int main(int argc, char **argv) {
    const char *file = argc > 1 ? argv[1] : "/etc/passwd";
    return print_name() || print_sample(file) || print_size(argc > 2 ? argv[2] : file);
}

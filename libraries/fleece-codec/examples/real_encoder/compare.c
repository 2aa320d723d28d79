/* Encodes the documents of main.rs with Couchbase's own encoder and compares: bytes, and the JSON text made of them.
 * Usage: compare libLiteCore.so < records. Exit status 1 if anything differs. */

#include "../original.h"

static Encoder (*encoder_new)(void);
static void (*encoder_free)(Encoder);
static bool (*write_null)(Encoder);
static bool (*write_bool)(Encoder, bool);
static bool (*write_int)(Encoder, int64_t);
static bool (*write_uint)(Encoder, uint64_t);
static bool (*write_float)(Encoder, float);
static bool (*write_double)(Encoder, double);
static bool (*write_string)(Encoder, Slice);
static bool (*write_data)(Encoder, Slice);
static bool (*write_key)(Encoder, Slice);
static bool (*begin_array)(Encoder, size_t);
static bool (*end_array)(Encoder);
static bool (*begin_dict)(Encoder, size_t);
static bool (*end_dict)(Encoder);
static bool (*convert_json)(Encoder, Slice);
static Slice (*finish)(Encoder, int *);
static Value (*value_from_data)(Slice, int);
static Slice (*value_to_json)(Value);
static void (*release)(const void *);

static const Function FUNCTIONS[] = {
    {"FLEncoder_New", &encoder_new},
    {"FLEncoder_Free", &encoder_free},
    {"FLEncoder_WriteNull", &write_null},
    {"FLEncoder_WriteBool", &write_bool},
    {"FLEncoder_WriteInt", &write_int},
    {"FLEncoder_WriteUInt", &write_uint},
    {"FLEncoder_WriteFloat", &write_float},
    {"FLEncoder_WriteDouble", &write_double},
    {"FLEncoder_WriteString", &write_string},
    {"FLEncoder_WriteData", &write_data},
    {"FLEncoder_WriteKey", &write_key},
    {"FLEncoder_BeginArray", &begin_array},
    {"FLEncoder_EndArray", &end_array},
    {"FLEncoder_BeginDict", &begin_dict},
    {"FLEncoder_EndDict", &end_dict},
    {"FLEncoder_ConvertJSON", &convert_json},
    {"FLEncoder_Finish", &finish},
    {"FLValue_FromData", &value_from_data},
    {"FLValue_ToJSON", &value_to_json},
    {"_FLBuf_Release", &release},
};

static uint64_t take(Slice *rest, size_t bytes) {
    uint64_t number = 0;
    if (rest->size < bytes) {
        fprintf(stderr, "a record ends too early\n");
        exit(2);
    }
    memcpy(&number, rest->buf, bytes);
    rest->buf += bytes;
    rest->size -= bytes;
    return number;
}

static Slice take_slice(Slice *rest) {
    Slice slice = {rest->buf, take(rest, 4)};
    slice.buf = rest->buf;
    if (rest->size < slice.size) {
        fprintf(stderr, "a record ends too early\n");
        exit(2);
    }
    rest->buf += slice.size;
    rest->size -= slice.size;
    return slice;
}

static bool event(Encoder encoder, Slice *rest) {
    uint64_t bits;
    uint32_t bits_32;
    float single;
    double number;
    switch (take(rest, 1)) {
    case 'n': return write_null(encoder);
    case 't': return write_bool(encoder, true);
    case 'f': return write_bool(encoder, false);
    case 'i': return write_int(encoder, (int64_t)take(rest, 8));
    case 'u': return write_uint(encoder, take(rest, 8));
    case 'r':
        bits_32 = (uint32_t)take(rest, 4);
        memcpy(&single, &bits_32, 4);
        return write_float(encoder, single);
    case 'd':
        bits = take(rest, 8);
        memcpy(&number, &bits, 8);
        return write_double(encoder, number);
    case 's': return write_string(encoder, take_slice(rest));
    case 'b': return write_data(encoder, take_slice(rest));
    case 'k': return write_key(encoder, take_slice(rest));
    case '[': return begin_array(encoder, 0);
    case ']': return end_array(encoder);
    case '{': return begin_dict(encoder, 0);
    case '}': return end_dict(encoder);
    }
    fprintf(stderr, "an event is unknown\n");
    exit(2);
}

static bool differs(const char *what, unsigned long number, Slice input, Slice ours, Slice theirs) {
    if (theirs.size == ours.size && !memcmp(ours.buf, theirs.buf, ours.size)) return false;
    size_t at = 0;
    while (at < ours.size && at < theirs.size && ours.buf[at] == theirs.buf[at]) at++;
    printf("document %lu: %s differs at byte %zu (ours %zu bytes, theirs %zu)\n", number, what, at, ours.size, theirs.size);
    printf("  input:  %.*s\n", (int)(input.size < 400 ? input.size : 400), input.buf);
    Slice sides[2] = {ours, theirs};
    for (int side = 0; side < 2; side++) {
        printf(side ? "  theirs:" : "  ours:  ");
        for (size_t i = at < 8 ? 0 : at - 8; i < at + 24 && i < sides[side].size; i++) printf(" %02x", sides[side].buf[i]);
        printf("\n");
    }
    return true;
}

/* A record: how it is to be written, the input, our bytes, our JSON text. */
static bool compare(unsigned long number, Slice record) {
    int kind = (int)take(&record, 1);
    Slice input = take_slice(&record), bytes = take_slice(&record), text = take_slice(&record);
    Encoder encoder = encoder_new();
    bool written = true;
    if (kind == 'J') {
        written = convert_json(encoder, input);
    } else {
        for (Slice rest = input; written && rest.size;) written = event(encoder, &rest);
    }
    int error = 0;
    Slice theirs = finish(encoder, &error);
    encoder_free(encoder);
    if (!written || !theirs.buf) {
        printf("document %lu: their encoder says error %d\n  input:  %.*s\n", number, error, (int)(input.size < 400 ? input.size : 400), input.buf);
        return false;
    }
    bool is_same = !differs("the document", number, input, bytes, theirs);
    if (is_same) {
        /* Their copy of the bytes, because they want an even address. */
        Value root = value_from_data(theirs, 0);
        Slice their_text = root ? value_to_json(root) : (Slice){0};
        is_same = !differs("the JSON text", number, input, text, their_text);
        release(their_text.buf);
    }
    release(theirs.buf);
    return is_same;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: compare libLiteCore.so < records\n");
        return 2;
    }
    load(arguments[1], FUNCTIONS, COUNT(FUNCTIONS));
    unsigned long documents = 0, differing = 0;
    unsigned long long total_bytes = 0;
    uint32_t size;
    while (fread(&size, 1, 4, stdin) == 4) {
        uint8_t *record = malloc(size);
        if (!record || fread(record, 1, size, stdin) != size) {
            fprintf(stderr, "the input ends too early\n");
            return 2;
        }
        documents++;
        total_bytes += size;
        if (!compare(documents, (Slice){record, size}) && ++differing == 10) break;
        free(record);
    }
    printf("%lu documents compared, %llu bytes of records, %lu differ\n", documents, total_bytes, differing);
    return differing || !documents;
}

/* The jobs of main.rs by Couchbase's own library, so that their instructions can be compared. It does not show its
 * functions for shared keys; those for amending are shown by what cmake makes of its source, libFleece.so, alone.
 * Usage: original LIBRARY JOB REPEATS < people.json prints the CPU time of each, in ns; exit status 3 for a job
 * that is not here. */

#include <time.h>

#include "../original.h"

/* More room than the library's own structures take, and so returned in the same way. */
typedef struct {
    void *room[32];
} Room;

static Encoder (*encoder_new)(void);
static void (*encoder_free)(Encoder);
static bool (*convert_json)(Encoder, Slice);
static Slice (*finish)(Encoder, int *);
static void (*release)(const void *);
static Value (*value_from_data)(Slice, int);
static Slice (*value_to_json)(Value);
static int (*type_of)(Value);
static Slice (*as_string)(Value);
static Value (*dict_get)(Value, Slice);
static Room (*key_init)(Slice);
static Value (*dict_get_with_key)(Value, Room *);
static void (*array_begin)(Value, Room *);
static Value (*array_value)(const Room *);
static bool (*array_next)(Room *);
static void (*dict_begin)(Value, Room *);
static Slice (*dict_key)(const Room *);
static Value (*dict_value)(const Room *);
static bool (*dict_next)(Room *);

static const Function FUNCTIONS[] = {
    {"FLEncoder_New", &encoder_new},
    {"FLEncoder_Free", &encoder_free},
    {"FLEncoder_ConvertJSON", &convert_json},
    {"FLEncoder_Finish", &finish},
    {"_FLBuf_Release", &release},
    {"FLValue_FromData", &value_from_data},
    {"FLValue_ToJSON", &value_to_json},
    {"FLValue_GetType", &type_of},
    {"FLValue_AsString", &as_string},
    {"FLDict_Get", &dict_get},
    {"FLDictKey_Init", &key_init},
    {"FLDict_GetWithKey", &dict_get_with_key},
    {"FLArrayIterator_Begin", &array_begin},
    {"FLArrayIterator_GetValue", &array_value},
    {"FLArrayIterator_Next", &array_next},
    {"FLDictIterator_Begin", &dict_begin},
    {"FLDictIterator_GetKeyString", &dict_key},
    {"FLDictIterator_GetValue", &dict_value},
    {"FLDictIterator_Next", &dict_next},
};

static Value (*document_of)(Slice, int, void *, Slice);
static Value (*root_of)(Value);
static Value (*array_get)(Value, uint32_t);
static Value (*dict_to_edit)(Value, int);
static void *(*slot_of)(Value, Slice);
static void (*set_string)(void *, Slice);
static void (*amend_base)(Encoder, Slice, bool, bool);
static bool (*write_value)(Encoder, Value);
static void (*release_value)(Value);

static const Function AMENDING[] = {
    {"FLDoc_FromResultData", &document_of},
    {"FLDoc_GetRoot", &root_of},
    {"FLArray_Get", &array_get},
    {"FLDict_MutableCopy", &dict_to_edit},
    {"FLMutableDict_Set", &slot_of},
    {"FLSlot_SetString", &set_string},
    {"FLEncoder_Amend", &amend_base},
    {"FLEncoder_WriteValue", &write_value},
    {"FLValue_Release", &release_value},
};

static bool has_amending(void *library) {
    for (size_t i = 0; i < COUNT(AMENDING); i++)
        if (!dlsym(library, AMENDING[i].name)) return false;
    return true;
}

static Slice text_of(const char *text) { return (Slice){(const uint8_t *)text, strlen(text)}; }

static Slice convert(Slice text) {
    Encoder encoder = encoder_new();
    int error = 0;
    Slice bytes = convert_json(encoder, text) ? finish(encoder, &error) : (Slice){0};
    encoder_free(encoder);
    return bytes;
}

enum { STRING = 3, ARRAY = 5, DICT = 6 };

/* The lengths of all texts and keys, and the number of all other values. */
static size_t visit(Value value) {
    Room iterator;
    size_t sum = 0;
    switch (type_of(value)) {
    case STRING: return as_string(value).size;
    case ARRAY:
        array_begin(value, &iterator);
        for (Value item; (item = array_value(&iterator)); array_next(&iterator)) sum += visit(item);
        return sum;
    case DICT:
        dict_begin(value, &iterator);
        for (Value item; (item = dict_value(&iterator)); dict_next(&iterator))
            sum += dict_key(&iterator).size + visit(item);
        return sum;
    default: return 1;
    }
}

/* The lengths of the name of each person, by the key if there is one. */
static size_t names(Value people, Room *key) {
    size_t sum = 0;
    Room iterator;
    array_begin(people, &iterator);
    for (Value person; (person = array_value(&iterator)); array_next(&iterator)) {
        Value name = key ? dict_get_with_key(person, key) : dict_get(person, text_of("name"));
        sum += as_string(name).size;
    }
    return sum;
}

/* The size of an amendment of one field of a person, with or without strings of the base. */
static size_t amend(Value people, Slice base, bool reuses) {
    Value person = dict_to_edit(array_get(people, 500), 0);
    set_string(slot_of(person, text_of("name")), text_of("Ada"));
    Encoder encoder = encoder_new();
    amend_base(encoder, base, reuses, false);
    int error = 0;
    Slice made = write_value(encoder, person) ? finish(encoder, &error) : (Slice){0};
    encoder_free(encoder);
    release_value(person);
    release(made.buf);
    return made.size;
}

static long long cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: original libLiteCore.so JOB REPEATS < people.json\n");
        return 2;
    }
    void *library = load(arguments[1], FUNCTIONS, COUNT(FUNCTIONS));
    const char *job = arguments[2];
    bool amends = !strncmp(job, "amend one field", 15);
    if (amends && !has_amending(library)) return 3;
    if (amends) load(arguments[1], AMENDING, COUNT(AMENDING));
    static uint8_t room[16 << 20];
    Slice text = {room, fread(room, 1, sizeof room, stdin)};
    Slice bytes = convert(text);
    Value plain = value_from_data(bytes, 1);
    Room key = key_init(text_of("name"));
    /* Only what is in a document can be edited. */
    Value people = amends ? root_of(document_of(bytes, 1, NULL, (Slice){0})) : NULL;
    long repeats = atol(arguments[3]);
    long long start = cpu_ns();
    for (long i = 0; i < repeats; i++) {
        size_t done = 0;
        if (!strcmp(job, "convert")) {
            Slice made = convert(text);
            done = made.size;
            release(made.buf);
        } else if (!strcmp(job, "check")) {
            done = value_from_data(bytes, 0) != NULL;
        } else if (!strncmp(job, "traverse as &str", 16)) {
            done = visit(plain);
        } else if (!strcmp(job, "lookup")) {
            done = names(plain, NULL);
        } else if (!strcmp(job, "lookup, Key")) {
            done = names(plain, &key);
        } else if (!strcmp(job, "to JSON")) {
            Slice json = value_to_json(plain);
            done = json.size;
            release(json.buf);
        } else if (amends) {
            done = amend(people, bytes, !strcmp(job, "amend one field"));
        } else {
            return 3;
        }
        if (!done) {
            fprintf(stderr, "%s: nothing was done\n", job);
            return 2;
        }
    }
    printf("%lld\n", (cpu_ns() - start) / (repeats > 0 ? repeats : 1));
    return 0;
}

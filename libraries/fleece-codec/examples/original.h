/* Couchbase's own library, loaded when the program runs, and the functions of its C API that more than one of the
 * programs call. */

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const uint8_t *buf;
    size_t size;
} Slice;

typedef const void *Value;
typedef void *Encoder;

/* A function of the library, and the pointer through which it is called. */
typedef struct {
    const char *name;
    void *pointer;
} Function;

#define COUNT(functions) (sizeof(functions) / sizeof *(functions))

/* The library, of which all these functions are there. */
static void *load(const char *path, const Function *functions, size_t count) {
    /* Lazily: what the library wants of ICU is never called. */
    void *library = dlopen(path, RTLD_LAZY);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, functions[i].name);
        if (!found) {
            fprintf(stderr, "%s has no function %s\n", path, functions[i].name);
            exit(2);
        }
        *(void **)functions[i].pointer = found;
    }
    return library;
}

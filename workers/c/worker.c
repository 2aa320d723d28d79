/* Methods in C: `worker reading METHOD` speaks the line protocol, `worker copying` copies standard input to
   standard output. Built with -DWITH_CURL, it also reads a URL by libcurl. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_CURL
#include <curl/curl.h>
#endif

enum { FILES_MAX = 64 };

/* One file, and the thread that reads it. */
struct reader {
    char *path;
    /* What is read instead of the file, and the certificates to trust; NULL if there are none. */
    char *url, *certificates;
    /* The client, which keeps its connection. */
    void *client;
    unsigned char *buffer;
    size_t buffer_len;
    uint64_t (*method)(struct reader *);
    uint64_t ops, sum, bytes;
    /* Why it failed; empty if it did not. */
    char why[512];
};

static void fail(struct reader *r, const char *what) {
    snprintf(r->why, sizeof r->why, "%s %s: %s", what, r->path, strerror(errno));
}

static uint64_t sum(const unsigned char *bytes, size_t len) {
    uint64_t total = 0;
    for (size_t i = 0; i < len; i++)
        total += bytes[i];
    return total;
}

static uint64_t by_read(struct reader *r) {
    uint64_t total = 0;
    int fd = open(r->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(r, "opening"), 0;
    ssize_t n;
    while ((n = read(fd, r->buffer, r->buffer_len)) > 0) {
        total += sum(r->buffer, n);
        r->bytes += n;
    }
    if (n < 0)
        fail(r, "reading");
    close(fd);
    return total;
}

static uint64_t by_fread(struct reader *r) {
    uint64_t total = 0;
    FILE *file = fopen(r->path, "rb");
    if (!file)
        return fail(r, "opening"), 0;
    size_t n;
    while ((n = fread(r->buffer, 1, r->buffer_len, file)) > 0) {
        total += sum(r->buffer, n);
        r->bytes += n;
    }
    if (ferror(file))
        fail(r, "reading");
    fclose(file);
    return total;
}

static uint64_t by_getc(struct reader *r) {
    uint64_t total = 0, bytes = 0;
    FILE *file = fopen(r->path, "rb");
    if (!file)
        return fail(r, "opening"), 0;
    int c;
    while ((c = getc(file)) != EOF) {
        total += c;
        bytes++;
    }
    r->bytes += bytes;
    if (ferror(file))
        fail(r, "reading");
    fclose(file);
    return total;
}

static uint64_t by_mmap(struct reader *r) {
    uint64_t total = 0;
    int fd = open(r->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(r, "opening"), 0;
    struct stat stat;
    void *map = MAP_FAILED;
    if (fstat(fd, &stat) == 0)
        map = mmap(NULL, stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        fail(r, "mapping");
    } else {
        total = sum(map, stat.st_size);
        r->bytes += stat.st_size;
        munmap(map, stat.st_size);
    }
    close(fd);
    return total;
}

#ifdef WITH_CURL
/* What libcurl calls for each piece that has come. */
static size_t add_piece(char *piece, size_t one, size_t len, void *to) {
    struct reader *r = to;
    r->sum += sum((unsigned char *)piece, len);
    r->bytes += len;
    return one * len;
}

static uint64_t by_curl(struct reader *r) {
    if (!r->client) {
        CURL *curl = curl_easy_init();
        if (!curl || !r->url)
            return snprintf(r->why, sizeof r->why, "libcurl cannot be set up for a URL"), 0;
        r->client = curl;
        curl_easy_setopt(curl, CURLOPT_URL, r->url);
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
        curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, (long)r->buffer_len);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, add_piece);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, r);
        if (r->certificates)
            curl_easy_setopt(curl, CURLOPT_CAINFO, r->certificates);
    }
    r->sum = 0;
    CURLcode code = curl_easy_perform(r->client);
    if (code != CURLE_OK)
        snprintf(r->why, sizeof r->why, "reading %s: %s", r->url, curl_easy_strerror(code));
    return r->sum;
}
#endif

static const struct { const char *name; uint64_t (*method)(struct reader *); } METHODS[] = {
    {"read", by_read}, {"fread", by_fread}, {"getc", by_getc}, {"mmap", by_mmap},
#ifdef WITH_CURL
    {"curl", by_curl},
#endif
};

static void *repeat(void *argument) {
    struct reader *r = argument;
    r->bytes = 0;
    r->why[0] = 0;
    for (uint64_t i = 0; i < r->ops && !r->why[0]; i++)
        r->sum = r->method(r);
    return NULL;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

/* The user and the system time of this process until now. */
struct cpu {
    uint64_t user_ns, system_ns;
};

static uint64_t ns_of(struct timeval time) {
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

static struct cpu cpu_now(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return (struct cpu){0, 0};
    return (struct cpu){ns_of(usage.ru_utime), ns_of(usage.ru_stime)};
}

/* Several files are read by a thread each. */
static void go(struct reader *readers, int files, uint64_t n, uint64_t ops) {
    pthread_t threads[FILES_MAX];
    struct cpu before = cpu_now();
    uint64_t start_ns = now_ns();
    for (int i = 0; i < files; i++)
        readers[i].ops = ops;
    if (files == 1) {
        repeat(&readers[0]);
    } else {
        for (int i = 0; i < files; i++)
            if (pthread_create(&threads[i], NULL, repeat, &readers[i]) != 0)
                return say("fail starting a thread for each file"), exit(1);
        for (int i = 0; i < files; i++)
            pthread_join(threads[i], NULL);
    }
    uint64_t wall_ns = now_ns() - start_ns, answer = 0, bytes = 0;
    struct cpu after = cpu_now();
    for (int i = 0; i < files; i++) {
        if (readers[i].why[0])
            return say("fail %s", readers[i].why);
        answer += readers[i].sum;
        bytes += readers[i].bytes;
    }
    say("done %" PRIu64 " wall=%" PRIu64 " ops=%" PRIu64 " bytes=%" PRIu64 " answer=%016" PRIx64
        " user_ns=%.1f system_ns=%.1f",
        n, wall_ns, ops, bytes, answer, (double)(after.user_ns - before.user_ns) / ops,
        (double)(after.system_ns - before.system_ns) / ops);
}

/* Undoes %XX, in place. */
static char *unescaped(char *text) {
    char *to = text, digits[3] = "";
    for (char *from = text; *from; from++) {
        if (from[0] == '%' && from[1] && from[2]) {
            memcpy(digits, from + 1, 2);
            *to++ = (char)strtol(digits, NULL, 16);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
    return text;
}

/* What an order says of a name, or NULL. The line stays as it is. */
static char *value_of(const char *line, const char *name) {
    size_t len = strlen(name);
    for (const char *word = strchr(line, ' '); word; word = strchr(word + 1, ' '))
        if (strncmp(word + 1, name, len) == 0 && word[1 + len] == '=')
            return unescaped(strndup(word + len + 2, strcspn(word + len + 2, " \n")));
    return NULL;
}

static uint64_t number_of(const char *line, const char *name, uint64_t otherwise) {
    char *text = value_of(line, name);
    uint64_t number = text ? strtoull(text, NULL, 10) : otherwise;
    free(text);
    return number;
}

static int prepare(const char *line, struct reader *readers, uint64_t (*method)(struct reader *)) {
    int files = 0;
    char name[16] = "file", url[16] = "url";
    for (char *path; files < FILES_MAX && (path = value_of(line, name)); files++) {
        struct reader *r = &readers[files];
        free(r->path);
        free(r->buffer);
        free(r->url);
        free(r->certificates);
        r->path = path;
        r->url = value_of(line, url);
        r->certificates = value_of(line, "certificates");
#ifdef WITH_CURL
        if (r->client)
            curl_easy_cleanup(r->client);
        r->client = NULL;
#endif
        r->method = method;
        r->buffer_len = number_of(line, "buffer", 128 << 10);
        /* It starts at a page: on some processors the kernel copies faster to there. */
        if (posix_memalign((void **)&r->buffer, 4096, r->buffer_len) != 0)
            r->buffer = NULL;
        snprintf(name, sizeof name, "file%d", files + 2);
        snprintf(url, sizeof url, "url%d", files + 2);
    }
    if (files == 0 || !readers[files - 1].buffer)
        say("fail no file to read, or no memory for its buffer");
    else
        say("ready");
    return files;
}

static int reading(const char *name) {
    static struct reader readers[FILES_MAX];
    uint64_t (*method)(struct reader *) = NULL;
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++)
        if (strcmp(METHODS[i].name, name) == 0)
            method = METHODS[i].method;
    say("hello 1 name=c-%s lang=c", name);
#ifdef WITH_CURL
    /* Before there is a thread. */
    curl_global_init(CURL_GLOBAL_DEFAULT);
#endif
    char *line = NULL;
    size_t capacity = 0;
    int files = 0;
    while (getline(&line, &capacity, stdin) > 0 && strncmp(line, "bye", 3) != 0) {
        if (!method)
            say("fail there is no method %s", name);
        else if (strncmp(line, "prepare", 7) == 0)
            files = prepare(line, readers, method);
        else if (strncmp(line, "go ", 3) == 0)
            go(readers, files, strtoull(line + 3, NULL, 10), number_of(line + 3, "ops", 1));
    }
    return 0;
}

static int copying(void) {
    static unsigned char buffer[128 << 10] __attribute__((aligned(4096)));
    ssize_t n;
    while ((n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0)
        for (ssize_t done = 0, m; done < n; done += m)
            if ((m = write(STDOUT_FILENO, buffer + done, n - done)) < 0)
                return perror("writing"), 1;
    if (n < 0)
        return perror("reading"), 1;
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "reading") == 0)
        return reading(argv[2]);
    if (argc == 2 && strcmp(argv[1], "copying") == 0)
        return copying();
    fprintf(stderr, "use: worker reading METHOD | worker copying\n");
    return 2;
}

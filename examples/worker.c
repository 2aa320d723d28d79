/* A method of `reading` in C: cc -O2 -o worker worker.c; bytelab run reading --worker 'mine=./worker' */
#include <stdio.h>
#include <string.h>
#include <time.h>

static long long now_ns(void) { struct timespec t; return clock_gettime(CLOCK_MONOTONIC, &t), t.tv_sec * 1000000000LL + t.tv_nsec; }

int main(void) {
    static char line[65536], path[65536], buffer[131072];
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (puts("hello 1 name=mine lang=c"); fgets(line, sizeof line, stdin) && *line != 'b';) {
        if (*line == 'p') { /* prepare file=… size=…: a path with %XX in it is not understood here */
            sscanf(strstr(line, " file="), " file=%65535s", path);
            puts("ready");
        } else { /* go N */
            long long start_ns = now_ns(), size = 0, total = 0;
            FILE *file = fopen(path, "rb");
            for (size_t n; file && (n = fread(buffer, 1, sizeof buffer, file)) > 0; size += n)
                for (size_t i = 0; i < n; i++) total += (unsigned char)buffer[i];
            if (file) fclose(file);
            printf("done %.*s wall=%lld bytes=%lld answer=%016llx\n", (int)strcspn(line + 3, " \n"), line + 3, now_ns() - start_ns, size, total);
        }
    }
}

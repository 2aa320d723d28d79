/* Has Couchbase's own check look at the documents of main.rs, and counts how the verdicts agree.
 * Usage: check libLiteCore.so SEED < records. Exit status 1 if ours accepts what theirs refuses. */

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "../original.h"

static Value (*value_from_data)(Slice, int);
static sigjmp_buf out;

static void stop(int number) { siglongjmp(out, number); }

/* Their check follows a collection as often as something leads to it, which may take forever. */
enum { ACCEPTED, REFUSED, NO_END, CRASHED };

static int theirs(Slice document) {
    struct itimerval limit = {{0, 0}, {0, 100000}}, none = {{0, 0}, {0, 0}};
    switch (sigsetjmp(out, 1)) {
    case 0: break;
    case SIGVTALRM: return NO_END;
    default: setitimer(ITIMER_VIRTUAL, &none, NULL); return CRASHED;
    }
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
    Value root = value_from_data(document, 0);
    setitimer(ITIMER_VIRTUAL, &none, NULL);
    return root ? ACCEPTED : REFUSED;
}

static const Function FUNCTIONS[] = {{"FLValue_FromData", &value_from_data}};

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "usage: check libLiteCore.so SEED < records\n");
        return 2;
    }
    load(arguments[1], FUNCTIONS, COUNT(FUNCTIONS));
    static char stack[1 << 16];
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_handler = stop, .sa_flags = SA_ONSTACK};
    sigaction(SIGVTALRM, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
    /* By our verdict, and by theirs. */
    unsigned long verdicts[2][4] = {{0}}, documents = 0;
    unsigned long long seed = strtoull(arguments[2], NULL, 10);
    uint32_t size;
    static uint64_t document[1 << 16];
    while (fread(&size, 1, 4, stdin) == 4) {
        int ours = getchar();
        if (ours < 0 || size > sizeof document || fread(document, 1, size, stdin) != size) {
            fprintf(stderr, "the input ends too early\n");
            return 2;
        }
        int verdict = theirs((Slice){(const uint8_t *)document, size});
        if (ours && verdict == REFUSED && verdicts[1][REFUSED] < 10)
            printf("seed %llu: ours accepts what theirs refuses\n", seed + documents);
        verdicts[ours][verdict]++;
        documents++;
    }
    unsigned long accepted = verdicts[0][ACCEPTED] + verdicts[1][ACCEPTED];
    printf("%lu documents, of which theirs accepts %.0f %%\n", documents, 100.0 * accepted / (documents ? documents : 1));
    printf("                  theirs: accepts   refuses    no end   crashes\n");
    for (int ours = 1; ours >= 0; ours--) {
        printf("%s", ours ? "ours accepts           " : "ours refuses           ");
        for (int i = 0; i < 4; i++) printf(" %9lu", verdicts[ours][i]);
        printf("\n");
    }
    return verdicts[1][REFUSED] || !documents;
}

/* bench.c - `lethe bench` hands over to the program lethe-bench: program.h tells why, and where it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "commands.h"
#include "message.h"
#include "program.h"

/* Becomes the program at path; returns only if that fails, with the reason in errno. */
static void become(const char *path, const struct arguments *arguments) {
    char **words = calloc(arguments->operand_count + 2, sizeof *words);
    if (words == NULL) return;
    char name[] = PROGRAM_BENCH;
    words[0] = name;
    if (arguments->operand_count > 0) {
        memcpy(words + 1, arguments->operands, arguments->operand_count * sizeof *words);
    }
    execv(path, words);
    int error = errno;
    free(words);
    errno = error;
}

static int run(const struct arguments *arguments) {
    char path[PROGRAM_PATH_BYTES];
    for (size_t i = 0; program_place(i, path); i++) {
        become(path, arguments);
        if (errno == ENOENT || errno == ENOTDIR) continue;
        return message_fail(EXIT_ENVIRONMENT, "cannot run %s: %s; install it again", path,
                            strerror(errno));
    }
    return program_fail_missing();
}

const struct command command_bench = {
    .path = "bench",
    .summary = "measure how fast Lethe is on this machine",
    .synopses =
        (const char *const[]){"[--json] [--quick] [--full] [--runs N] [--seed N] [NAME...]", NULL},
    .description =
        (const char *const[]){
            "Runs the named workloads, or all of them, and prints a table: operations a second, "
            "best of several runs, beside the same work done by other libraries where the system "
            "has them. The workloads and their data are always the same, so figures can be "
            "compared between versions and machines.",
            "The work is done by the program lethe-bench, which takes the same arguments.", NULL},
    .options =
        (const struct option[]){
            {.name = "json",
             .help = "one JSON object a workload, with the machine, the compiler and its flags"},
            {.name = "quick",
             .help = "small sizes and one run: shows that it works, not how fast it is"},
            {.name = "full",
             .help = "the largest sizes, of workloads that have them, such as `sketch-words`"},
            {.name = "runs", .value = "N", .help = "take the best of N runs; default 3"},
            {.name = "seed", .value = "N", .help = "seed of the generated data; default 1"},
            {0}},
    .sections =
        (const struct section[]){
            {"Workloads",
             (const char *const[]){
                 "`bloom`: add to and test classical and blocked Bloom filters, key by key and in "
                 "batches, with 10 and 100 million keys.",
                 "`count`: `lethe count` from a file of events to durable counters, with a million "
                 "and 10 million events, beside RocksDB, SQLite, awk and Redis where they are; "
                 "what "
                 "the engine does alone; and how long a store takes to open. All totals are "
                 "checked. With --full the slow ones get all events too, and `lethe count` 100 "
                 "million. TMPDIR names the disk.",
                 "`filters`: every filter that lives in memory, with 8, 12 and 16 bits for each of "
                 "10 million keys: error and speed on one page.",
                 "`leveldb`: a million keys in LevelDB, read at random with its own filter and "
                 "with ours, as written and compacted. TMPDIR names the disk; it takes 2 GB there.",
                 "`leveldb-tables`: the reads of its tables that Bloom and Gaussian filters could "
                 "not skip: what `lethe paper gbf-table-1` runs.",
                 "`sketch`: add to and query sketches of each kind with 4 rows of 30,000 counters, "
                 "key "
                 "by key and in batches, beside a plain Count-Min sketch; keys drawn evenly and by "
                 "Zipf's law; and what two readers do together.",
                 "`sketch-words`: the 100 most frequent of 10 million words, with --full 100 "
                 "million, "
                 "by `lethe freq build` and by sort | uniq -c | sort -rn | head: time, memory, and "
                 "how many of the same words are listed.",
                 "`window`: tell fresh ids from retries within 10 minutes, with 10 and 100 million "
                 "ids in that time: windows of both kinds, one by one, in batches and from two "
                 "threads, beside the paper's filter as published and an exact set; time, memory "
                 "and error. It takes about 10 minutes.",
                 "`window-memory`: bits an id of windows for 10, 30, 100 and 120 million ids.",
                 "`window-design`: the quotient window beside a ring of quotient tables, one a "
                 "generation.",
                 NULL}},
            {0}},
    .examples =
        (const struct example[]){
            {"Keep the figures of this machine", "lethe bench --json bloom > bloom.json"}, {0}},
    .exit_done = "the workloads ran",
    .operands_most = OPERANDS_UNLIMITED,
    .forwards = true,
    .run = run,
};

/* manual.c - the manual of `lethe bench`. */
#include "frame/commands.h"

static const char *const bench_description[] = {
    "Runs the named workloads, or all of them, and prints tables: operations per second, the best "
    "of several runs, next to the same work done by other libraries if they are installed. The "
    "workloads and their data are always the same, so results can be compared between versions and "
    "machines.",
    "The work is done by the program lethe-bench, which takes the same arguments.",
    NULL,
};

static const struct option bench_options[] = {
    {.name = "list", .help = "print the names of the workloads, and do nothing"},
    {.name = "json",
     .help = "print one JSON object per workload, with the machine, the compiler and its flags"},
    {.name = "quick", .help = "small sizes and one run: shows that it works, not how fast it is"},
    {.name = "full",
     .help = "the largest sizes, for workloads that have them, such as `sketch-words`"},
    {.name = "runs", .value = "N", .help = "take the best of N runs; default 3"},
    {.name = "seed", .value = "N", .help = "the seed of the generated data; default 1"},
    {0},
};

static const char *const bench_workloads[] = {
    "`bloom`: adding to and testing classical and blocked Bloom filters, one key at a time and in "
    "batches, with 10 and 100 million keys.",
    "`cascade`: inserting far more keys into a cascade filter than memory holds, and looking them "
    "up, next to the disk's own random reads and to a Bloom filter on the same disk. "
    "LETHE_BENCH_FOLDER, or TMPDIR, chooses the disk.",
    "`count`: `lethe count` from a file of events to durable counters, with 1 and 10 million "
    "events, next to RocksDB, SQLite, awk and Redis if they are installed; the engine alone; and "
    "how long a store takes to open. All totals are checked. With `--full`, the slow ones get all "
    "events too, and `lethe count` gets 100 million. Set TMPDIR to choose the disk.",
    "`count-exact-scale`: `lethe count --exact` in a store of 40 million ids (with `--full`, 100 "
    "million), more than its index keeps in memory, where a tenth of the events are copies of "
    "recent ones, or of any. It takes some minutes.",
    "`count-memory`: what the memory of a store is used for after 10 million events, in each mode: "
    "window, counters, index, ledger, database, and the rest of what the process has.",
    "`count-scale`: whether an event of `lethe count` costs the same with 1, 10 and 100 million of "
    "them, from a pipe, and with `--forever`. With `--full`, a billion: that takes 16 GiB of "
    "memory, 13 GiB in TMPDIR, and some minutes.",
    "`dedup`: `lethe dedup` from a file, from a pipe and with `--db`, next to sort -u with the "
    "same "
    "memory, awk, and DuckDB if it is installed, with 20 million lines (with `--full`, 200 million "
    "and without awk). Set TMPDIR to choose the disk.",
    "`filters`: every filter in memory, with 8, 12 and 16 bits for each of 10 million keys: error "
    "and speed side by side.",
    "`gaussian`: Gaussian Bloom filters next to classical ones with as many slots, and with as "
    "many "
    "bytes.",
    "`leveldb`: a million keys in LevelDB, read at random with its own filter and with ours, as "
    "written and compacted. It needs 2 GB in TMPDIR.",
    "`leveldb-tables`: how many reads of LevelDB's tables Bloom and Gaussian filters save: what "
    "`lethe paper gbf-table-1` runs.",
    "`meters`: the engine alone, counting 5 million events without periods and with one, two and "
    "three resolutions: CPU time, and the bytes of a period's count in memory and on disk.",
    "`open`: opening a store of 10 million ids, at an error of 1e-6 and of 1e-12, and one of a "
    "million counters: how fast the window is filled from the log, and the counters are read.",
    "`quotient`: quotient filters at several loads: adding, testing, removing, merging and "
    "listing, "
    "next to a blocked Bloom filter.",
    "`redis-batches`: the latency of batches of fifty increments in a Redis server with three "
    "replicas, with once-tables and without: what `lethe paper fbf-15` runs.",
    "`redis-ring`: counters in a cluster of ten Redis servers while acknowledgements are lost and "
    "a master is killed: what `lethe paper fbf-14-real` runs.",
    "`serve`: events over HTTP, answered when they are durable: single ones on 64 connections, and "
    "lines of 1,000 events; next to a table of ids in SQLite behind Python and Node.js. Client and "
    "server share the machine.",
    "`sketch`: adding to and querying sketches of each kind with 4 rows of 30,000 counters, one "
    "key at a time and in batches, next to a plain Count-Min sketch; keys drawn uniformly and by "
    "Zipf's law; and two readers at once.",
    "`sketch-words`: the 100 most frequent of 10 million words (with `--full`, 215 million), by "
    "`lethe freq build` with each kind of sketch, by DuckDB if it is installed, and by sort | uniq "
    "-c | sort -rn | head: time, memory, and how many of the listed words agree.",
    "`window`: telling fresh ids from retries within 10 minutes, with 10 and 100 million ids in "
    "that time: both kinds of window, one id at a time, in batches and from two threads, next to "
    "the paper's filter as published and an exact set: time, memory and error. It takes about 10 "
    "minutes.",
    "`window-growth`: bytes per id of a window that grows to 3 million ids without knowing how "
    "many will come, what other rules of growth would take, and its speed next to that of larger "
    "steps.",
    "`window-memory`: bits per id of windows for 10, 30, 100 and 120 million ids.",
    "`window-design`: the quotient window next to a ring of quotient filters, one per generation.",
    NULL,
};

static const struct section bench_sections[] = {{"Workloads", bench_workloads}, {0}};

const struct command command_bench = {
    .path = "bench",
    .summary = "measure how fast Lethe is on this machine",
    .synopses = SYNOPSES("[--json] [--quick] [--full] [--runs N] [--seed N] [NAME...]", "--list"),
    .description = bench_description,
    .options = bench_options,
    .sections = bench_sections,
    .examples =
        EXAMPLES({"Save the results of this machine", "lethe bench --json bloom > bloom.json"}),
    .exit_done = "the workloads ran",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_NAMES,
    .names = "bench --list",
    .forwards = true,
    .run = run_bench,
};

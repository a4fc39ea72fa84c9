/* count.c - `lethe count`: events become counters, each exactly once. */
#include "count.h"

#include <inttypes.h>
#include <string.h>

#include "commands.h"
#include "counters.h"
#include "interrupt.h"
#include "message.h"
#include "store.h"

static int read_sync(const struct arguments *arguments, uint64_t *interval_ms) {
    const char *text = arguments_text(arguments, "sync");
    *interval_ms = 50;
    if (text != NULL && strcmp(text, "always") == 0) {
        *interval_ms = 0;
        return EXIT_DONE;
    }
    return arguments_duration(arguments, "sync", 1, 10000, interval_ms);
}

static int read_sketch_options(const struct arguments *arguments, lethe_counter_options *options) {
    uint64_t top = 0;
    if (arguments_has(arguments, "top") && !arguments_has(arguments, "sketch")) {
        return arguments_fail(arguments, "--top goes with --sketch");
    }
    int code = arguments_size(arguments, "sketch", 4096, UINT64_C(1) << 32, &options->sketch_bytes);
    if (code == EXIT_DONE) code = arguments_count(arguments, "top", 1, 1 << 20, &top);
    options->sketch_top = (uint32_t)top;
    return code;
}

/* A mode that the store keeps unless it is switched. */
static int read_mode(const struct arguments *arguments, const char *on, const char *off,
                     lethe_switch *out) {
    bool turns_on = arguments_has(arguments, on), turns_off = arguments_has(arguments, off);
    if (turns_on && turns_off)
        return arguments_fail(arguments, "--%s and --%s exclude each other", on, off);
    *out = turns_on ? LETHE_ON : turns_off ? LETHE_OFF : LETHE_KEEP;
    return EXIT_DONE;
}

static int read_ledger_options(const struct arguments *arguments, lethe_counter_options *options) {
    options->forever = arguments_has(arguments, "forever") ? LETHE_ON : LETHE_KEEP;
    int code = arguments_count(arguments, "ledger-capacity", 1, UINT64_C(1) << 44,
                               &options->ledger_capacity);
    if (code == EXIT_DONE) {
        code = arguments_size(arguments, "ledger-memory", 1 << 22, UINT64_C(1) << 40,
                              &options->ledger_memory_bytes);
    }
    if (code == EXIT_DONE) {
        code = arguments_probability(arguments, "ledger-error", 1e-15, 0.1, &options->ledger_error);
    }
    if (code == EXIT_DONE && options->forever == LETHE_ON &&
        (arguments_has(arguments, "exact") || arguments_has(arguments, "check-payload"))) {
        code = arguments_fail(arguments, "--forever does not go with --exact or --check-payload: "
                                         "what is kept for ever can't be looked up exactly");
    }
    return code;
}

static int read_store_options(const struct arguments *arguments, lethe_counter_options *options) {
    uint64_t batch = 0;
    size_t policy = LETHE_WINDOW_REFUSE;
    int code =
        arguments_duration(arguments, "window", 1000, UINT64_C(2592000000), &options->window_ms);
    if (code == EXIT_DONE) {
        code = arguments_probability(arguments, "error", 1e-12, 0.1, &options->error);
    }
    if (code == EXIT_DONE) code = read_sync(arguments, &options->commit_interval_ms);
    if (code == EXIT_DONE) code = arguments_count(arguments, "batch", 1, 65536, &batch);
    if (code == EXIT_DONE) {
        code = arguments_size(arguments, "memory", 1 << 16, UINT64_C(1) << 50,
                              &options->max_memory_bytes);
    }
    if (code == EXIT_DONE) code = arguments_choice(arguments, "policy", &policy);
    if (code == EXIT_DONE) {
        code = arguments_duration(arguments, "max-ahead", 1, UINT64_C(31536000000),
                                  &options->max_ahead_ms);
    }
    if (code == EXIT_DONE) code = read_sketch_options(arguments, options);
    if (code == EXIT_DONE) code = read_ledger_options(arguments, options);
    if (code == EXIT_DONE) code = read_mode(arguments, "exact", "no-exact", &options->exact);
    if (code == EXIT_DONE) {
        code = read_mode(arguments, "check-payload", "no-check-payload", &options->check_payload);
    }
    options->commit_operations = (uint32_t)batch;
    options->policy = (lethe_window_policy)policy;
    options->create = true;
    return code;
}

int count_read_options(const struct arguments *arguments, struct event_options *options) {
    bool is_csv = arguments_has(arguments, "csv"), is_json = arguments_has(arguments, "jsonl");
    if (is_csv && is_json) return arguments_fail(arguments, "--csv and --jsonl exclude each other");
    enum event_kind kind = is_csv ? EVENTS_CSV : is_json ? EVENTS_JSONL : EVENTS_PLAIN;
    const char *fields = arguments_text(arguments, "fields");
    struct event_problem problem;
    if (!event_format_make(kind, fields, &options->format, &problem)) {
        return message_fail(EXIT_USAGE, "--fields %s: %s", fields, problem.text);
    }
    size_t on_error = 0;
    int code = arguments_choice(arguments, "on-error", &on_error);
    options->stops_on_error = on_error == 1;
    options->from_start = arguments_has(arguments, "from-start");
    options->last_line = arguments_has(arguments, "last-line");
    return code;
}

struct marks {
    struct resume_table table;
    struct count_late *late; /* may be NULL */
    bool is_short_of_memory;
};

static bool load_mark(void *context, const lethe_mark *mark) {
    struct marks *marks = context;
    if (marks->late != NULL) count_late_load(marks->late, mark);
    marks->is_short_of_memory = !resume_load(&marks->table, mark->name, mark->value);
    return !marks->is_short_of_memory;
}

static int load_marks(struct counting *counting, struct marks *marks) {
    lethe_status status = lethe_counter_marks(counting->counter, load_mark, marks);
    if (marks->is_short_of_memory) status = LETHE_ENOMEM;
    if (status != LETHE_OK) {
        return store_fail_call(status, "read the marks of", counting->folder, counting->counter);
    }
    if (marks->table.not_understood > 0) {
        message_warn("%zu mark%s in %s of how far a file was read %s not understood, perhaps of a "
                     "newer lethe; such files are read from the start",
                     marks->table.not_understood, marks->table.not_understood == 1 ? "" : "s",
                     counting->folder, marks->table.not_understood == 1 ? "is" : "are");
    }
    return EXIT_DONE;
}

/* With the store open. */
static int count_into(struct counting *counting, const struct event_options *options,
                      const char *late_path) {
    struct marks marks = {0};
    int code = late_path != NULL ? count_late_open(late_path, &counting->late) : EXIT_DONE;
    marks.late = counting->late;
    if (code == EXIT_DONE) code = load_marks(counting, &marks);
    if (code == EXIT_DONE && counting->late != NULL) {
        code = count_late_begin(counting->late, counting);
    }
    if (code == EXIT_DONE) {
        interrupt_hold();
        code = events_open(counting->inputs, options, &marks.table, &counting->reader);
        interrupt_release();
    }
    if (code == EXIT_DONE) {
        counting->started_s = count_now_s();
        progress_begin(&counting->progress, !counting->quiet, "events", counting->inputs->bytes);
        code = count_all(counting);
        count_report(counting);
        events_free(counting->reader);
    }
    code = count_late_end(counting->late, counting, code);
    resume_free(&marks.table);
    return count_end(counting, code);
}

/* Says how many events were passed over, and what to do. */
static int fail_passed_over(const struct counting *counting) {
    const struct count_totals *totals = &counting->totals;
    uint64_t passed = count_passed_over(totals);
    char parts[256] = "";
    count_append(parts, sizeof parts, totals->late, "late");
    count_append(parts, sizeof parts, totals->future, "too far in the future");
    count_append(parts, sizeof parts, totals->mismatched, "with an id of other changes");
    count_append(parts, sizeof parts, totals->rejected, "rejected");
    const char *remedy = "when the cause is mended, count them again within the window, with "
                         "--from-start";
    if (counting->refused > 0) {
        remedy = "the window is at its --memory: count them again within the window, with more "
                 "--memory and --from-start";
    }
    return message_fail(EXIT_PASSED_OVER,
                        "%" PRIu64 " event%s passed over, neither counted nor a duplicate (%s); %s",
                        passed, passed == 1 ? " was" : "s were", parts + 2, remedy);
}

int count_end(const struct counting *counting, int code) {
    if (code == EXIT_DONE && count_passed_over(&counting->totals) > 0) {
        code = fail_passed_over(counting);
    }
    if (code == EXIT_DONE && counting->has_open) {
        code = message_fail(EXIT_PASSED_OVER,
                            "lines were passed over, because a quoted field before them does not "
                            "end; end it, or give --last-line");
    }
    if ((code == EXIT_DONE || code == EXIT_PASSED_OVER) && interrupt_requested()) {
        code = message_fail(interrupt_code(), "interrupted; all events that were read are "
                                              "committed, run again to go on");
    }
    return code;
}

/* Whether the options go with where the counters are. */
static int check_place(const struct arguments *arguments) {
    static const char *const of_servers[] = {"partitions", "wait", "retry"};
    static const struct {
        const char *name, *why;
    } of_stores[] = {
        {"sketch", "a server has sketches of its own, FID.ADD and others"},
        {"exact", "a server keeps no log of ids"},
        {"check-payload", "a server keeps no log of ids"},
        {"no-exact", "a server keeps no log of ids"},
        {"no-check-payload", "a server keeps no log of ids"},
        {"forever", "a server's window forgets"},
        {"ledger-capacity", "it is for --forever"},
        {"ledger-memory", "it is for --forever"},
        {"ledger-error", "it is for --forever"},
        {"sync", "a server has its own way to write: see appendfsync, and --wait"},
        {"max-ahead", "a server's window is of the time at the server"},
        {"late-out", "a server's window is of the time at the server: no event is late"},
    };
    int code = counters_check(arguments);
    bool is_server = arguments_has(arguments, "redis");
    for (size_t i = 0; i < 3 && code == EXIT_DONE && !is_server; i++) {
        if (!arguments_has(arguments, of_servers[i])) continue;
        code = arguments_fail(arguments, "--%s goes with --redis", of_servers[i]);
    }
    for (size_t i = 0; i < sizeof of_stores / sizeof of_stores[0] && code == EXIT_DONE; i++) {
        if (!is_server || !arguments_has(arguments, of_stores[i].name)) continue;
        code = arguments_fail(arguments, "--%s does not go with --redis: %s", of_stores[i].name,
                              of_stores[i].why);
    }
    return code;
}

static int run(const struct arguments *arguments) {
    static struct counting counting;
    static lethe_counter_stats stats;
    lethe_counter_options store_options = {0};
    struct event_options event_options = {0};
    struct inputs inputs;
    int code = check_place(arguments);
    if (code == EXIT_DONE && arguments_has(arguments, "redis")) return count_redis(arguments);
    if (code == EXIT_DONE) code = store_folder(arguments, &counting.folder);
    if (code == EXIT_DONE) code = read_store_options(arguments, &store_options);
    if (code == EXIT_DONE) code = count_read_options(arguments, &event_options);
    if (code == EXIT_DONE) code = count_check_files(arguments, counting.folder, &inputs);
    if (code != EXIT_DONE) return code;
    /* A batch and its mark belong into one commit. */
    event_options.batch_limit = store_options.commit_operations;
    counting.inputs = &inputs;
    counting.quiet = arguments_has(arguments, "quiet");
    counting.json = arguments_has(arguments, "json");
    counting.stops_on_error = event_options.stops_on_error;
    bool has_time = event_format_has_time(&event_options.format);
    store_options.event_time = has_time ? LETHE_ON : LETHE_KEEP;
    store_options.capacity = count_expect(counting.folder, &inputs, &store_options);
    interrupt_begin();
    code = store_open(counting.folder, &store_options, &counting.counter);
    if (code != EXIT_DONE) return code;
    lethe_counter_info(counting.counter, &stats);
    counting.has_sketch = stats.sketch_bytes > 0;
    counting.has_time = has_time;
    counting.lacks_time = stats.event_time && !has_time;
    code = count_into(&counting, &event_options, arguments_text(arguments, "late-out"));
    return store_close(counting.folder, counting.counter, code);
}

const struct command command_count = {
    .path = "count",
    .summary = "count events, each exactly once",
    .synopses =
        (const char *const[]){
            "--db DIR [--sketch MEMORY [--top N]] [--forever] [--ledger-capacity N] "
            "[--ledger-memory SIZE] [--ledger-error E] [--window W] [--error E] "
            "[--exact|--no-exact] [--check-payload|--no-check-payload] [--sync P] [--batch N] "
            "[--memory SIZE] [--policy refuse|degrade] [--max-ahead D] [--late-out FILE] "
            "[--csv|--jsonl] [--fields SPEC] [--on-error skip|stop] [--from-start] [--last-line] "
            "[--json] [-q] "
            "[FILE...]",
            "--redis URL --table T [--partitions P] [--wait N] [--retry D] [--window W] "
            "[--error E] [--batch N] [--memory SIZE] [--policy refuse|degrade] [--csv|--jsonl] "
            "[--fields SPEC] [--on-error skip|stop] [--from-start] [--last-line] [--json] [-q] "
            "[FILE...]",
            NULL},
    .description =
        (const char *const[]){
            "Reads events from the files, or from standard input, and adds their deltas to the "
            "counters in the store `DIR`, which is made if it is missing. An event has an id, made "
            "up by its sender; a copy of it that comes again within the window is recognised by "
            "that id and changes nothing. So senders may retry, and files may be read again.",
            "A counter and the memory of the ids that changed it are written together. Whatever "
            "happens, a crash or a full disk, run the same command again and the totals are "
            "right: of each named file the store remembers how far it was read, by its content, "
            "and goes on there, also when the file has grown or was renamed. What comes through "
            "a pipe must be repeated within the window for that.",
            "Where the keys are too many to store, `--sketch` keeps a sketch in place of the "
            "counters: memory of a fixed size that has an estimate for every key, and a list of "
            "the most frequent keys. Each event is still counted exactly once; only what is said "
            "of a key is an estimate, which is too high by a little, `lethe stat` tells how "
            "much, and never too low. A delta below zero takes away what was counted before; one "
            "that would take more than the estimate is rejected. A store stays of the kind that "
            "it was made as.",
            "What was read of a file belongs to the format and the fields that it was read with: "
            "with others the file is refused, unless none of its events was counted. A last line "
            "that has no newline may still be written: it is left, with a message, and read the "
            "next time; at the end of a pipe or of a compressed file, or with `--last-line`, it is "
            "whole.",
            "Files compressed by gzip or zstd are recognised and decompressed.",
            "When done, a line on standard error tells what became of the events; with `--json`, "
            "an object on standard output with the members events, applied, duplicates, late, "
            "future, rejected, mismatched, resumed_at (bytes that needed not be read again), "
            "pending (last lines that may not be whole yet), "
            "seconds, window_error_estimate and expected_wrongly_dropped, the number of new events "
            "of "
            "this run that were probably taken for copies. Events is the sum of the six that "
            "follow it.",
            NULL},
    .options =
        (const struct option[]){
            OPTION_DB("the folder of the counters; made if missing"),
            OPTION_REDIS,
            OPTION_TABLE,
            {.name = "partitions",
             .value = "P",
             .help = "with `--redis`: over how many keys a new table is spread, by the ids, up to "
                     "1024; default 1, in a cluster 16"},
            {.name = "wait",
             .value = "N",
             .help = "with `--redis`: an event is counted when N replicas have it; default 0, when "
                     "the master has it"},
            {.name = "retry",
             .value = "D",
             .help = "with `--redis`: for how long to try again while a server does not answer as "
                     "it should; default 1m, and never more than half the window"},
            {.name = "window",
             .value = "W",
             .help =
                 "how long a copy of an event is recognised, from 1s to 30d; default what the "
                 "store was last opened with, at first 3d; of a table at first 10m. A longer one "
                 "than before does not bring back what was forgotten"},
            {.name = "error",
             .value = "E",
             .help = "the probability that a new event is taken for a copy, from 1e-12 to 0.1; "
                     "default as before, at first 1e-12; of a table at first 1e-9"},
            {.name = "sketch",
             .value = "MEMORY",
             .help = "make a store that keeps a sketch of this size in place of counters, from "
                     "4KiB to 4GiB, such as 16MiB; later it may be left out"},
            {.name = "top",
             .value = "N",
             .help = "with `--sketch`: how many of the most frequent keys are listed, up to "
                     "1048576; default 1000"},
            {.name = "exact",
             .help = "look each copy up in the log on disk, so that no new event is ever taken "
                     "for one; slower; a store stays so until `--no-exact`"},
            {.name = "no-exact", .help = "go back from `--exact` to what is said above of errors"},
            {.name = "check-payload",
             .help = "tell copies whose keys or deltas differ from the original: they are counted "
                     "as mismatched; implies `--exact`; a store stays so until "
                     "`--no-check-payload`"},
            {.name = "no-check-payload", .help = "go back from `--check-payload` to `--exact`"},
            {.name = "forever",
             .help = "remember ids on disk when they leave the window, for ever: copies are "
                     "recognised however late they come, and no event is too late, except what was "
                     "when it began; a store stays so"},
            {.name = "ledger-capacity",
             .value = "N",
             .help = "with a new `--forever`: how many events to plan for; more let the error "
                     "rise; default 1.07G"},
            {.name = "ledger-memory",
             .value = "SIZE",
             .help = "memory for what is kept for ever; default 256MiB"},
            {.name = "ledger-error",
             .value = "E",
             .help =
                 "with a new `--forever`: the error of what is kept for ever, once there are as "
                 "many events as planned for; it adds to that of the window; default 1e-9"},
            {.name = "sync",
             .value = "P",
             .help = "`always`: write as soon as the disk is free; or a duration up to 10s to "
                     "gather events for before they are written; default 50ms"},
            {.name = "batch",
             .value = "N",
             .help = "the most events to write at once, up to 65536; default 32768; with "
                     "`--redis` in one command, up to 4096, default 512"},
            {.name = "memory",
             .value = "SIZE",
             .help = "the most memory for the window; default as much as it needs"},
            {.name = "policy",
             .value = "POLICY",
             .choices = "refuse|degrade",
             .help = "at that limit: `refuse` new events, or let the error rise; default `refuse`"},
            {.name = "max-ahead",
             .value = "D",
             .help = "with times: an event further than this ahead of the clock on the wall is not "
                     "counted; default 1m"},
            {.name = "late-out",
             .value = "FILE",
             .help = "append events that are older than the window, as they were written: each "
                     "exactly once, also after a kill and a rerun",
             .completion = COMPLETE_FILES},
            {.name = "csv", .help = "the files are CSV"},
            {.name = "jsonl", .help = "the files have a JSON object a line"},
            {.name = "fields",
             .value = "SPEC",
             .help = "where things are, such as `id=1,key=2,delta=3,time=4`: columns, or names of "
                     "JSON members, or of a CSV header"},
            {.name = "on-error",
             .value = "WHAT",
             .choices = "skip|stop",
             .help = "`skip` a line that is wrong, count it as rejected and say why, ten times at "
                     "most; or `stop` before it; default `skip`"},
            {.name = "from-start", .help = "read files from their start, whatever was read before"},
            {.name = "last-line",
             .help = "take the last line of a file also if it has no newline: nobody writes to it "
                     "any more"},
            OPTION_JSON("print the summary as JSON on standard output"),
            OPTION_QUIET,
            {0}},
    .sections =
        (const struct section[]){
            {"Events",
             (const char *const[]){
                 "A plain line is an id, a key and a delta, a whole number, with tabs between "
                 "them. The delta may be left out, and is then 1. More pairs of a key and a delta "
                 "may follow, and are then changed together or not at all. A tab, newline, "
                 "carriage return, NUL or backslash inside an id or key is written `\\t`, `\\n`, "
                 "`\\r`, `\\0`, `\\\\`, any other byte may be written `\\xHH`.",
                 "Text is UTF-8 or any other in which a tab and a newline are one byte; a byte "
                 "order mark at its beginning is passed over, and UTF-16 is refused.",
                 "A CSV record has the same fields in the same order, quoted as RFC 4180 has it. A "
                 "JSON object has the members id, key and delta. `--fields` says otherwise: names "
                 "for CSV mean that the first record is a header.",
                 "With a time among the fields, which is milliseconds since 1970 or RFC 3339, the "
                 "window is of the events' own time, not of the clock on the wall. A store goes "
                 "by one of the two for good. An event whose time is further ahead of the clock on "
                 "the wall than `--max-ahead` is not counted, and is called future; and so is one "
                 "that is "
                 "ahead of those before it by more than the window, unless at least half of those "
                 "behind it "
                 "go with it: one wrong time does not make other events late.",
                 NULL}},
            {"Servers",
             (const char *const[]){
                 "With `--redis` the counters are a table in a Redis or Valkey server that has "
                 "loaded the module lethe.so, or in a cluster of them. Every event is sent again "
                 "until it is acknowledged, whatever happens to connections and masters "
                 "meanwhile, which is safe because a copy changes nothing. With `--wait` it is "
                 "acknowledged when so many replicas have it: without, what a master had "
                 "acknowledged can be lost with it.",
                 "A table T with one partition is the once-table T, as `ONCE.INCRBY T` has it. "
                 "With more of them, T tells how many, and they are named T:{tag}; they lie "
                 "evenly over a cluster. The number, the window and the error of a table can't "
                 "be changed. How far each named file was read is in T:files, written after "
                 "its events were acknowledged: a run that goes on sends the last of them again, "
                 "so it must come within the window.",
                 "The window is of the time at the server. An event that is a duplicate and had "
                 "to be sent twice may have been applied by the first sending, whose answer was "
                 "lost: the summary tells how many (in JSON, doubtful, a part of duplicates).",
                 NULL}},
            {0}},
    .examples =
        (const struct example[]){
            {"Count clicks that are retried for up to an hour",
             "lethe count --db clicks --window 1h clicks.tsv"},
            {"The bytes that each user was sent, from a log in JSON",
             "lethe count --db usage --jsonl --fields id=request,key=user,delta=bytes,time=at "
             "log.jsonl.zst"},
            {"How often each of billions of addresses was seen, in 256 MiB",
             "lethe count --db addresses --sketch 256MiB packets.tsv"},
            {"Go on with a log that is being written", "lethe count --db clicks -q clicks.tsv"},
            {"Count in a cluster, each event on a master and a replica",
             "lethe count --redis redis://10.0.0.1:6379,10.0.0.2:6379 --table clicks --wait 1 "
             "clicks.tsv"},
            {0}},
    .exit_done = "all events were read; each is counted and on disk, or a duplicate",
    .exit_passed_over =
        "all events were read, and some were passed over that are neither counted nor "
        "duplicates: late, too far in the future, refused, or wrong; the summary "
        "says how many, and the others are counted and on disk",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run,
};

/* redis.c - `lethe count --redis`: begins and ends a run. See redis.h for the idea. */
#include "count/redis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "frame/interrupt.h"
#include "say/message.h"

enum { PARCELS_LEAST = 64, EVENTS_PER_PARCEL = 512 };

static bool prepare(struct load *load) {
    size_t partitions = load->table->partition_count;
    load->parcel_count = 2 * partitions > PARCELS_LEAST ? 2 * partitions : PARCELS_LEAST;
    load->parcels = calloc(load->parcel_count, sizeof *load->parcels);
    load->order = malloc(EVENTS_PER_BATCH * sizeof *load->order);
    load->starts = malloc((2 * partitions + 2) * sizeof *load->starts);
    if (load->parcels == NULL || load->order == NULL || load->starts == NULL) return false;
    for (size_t i = 0; i < load->parcel_count; i++) {
        struct parcel *parcel = &load->parcels[i];
        parcel->load = load;
        parcel->lines = malloc(load->parcel_limit * sizeof *parcel->lines);
        parcel->outcomes = malloc(load->parcel_limit);
        parcel->ends = malloc(load->parcel_limit * sizeof *parcel->ends);
        if (parcel->lines == NULL || parcel->outcomes == NULL || parcel->ends == NULL) return false;
        parcel->next_free = load->free;
        load->free = parcel;
    }
    return true;
}

static void release(struct load *load) {
    for (size_t i = 0; load->parcels != NULL && i < load->parcel_count; i++) {
        struct parcel *parcel = &load->parcels[i];
        redis_text_free(&parcel->text);
        free(parcel->lines);
        free(parcel->outcomes);
        free(parcel->ends);
    }
    free(load->parcels);
    free(load->order);
    free(load->starts);
    redis_text_free(&load->mark_text);
}

/* Reads the state of the window for the report; if that fails, the report does without. */
static void look_at_window(struct load *load) {
    struct redis_table_stats stats;
    struct redis_client *client = load->table->client;
    if (client->code != EXIT_DONE || client->open_count > 0) return;
    if (redis_table_info(load->table, &stats) != EXIT_DONE) return;
    load->counting->window = (lethe_store_window){.window_ms = stats.window.window_ms,
                                                  .error_target = stats.window.error_target,
                                                  .error_estimate = stats.window.error_estimate,
                                                  .ids = stats.window.ids,
                                                  .memory_bytes = stats.window_bytes,
                                                  .strain = stats.window.strain};
}

/* With the table open. */
static int count_into(struct load *load) {
    struct counting *counting = load->counting;
    struct resume_table marks = {0};
    int code = prepare(load) ? load_read_marks(load, &marks) : message_fail_memory();
    if (code == EXIT_DONE) code = count_begin(counting, &marks);
    if (code == EXIT_DONE) {
        look_at_window(load);
        code = load_send_all(load);
        if (code == EXIT_DONE) look_at_window(load);
        count_expect_wrong(counting, totals_fresh(&counting->totals));
        count_report(counting);
        if (code != EXIT_DONE && code != EXIT_BAD_DATA && load->table->client->code != EXIT_DONE) {
            message_note("%" PRIu64
                         " events of this run are acknowledged, and more may be counted; run the "
                         "same command again within the window to continue",
                         totals_events(&counting->totals) - totals_skipped(&counting->totals));
        }
    }
    events_free(counting->reader);
    release(load);
    resume_free(&marks);
    return load_end_unreported(load, count_end(counting, code));
}

/* What a new table is spread by, and per which periods it counts. */
static int read_spread(const struct arguments *arguments, struct redis_table_options *options) {
    size_t by = 0;
    int code = arguments_choice(arguments, "partition-by", &by);
    if (code != EXIT_DONE) return code;
    if (arguments_has(arguments, "partition-by"))
        options->by_key = by == 1 ? LETHE_SWITCH_ON : LETHE_SWITCH_OFF;
    const char *problem = redis_periods_parse(arguments_text(arguments, "per"),
                                              arguments_text(arguments, "keep"), &options->periods);
    return problem != NULL ? arguments_fail(arguments, "%s", problem) : EXIT_DONE;
}

static int read_options(const struct arguments *arguments, struct redis_table_options *options,
                        uint64_t *batch) {
    uint64_t replicas = 0;
    struct count_window_options window = {0};
    options->create = true;
    options->client.retry_ms = 60000;
    options->client.waits_for_servers = arguments_has(arguments, "retry");
    int code =
        arguments_count(arguments, "partitions", 1, REDIS_PARTITIONS_LIMIT, &options->partitions);
    if (code == EXIT_DONE) code = arguments_count(arguments, "wait", 0, 100, &replicas);
    if (code == EXIT_DONE) {
        code = arguments_duration(arguments, "retry", 1, UINT64_C(86400000),
                                  &options->client.retry_ms);
    }
    if (code == EXIT_DONE) code = count_read_window(arguments, &window);
    if (code == EXIT_DONE) code = arguments_count(arguments, "batch", 1, EVENTS_PER_BATCH, batch);
    if (code == EXIT_DONE) code = read_spread(arguments, options);
    options->window_ms = window.window_ms;
    options->error = window.error;
    options->memory_bytes = window.memory_bytes;
    options->policy = window.policy;
    options->forgetful = window.forgetful;
    options->client.replicas = (unsigned)replicas;
    return code;
}

int count_redis(const struct arguments *arguments) {
    static struct counting counting;
    static struct load load;
    struct redis_table_options options = {0};
    struct event_options event_options = {0};
    struct inputs inputs;
    uint64_t batch = EVENTS_PER_PARCEL;
    int code = read_options(arguments, &options, &batch);
    if (code == EXIT_DONE) code = count_read_events(arguments, &event_options);
    if (code == EXIT_DONE) code = count_set_scale(&event_options, 0);
    if (code == EXIT_DONE) code = count_read_follow(arguments, &counting, &event_options);
    if (code == EXIT_DONE && event_format_has_time(&event_options.format)) {
        code = arguments_fail(arguments, "--fields with a time cannot be used with --redis: a "
                                         "table goes by the server's clock");
    }
    if (code == EXIT_DONE) code = count_check_files(arguments, NULL, &inputs);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    code = events_open(&inputs, &event_options, &counting.reader);
    if (code == EXIT_DONE) code = redis_table_open(arguments, &options, &load.table);
    if (code != EXIT_DONE) {
        events_free(counting.reader);
        /* A signal is how following ends. */
        bool is_over = counting.follows && interrupt_requested() && code == interrupt_code();
        return is_over ? EXIT_DONE : code;
    }
    /* An event repeated after the window would be counted twice. */
    struct redis_client *client = load.table->client;
    if (client->patience_ms > load.table->window_ms / 2) {
        client->patience_ms = load.table->window_ms / 2;
    }
    counting.folder = load.table->shown;
    counting.inputs = &inputs;
    count_read_reporting(arguments, &counting);
    load.counting = &counting;
    load.parcel_limit = (size_t)batch;
    snprintf(load.files_key, sizeof load.files_key, "%s:files", load.table->name);
    code = count_into(&load);
    redis_table_close(load.table);
    return code;
}

/* count_redis.c - `lethe count --redis`: events become commands to a server or a cluster.
 *
 * IDEA    A batch of the reader is sorted by partition and cut into parcels: one ONCE.MINCRBY for many events with one
 *         counter each, one ONCE.INCRBY for each event with several. Parcels go out side by side and come back in any
 *         order, each acknowledged for itself. A batch's mark, how far the file was read, is stored when all parcels
 *         of it and of those before it are acknowledged.
 * I1      An event is in the totals when its parcel is acknowledged, and not before.
 * I2      A mark in the server never is beyond an event that is not acknowledged.
 * WHY     A mark is not stored in one step with its events, as a store on disk does it, because they are spread over
 *         keys of several masters. It is behind them instead: a later run repeats some events, which are
 *         copies while the window lasts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"
#include "interrupt.h"
#include "message.h"
#include "redis_lost.h"
#include "redis_table.h"

enum {
    BATCHES = 16, /* of the reader, under way at once */
    PARCELS_LEAST = 64,
    EVENTS_PER_PARCEL = 512,
    PARCEL_BYTES = 1 << 20, /* roughly, where events have several counters */
    TICK_MS = 20,
    OUTCOME_UNKNOWN = 255
};

struct load;

/* One batch under way. */
struct leg {
    size_t outstanding; /* parcels */
    const char *path;
    uint64_t last_line;
    bool starts_input, was_taken; /* as its batch says */
    bool is_taken;                /* an event of it was counted, or a duplicate */
    bool has_mark;
    char mark_name[RESUME_NAME_BYTES];
    struct resume_mark mark;
};

struct parcel {
    struct redis_request request;
    struct load *load;
    struct leg *leg;
    struct parcel *next_free;
    struct redis_text text;
    size_t count;      /* events */
    uint64_t *lines;   /* of each */
    uint8_t *outcomes; /* lethe_outcome */
    size_t *ends;      /* of the commands, where there are several */
};

struct load {
    struct counting *counting;
    struct redis_table *table;
    size_t parcel_limit; /* events */
    int code;            /* of an event that stops all */
    struct parcel *parcels, *free;
    size_t parcel_count;
    struct leg legs[BATCHES];
    size_t first_leg, leg_count;

    char files_key[REDIS_NAME_LIMIT_BYTES + 8];
    bool has_mark, is_storing; /* one to be stored; one under way */
    bool is_taken;             /* of the file whose legs are ending */
    uint64_t applied_then;     /* in the table, at least, when the last mark was stored */
    char mark_name[RESUME_NAME_BYTES];
    unsigned char mark_value[RESUME_VALUE_BYTES];
    size_t mark_value_size;
    struct redis_request mark_request;
    struct redis_text mark_text;

    size_t *order; /* the events of a batch, sorted */
    size_t *starts;
};

static int fail_memory(void) {
    return message_fail(EXIT_ENVIRONMENT, "not enough memory to send events; free some");
}

/* --- What comes back */

/* One event's answer: [1 or 0, values...], or an error. */
static void take_outcome(struct parcel *parcel, size_t place, const redisReply *reply) {
    uint8_t *outcome = &parcel->outcomes[place];
    if (*outcome == LETHE_APPLIED) return; /* when it was sent before */
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
        reply->element[0]->type == REDIS_REPLY_INTEGER) {
        bool is_applied = reply->element[0]->integer != 0;
        bool is_first = *outcome == OUTCOME_UNKNOWN;
        *outcome = is_applied ? LETHE_APPLIED : LETHE_COPY;
        bool is_doubtful = !is_applied && is_first && parcel->request.is_uncertain;
        parcel->load->counting->doubtful += is_doubtful;
    } else if (reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "FULL", 4) == 0) {
        *outcome = LETHE_NO_ROOM;
    } else {
        *outcome = LETHE_OVERFLOW;
    }
}

static void on_reply(struct redis_request *request, size_t command, const redisReply *reply) {
    struct parcel *parcel = request->context;
    if (request->ends != NULL) {
        take_outcome(parcel, command, reply);
        return;
    }
    for (size_t i = 0; i < parcel->count && i < reply->elements; i++) {
        take_outcome(parcel, i, reply->element[i]);
    }
}

static void tally(struct parcel *parcel, size_t place) {
    struct counting *counting = parcel->load->counting;
    lethe_outcome outcome = (lethe_outcome)parcel->outcomes[place];
    parcel->leg->is_taken |= outcome == LETHE_APPLIED || outcome == LETHE_COPY;
    if (outcome == LETHE_APPLIED) {
        counting->totals.applied++;
    } else if (outcome == LETHE_COPY) {
        counting->totals.duplicates++;
    } else {
        counting->totals.rejected++;
        counting->refused += outcome == LETHE_NO_ROOM;
        int code = count_refuse(counting, parcel->leg->path, parcel->lines[place],
                                parcel->leg->last_line, outcome);
        if (parcel->load->code == EXIT_DONE) parcel->load->code = code;
    }
}

static void on_done(struct redis_request *request) {
    struct parcel *parcel = request->context;
    struct load *load = parcel->load;
    for (size_t i = 0; i < parcel->count; i++) {
        tally(parcel, i);
    }
    parcel->leg->outstanding--;
    parcel->next_free = load->free;
    load->free = parcel;
}

/* --- Marks */

static void on_mark_reply(struct redis_request *request, size_t command, const redisReply *reply) {
    (void)request;
    (void)command;
    (void)reply;
}

static void on_mark_done(struct redis_request *request) {
    struct load *load = request->context;
    load->is_storing = false;
}

/* Beside the marks: how many events the table had counted, at least. One that has counted fewer was deleted or has lost some. */
static const char applied_field[] = "applied";

/* Sends the latest mark, if there is one and none is under way. */
static int send_mark(struct load *load) {
    if (!load->has_mark || load->is_storing) return EXIT_DONE;
    struct redis_text *text = &load->mark_text;
    redis_text_clear(text);
    redis_text_begin(text, 6);
    redis_text_string(text, "HSET");
    redis_text_string(text, load->files_key);
    redis_text_string(text, load->mark_name);
    redis_text_word(text, (lethe_bytes){load->mark_value, load->mark_value_size});
    redis_text_string(text, applied_field);
    redis_text_count(text, load->table->applied + load->counting->totals.applied);
    if (text->is_short_of_memory) return fail_memory();
    lethe_bytes key = {.data = load->files_key, .size = strlen(load->files_key)};
    load->mark_request = (struct redis_request){.slot = redis_slot(key),
                                                .is_write = true,
                                                .text = text->data,
                                                .size = text->size,
                                                .commands = 1,
                                                .on_reply = on_mark_reply,
                                                .on_done = on_mark_done,
                                                .context = load};
    load->has_mark = false;
    load->is_storing = true;
    redis_client_submit(load->table->client, &load->mark_request);
    return EXIT_DONE;
}

static int work(struct load *load, int timeout_ms) {
    int code = redis_client_work(load->table->client, timeout_ms);
    if (code != EXIT_DONE) return code;
    redis_lost_watch(load->table);
    return send_mark(load);
}

/* Takes a leg's mark, once that of another file has been sent. */
static int take_mark(struct load *load, const struct leg *leg) {
    while (load->has_mark && strcmp(load->mark_name, leg->mark_name) != 0) {
        int code = work(load, TICK_MS);
        if (code != EXIT_DONE) return code;
    }
    memcpy(load->mark_name, leg->mark_name, sizeof load->mark_name);
    struct resume_mark mark = leg->mark;
    if (!load->is_taken) mark.flags |= RESUME_UNTAKEN;
    load->mark_value_size = resume_encode(&mark, load->mark_value);
    load->has_mark = true;
    return send_mark(load);
}

/* Ends the legs that have come home, the oldest first. */
static int end_legs(struct load *load, size_t keep) {
    int code = EXIT_DONE;
    while (code == EXIT_DONE && load->leg_count > keep &&
           load->legs[load->first_leg].outstanding == 0) {
        const struct leg *leg = &load->legs[load->first_leg];
        if (leg->starts_input) load->is_taken = leg->was_taken;
        load->is_taken |= leg->is_taken;
        if (leg->has_mark) code = take_mark(load, leg);
        load->first_leg = (load->first_leg + 1) % BATCHES;
        load->leg_count--;
    }
    return code;
}

/* Waits until all that was sent is acknowledged, and the last mark stored. */
static int settle(struct load *load) {
    int code = EXIT_DONE;
    while (code == EXIT_DONE &&
           (load->table->client->open_count > 0 || load->leg_count > 0 || load->has_mark)) {
        code = work(load, TICK_MS);
        if (code == EXIT_DONE) code = end_legs(load, 0);
    }
    return code;
}

/* --- What goes out */

static int take_parcel(struct load *load, struct parcel **out) {
    int code = EXIT_DONE;
    while (load->free == NULL && code == EXIT_DONE) {
        code = work(load, TICK_MS);
    }
    *out = load->free;
    if (code == EXIT_DONE) load->free = load->free->next_free;
    return code;
}

/* A partition that is lost while it is counted in is not made by its next event, with the server's window, but by the link, with
 * the table's. */
static void write_many(struct parcel *parcel, const char *key, const struct event_batch *batch,
                       const size_t *order, size_t count) {
    struct redis_text *text = &parcel->text;
    redis_text_begin(text, 3 + 3 * count);
    redis_text_string(text, "ONCE.MINCRBY");
    redis_text_string(text, key);
    for (size_t i = 0; i < count; i++) {
        const lethe_operation *operation = &batch->operations[order[i]];
        redis_text_word(text, operation->id);
        redis_text_word(text, operation->changes[0].key);
        redis_text_number(text, operation->changes[0].delta);
    }
    redis_text_string(text, "NOCREATE");
    parcel->count = count;
}

/* Writes commands until they are many or large, and tells how many. */
static void write_each(struct parcel *parcel, const char *key, const struct event_batch *batch,
                       const size_t *order, size_t count) {
    struct redis_text *text = &parcel->text;
    parcel->count = 0;
    while (parcel->count < count && text->size < PARCEL_BYTES) {
        const lethe_operation *operation = &batch->operations[order[parcel->count]];
        redis_text_begin(text, 4 + 2 * operation->change_count);
        redis_text_string(text, "ONCE.INCRBY");
        redis_text_string(text, key);
        redis_text_word(text, operation->id);
        for (size_t i = 0; i < operation->change_count; i++) {
            redis_text_word(text, operation->changes[i].key);
            redis_text_number(text, operation->changes[i].delta);
        }
        redis_text_string(text, "NOCREATE");
        parcel->ends[parcel->count++] = text->size;
    }
}

/* Sends as many of the events, which are all of one partition and kind, as one parcel takes. */
static int send_parcel(struct load *load, struct leg *leg, const struct event_batch *batch,
                       size_t bucket, const size_t *order, size_t *count) {
    static const char *const refusals[] = {"FULL", "ERR increment would overflow", NULL};
    struct redis_partition *partition = &load->table->partitions[bucket / 2];
    struct parcel *parcel;
    int code = take_parcel(load, &parcel);
    if (code != EXIT_DONE) return code;
    size_t most = *count < load->parcel_limit ? *count : load->parcel_limit;
    bool is_many = bucket % 2 == 0;
    redis_text_clear(&parcel->text);
    (is_many ? write_many : write_each)(parcel, partition->key, batch, order, most);
    if (parcel->text.is_short_of_memory) return fail_memory();
    for (size_t i = 0; i < parcel->count; i++) {
        parcel->lines[i] = batch->line_numbers[order[i]];
        parcel->outcomes[i] = OUTCOME_UNKNOWN;
    }
    parcel->leg = leg;
    parcel->request = (struct redis_request){
        .slot = partition->slot,
        .is_write = true,
        .text = parcel->text.data,
        .size = parcel->text.size,
        .ends = is_many ? NULL : parcel->ends,
        .commands = is_many ? 1 : parcel->count,
        .creation = {.data = partition->create.data, .size = partition->create.size},
        .tolerated = refusals,
        .on_reply = on_reply,
        .on_done = on_done,
        .context = parcel,
    };
    *count = parcel->count;
    leg->outstanding++;
    redis_client_submit(load->table->client, &parcel->request);
    return EXIT_DONE;
}

/* Sorts a batch by partition, events with one counter before those with several. */
static void sort_batch(struct load *load, const struct event_batch *batch) {
    static uint32_t buckets[EVENTS_PER_BATCH];
    size_t bucket_count = 2 * load->table->partition_count, *starts = load->starts;
    memset(starts, 0, (bucket_count + 1) * sizeof *starts);
    for (size_t i = 0; i < batch->count; i++) {
        const lethe_operation *operation = &batch->operations[i];
        size_t place = redis_table_place(load->table, operation->id);
        buckets[i] = (uint32_t)(2 * place + (operation->change_count > 1));
        starts[buckets[i] + 1]++;
    }
    for (size_t i = 0; i < bucket_count; i++) {
        starts[i + 1] += starts[i];
    }
    for (size_t i = 0; i < batch->count; i++) {
        load->order[starts[buckets[i]]++] = i;
    }
    /* Each start has moved to the next one's place. */
    memmove(starts + 1, starts, bucket_count * sizeof *starts);
    starts[0] = 0;
}

/* Says that what was read of a file before is not all in the table any more. */
static int fail_lost(const struct load *load, const char *path) {
    return message_fail(
        EXIT_BAD_DATA,
        "%s: %" PRIu64 " event%s counted here, and there were %" PRIu64
        " when %s was read: the table was deleted, or has lost some; give --from-start to read the "
        "file from its start (ids within the window are still recognised), or HDEL %s %s to go on "
        "without what is lost",
        load->table->shown, load->table->applied, load->table->applied == 1 ? " is" : "s are",
        load->applied_then, path, load->files_key, applied_field);
}

static int send_batch(struct load *load, const struct event_batch *batch) {
    if (batch->starts_input && batch->resumed_at > 0 && load->table->applied < load->applied_then) {
        return fail_lost(load, batch->path);
    }
    int code = end_legs(load, 0);
    while (load->leg_count == BATCHES && code == EXIT_DONE) {
        code = work(load, TICK_MS);
        if (code == EXIT_DONE) code = end_legs(load, 0);
    }
    if (code != EXIT_DONE) return code;
    struct leg *leg = &load->legs[(load->first_leg + load->leg_count++) % BATCHES];
    *leg = (struct leg){.path = batch->path,
                        .last_line = batch->line,
                        .starts_input = batch->starts_input,
                        .was_taken = batch->was_taken,
                        .has_mark = batch->has_mark,
                        .mark = batch->mark};
    memcpy(leg->mark_name, batch->mark_name, sizeof leg->mark_name);
    leg->outstanding = 1; /* so that it does not end before all of it is sent */
    sort_batch(load, batch);
    for (size_t bucket = 0; bucket < 2 * load->table->partition_count; bucket++) {
        size_t at = load->starts[bucket], end = load->starts[bucket + 1];
        while (at < end && code == EXIT_DONE) {
            size_t count = end - at;
            code = send_parcel(load, leg, batch, bucket, load->order + at, &count);
            at += count;
        }
    }
    leg->outstanding--;
    load->counting->totals.rejected += batch->rejected;
    return code == EXIT_DONE ? work(load, 0) : code;
}

/* Counts all events of the reader. */
static int send_all(struct load *load) {
    struct counting *counting = load->counting;
    int code = EXIT_DONE;
    while (code == EXIT_DONE) {
        /* While the reader has nothing, servers may. */
        while (code == EXIT_DONE && !events_await(counting->reader, 0) &&
               load->table->client->open_count > 0) {
            code = work(load, 1);
            if (code == EXIT_DONE) code = end_legs(load, 0);
        }
        if (code != EXIT_DONE) break;
        count_show_progress(counting);
        const struct event_batch *batch = events_next(counting->reader);
        if (batch == NULL) break;
        count_introduce(counting, batch);
        code = send_batch(load, batch);
        if (code == EXIT_DONE) code = load->code;
        events_release(counting->reader);
    }
    int settled = settle(load);
    if (code == EXIT_DONE) code = settled != EXIT_DONE ? settled : load->code;
    progress_end(&counting->progress);
    if (code == EXIT_DONE) code = events_end(counting->reader);
    return code;
}

/* --- Beginning and end */

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

struct marks {
    struct load *load;
    struct resume_table table;
    bool is_short_of_memory;
};

static void load_marks(void *context, size_t partition, const redisReply *reply) {
    (void)partition;
    struct marks *marks = context;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        const redisReply *name = reply->element[i], *value = reply->element[i + 1];
        if (strcmp(name->str, applied_field) == 0) {
            marks->load->applied_then = strtoull(value->str, NULL, 10);
        }
        if (!resume_load(&marks->table, (lethe_bytes){name->str, (size_t)name->len},
                         (lethe_bytes){value->str, (size_t)value->len})) {
            marks->is_short_of_memory = true;
        }
    }
}

/* Reads how far files were read. A table that nothing was ever counted in has no such files: what is said of
 * them was of another table, which was deleted. */
static int read_marks(struct load *load, struct marks *marks) {
    struct redis_table *table = load->table;
    struct redis_text text = {0};
    redis_text_begin(&text, 2);
    redis_text_string(&text, table->is_untouched ? "DEL" : "HGETALL");
    redis_text_string(&text, load->files_key);
    int code = redis_table_ask(table, load->files_key, &text,
                               &(struct redis_survey){.on_reply = load_marks,
                                                      .context = marks,
                                                      .is_write = table->is_untouched});
    redis_text_free(&text);
    if (code == EXIT_DONE && marks->is_short_of_memory) code = fail_memory();
    if (code == EXIT_DONE && marks->table.not_understood > 0) {
        message_warn("%zu mark%s in %s of how far a file was read %s not understood, perhaps of a "
                     "newer lethe; such files are read from the start",
                     marks->table.not_understood, marks->table.not_understood == 1 ? "" : "s",
                     load->files_key, marks->table.not_understood == 1 ? "is" : "are");
    }
    return code;
}

/* Reads how the window stands at the end, for the report; if that fails, the report does without. */
static void look_at_window(struct load *load) {
    struct redis_table_stats stats;
    struct redis_client *client = load->table->client;
    if (client->code != EXIT_DONE || client->open_count > 0) return;
    if (redis_table_info(load->table, &stats) != EXIT_DONE) return;
    load->counting->window = stats.window;
    load->counting->window.memory_bytes = stats.window_bytes;
}

/* With the table open. */
static int count_into(struct load *load, const struct event_options *options) {
    struct counting *counting = load->counting;
    struct marks marks = {.load = load};
    int code = prepare(load) ? read_marks(load, &marks) : fail_memory();
    if (code == EXIT_DONE) {
        interrupt_hold();
        code = events_open(counting->inputs, options, &marks.table, &counting->reader);
        interrupt_release();
    }
    if (code == EXIT_DONE) {
        counting->started_s = count_now_s();
        look_at_window(load);
        progress_begin(&counting->progress, !counting->quiet, "events", counting->inputs->bytes);
        code = send_all(load);
        if (code == EXIT_DONE) look_at_window(load);
        count_expect_wrong(counting, counting->totals.applied);
        count_report(counting);
        events_free(counting->reader);
        if (code != EXIT_DONE && code != EXIT_BAD_DATA && load->table->client->code != EXIT_DONE) {
            message_note("%" PRIu64 " events of this run are acknowledged; some more may be "
                         "counted; run the same command again within the window to go on",
                         count_events(&counting->totals));
        }
    }
    release(load);
    resume_free(&marks.table);
    return count_end(counting, code);
}

static int read_options(const struct arguments *arguments, struct redis_table_options *options,
                        uint64_t *batch) {
    uint64_t replicas = 0;
    size_t policy = LETHE_WINDOW_REFUSE;
    options->create = true;
    options->client.retry_ms = 60000;
    int code =
        arguments_count(arguments, "partitions", 1, REDIS_PARTITIONS_LIMIT, &options->partitions);
    if (code == EXIT_DONE) code = arguments_count(arguments, "wait", 1, 100, &replicas);
    if (code == EXIT_DONE) {
        code = arguments_duration(arguments, "retry", 1, UINT64_C(86400000),
                                  &options->client.retry_ms);
    }
    if (code == EXIT_DONE) {
        code = arguments_duration(arguments, "window", 1000, UINT64_C(2592000000),
                                  &options->window_ms);
    }
    if (code == EXIT_DONE) {
        code = arguments_probability(arguments, "error", 1e-12, 0.1, &options->error);
    }
    if (code == EXIT_DONE) code = arguments_count(arguments, "batch", 1, EVENTS_PER_BATCH, batch);
    if (code == EXIT_DONE) {
        code =
            arguments_size(arguments, "memory", 1 << 16, UINT64_C(1) << 50, &options->memory_bytes);
    }
    if (code == EXIT_DONE) code = arguments_choice(arguments, "policy", &policy);
    options->policy = (lethe_window_policy)policy;
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
    if (code == EXIT_DONE) code = count_read_options(arguments, &event_options);
    if (code == EXIT_DONE && event_format_has_time(&event_options.format)) {
        code = arguments_fail(arguments, "a time among the --fields does not go with --redis: a "
                                         "server's window is of the time at the server");
    }
    if (code == EXIT_DONE) code = count_check_files(arguments, NULL, &inputs);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    code = redis_table_open(arguments, &options, &load.table);
    if (code != EXIT_DONE) return code;
    /* What is repeated after the window would be counted twice. */
    struct redis_client *client = load.table->client;
    if (client->patience_ms > load.table->window_ms / 2) {
        client->patience_ms = load.table->window_ms / 2;
    }
    counting.folder = load.table->shown;
    counting.inputs = &inputs;
    counting.quiet = arguments_has(arguments, "quiet");
    counting.json = arguments_has(arguments, "json");
    counting.stops_on_error = event_options.stops_on_error;
    load.counting = &counting;
    load.parcel_limit = (size_t)batch;
    snprintf(load.files_key, sizeof load.files_key, "%s:files", load.table->name);
    code = count_into(&load, &event_options);
    redis_table_close(load.table);
    return code;
}

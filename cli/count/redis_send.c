/* redis_send.c - sends events to a server or a cluster in parcels, and takes the answers. */
#include <inttypes.h>
#include <string.h>

#include "count/redis.h"
#include "say/message.h"

enum {
    PARCEL_BYTES = 1 << 20, /* roughly, where events have several counters */
    OUTCOME_UNKNOWN = 255
};

/* Of an event that no partition can apply. */
static const uint32_t NO_BUCKET = UINT32_MAX;

/* One event's answer: [1 or 0, values...], or an error. */
static void take_outcome(struct parcel *parcel, size_t place, const redisReply *reply) {
    uint8_t *outcome = &parcel->outcomes[place];
    if (*outcome == LETHE_OUTCOME_APPLIED) return; /* when it was sent before */
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
        reply->element[0]->type == REDIS_REPLY_INTEGER) {
        bool is_applied = reply->element[0]->integer != 0;
        bool is_first = *outcome == OUTCOME_UNKNOWN;
        *outcome = is_applied ? LETHE_OUTCOME_APPLIED : LETHE_OUTCOME_DUPLICATE;
        bool is_doubtful = !is_applied && is_first && parcel->request.is_uncertain;
        parcel->load->counting->doubtful += is_doubtful;
    } else if (reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "FULL", 4) == 0) {
        *outcome = LETHE_OUTCOME_REFUSED;
    } else {
        *outcome = LETHE_OUTCOME_OVERFLOW;
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
    /* A server that answers fewer events than it was sent is not to be believed. */
    if (parcel->outcomes[place] == OUTCOME_UNKNOWN) outcome = LETHE_OUTCOME_INVALID;
    bool is_taken = outcome == LETHE_OUTCOME_APPLIED || outcome == LETHE_OUTCOME_DUPLICATE;
    parcel->leg->is_taken |= is_taken;
    counting->totals.outcomes[outcome]++;
    if (is_taken) return;
    int code = count_refuse(counting, parcel->leg->path, parcel->lines[place],
                            parcel->leg->last_line, outcome);
    if (parcel->load->code == EXIT_DONE) parcel->load->code = code;
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

static int take_parcel(struct load *load, struct parcel **out) {
    int code = EXIT_DONE;
    while (load->free == NULL && code == EXIT_DONE) {
        code = load_work(load, LOAD_TICK_MS);
    }
    *out = load->free;
    if (code == EXIT_DONE) load->free = load->free->next_free;
    return code;
}

/* NOCREATE: a partition that is lost during the run is made again by the link, with the table's
 * window, and not by its next event, with the server's. */
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

/* Writes commands until they are many or large; parcel->count is how many. */
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

/* Sends as many of the events as one parcel takes; they are all of one partition and kind. */
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
    if (parcel->text.is_short_of_memory) return message_fail_memory();
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
        size_t place = redis_table_place(load->table, operation);
        buckets[i] = NO_BUCKET;
        if (place == REDIS_NO_PLACE) continue;
        buckets[i] = (uint32_t)(2 * place + (operation->change_count > 1));
        starts[buckets[i] + 1]++;
    }
    for (size_t i = 0; i < bucket_count; i++) {
        starts[i + 1] += starts[i];
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (buckets[i] != NO_BUCKET) load->order[starts[buckets[i]]++] = i;
    }
    /* Each start has moved to the next one's place. */
    memmove(starts + 1, starts, bucket_count * sizeof *starts);
    starts[0] = 0;
}

/* Says that the table no longer holds all that was read of a file before. */
static int fail_lost(const struct load *load, const char *path) {
    return message_fail(
        EXIT_BAD_DATA,
        "%s: %" PRIu64 " event%s counted here, and there were %" PRIu64
        " when %s was read: the table was deleted, or has lost some; give --from-start to read the "
        "file from its start (ids within the window are still recognised), or HDEL %s %s to "
        "continue without what is lost",
        load->table->shown, load->table->applied, load->table->applied == 1 ? " is" : "s are",
        load->applied_then, path, load->files_key, load_applied_field);
}

/* Events whose counters are in several partitions cannot be applied in one step. */
static void pass_over_split(struct load *load, const struct leg *leg,
                            const struct event_batch *batch) {
    struct counting *counting = load->counting;
    for (size_t i = 0; i < batch->count && load->table->is_by_key; i++) {
        if (redis_table_place(load->table, &batch->operations[i]) != REDIS_NO_PLACE) continue;
        counting->totals.outcomes[LETHE_OUTCOME_INVALID]++;
        count_complain(counting, leg->path, batch->line_numbers[i],
                       "the table is spread by key, and the event's keys are in several "
                       "partitions; not counted, write an event for each key");
    }
}

static int send_batch(struct load *load, const struct event_batch *batch) {
    const struct event_share *share = &batch->shares[0]; /* nothing is merged without times */
    if (share->starts_input && share->resumed_at > 0 && load->table->applied < load->applied_then) {
        return fail_lost(load, share->path);
    }
    int code = load_end_legs(load);
    while (load->leg_count == LOAD_BATCHES && code == EXIT_DONE) {
        code = load_work(load, LOAD_TICK_MS);
        if (code == EXIT_DONE) code = load_end_legs(load);
    }
    if (code != EXIT_DONE) return code;
    struct leg *leg = &load->legs[(load->first_leg + load->leg_count++) % LOAD_BATCHES];
    *leg = (struct leg){.path = share->path,
                        .slot = share->slot,
                        .last_line = share->line,
                        .starts_input = share->starts_input,
                        .was_taken = share->was_taken,
                        .has_mark = share->has_mark,
                        .mark = share->mark};
    memcpy(leg->mark_name, share->mark_name, sizeof leg->mark_name);
    leg->outstanding = 1; /* so that it does not end before all of it is sent */
    sort_batch(load, batch);
    pass_over_split(load, leg, batch);
    for (size_t bucket = 0; bucket < 2 * load->table->partition_count; bucket++) {
        size_t at = load->starts[bucket], end = load->starts[bucket + 1];
        while (at < end && code == EXIT_DONE) {
            size_t count = end - at;
            code = send_parcel(load, leg, batch, bucket, load->order + at, &count);
            at += count;
        }
    }
    leg->outstanding--;
    load->counting->totals.unreadable += batch->unreadable;
    return code == EXIT_DONE ? load_work(load, 0) : code;
}

int load_send_all(struct load *load) {
    struct counting *counting = load->counting;
    int code = EXIT_DONE;
    while (code == EXIT_DONE) {
        /* While the reader has nothing, servers may. */
        while (code == EXIT_DONE && !events_await(counting->reader, 0) &&
               load->table->client->open_count > 0) {
            code = load_work(load, 1);
            if (code == EXIT_DONE) code = load_end_legs(load);
        }
        if (code != EXIT_DONE) break;
        count_follow_wait(counting);
        count_show_progress(counting);
        const struct event_batch *batch = events_next(counting->reader);
        if (batch == NULL) break;
        count_introduce(counting, batch);
        code = send_batch(load, batch);
        if (code == EXIT_DONE) code = load->code;
        events_release(counting->reader);
    }
    int settled = load_settle(load);
    if (code == EXIT_DONE) code = settled != EXIT_DONE ? settled : load->code;
    progress_end(&counting->progress);
    if (code == EXIT_DONE) code = events_end(counting->reader);
    return code;
}

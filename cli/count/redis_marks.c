/* redis_marks.c - how far files were read, in a server: the hash TABLE:files. */
#include <stdlib.h>
#include <string.h>

#include "count/redis.h"
#include "redis/lost.h"
#include "say/message.h"

const char load_applied_field[] = "applied";
/* How many skipped events no run has reported (unreported.c). */
static const char unreported_field[] = "unreported";

struct marks {
    struct load *load;
    struct resume_table *table;
    bool is_short_of_memory;
};

static void load_marks(void *context, size_t partition, const redisReply *reply) {
    (void)partition;
    struct marks *marks = context;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        const redisReply *name = reply->element[i], *value = reply->element[i + 1];
        if (strcmp(name->str, load_applied_field) == 0) {
            marks->load->applied_then = strtoull(value->str, NULL, 10);
        }
        if (strcmp(name->str, unreported_field) == 0) {
            marks->load->counting->unreported.before = strtoull(value->str, NULL, 10);
        }
        if (!resume_load(marks->table, (lethe_bytes){name->str, (size_t)name->len},
                         (lethe_bytes){value->str, (size_t)value->len})) {
            marks->is_short_of_memory = true;
        }
    }
}

int load_read_marks(struct load *load, struct resume_table *marks_table) {
    struct redis_table *table = load->table;
    struct marks marks = {.load = load, .table = marks_table};
    struct redis_text text = {0};
    redis_text_begin(&text, 2);
    redis_text_string(&text, table->is_untouched ? "DEL" : "HGETALL");
    redis_text_string(&text, load->files_key);
    int code = redis_table_ask(table, load->files_key, &text,
                               &(struct redis_survey){.on_reply = load_marks,
                                                      .context = &marks,
                                                      .is_write = table->is_untouched});
    redis_text_free(&text);
    if (code == EXIT_DONE && marks.is_short_of_memory) code = message_fail_memory();
    if (code == EXIT_DONE) count_warn_of_marks(marks_table->not_understood, load->files_key);
    return code;
}

/* Of earlier runs and this one, as far as they are acknowledged. */
static uint64_t unreported(const struct counting *counting) {
    return counting->unreported.before + totals_skipped(&counting->totals);
}

int load_end_unreported(struct load *load, int code) {
    const struct counting *counting = load->counting;
    const struct redis_client *client = load->table->client;
    if (unreported(counting) == 0 || client->code != EXIT_DONE || client->open_count > 0 ||
        !count_unreported_is_over(counting, code)) {
        return code;
    }
    struct redis_text text = {0};
    redis_text_begin(&text, 3);
    redis_text_string(&text, "HDEL");
    redis_text_string(&text, load->files_key);
    redis_text_string(&text, unreported_field);
    int removed = redis_table_ask(load->table, load->files_key, &text,
                                  &(struct redis_survey){.is_write = true});
    redis_text_free(&text);
    return removed == EXIT_DONE ? code : removed;
}

static void on_mark_reply(struct redis_request *request, size_t command, const redisReply *reply) {
    (void)request;
    (void)command;
    (void)reply;
}

static void on_mark_done(struct redis_request *request) {
    struct load *load = request->context;
    load->is_storing = false;
}

/* Sends the latest mark, if there is one and none is under way. */
static int send_mark(struct load *load) {
    if (!load->has_mark || load->is_storing) return EXIT_DONE;
    struct redis_text *text = &load->mark_text;
    redis_text_clear(text);
    uint64_t skipped = unreported(load->counting);
    redis_text_begin(text, skipped > 0 ? 8 : 6);
    redis_text_string(text, "HSET");
    redis_text_string(text, load->files_key);
    redis_text_string(text, load->mark_name);
    redis_text_word(text, (lethe_bytes){load->mark_value, load->mark_value_size});
    redis_text_string(text, load_applied_field);
    redis_text_count(text,
                     load->table->applied + load->counting->totals.outcomes[LETHE_OUTCOME_APPLIED]);
    if (skipped > 0) {
        redis_text_string(text, unreported_field);
        redis_text_count(text, skipped);
    }
    if (text->is_short_of_memory) return message_fail_memory();
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

int load_work(struct load *load, int timeout_ms) {
    int code = redis_client_work(load->table->client, timeout_ms);
    if (code != EXIT_DONE) return code;
    redis_lost_watch(load->table);
    return send_mark(load);
}

/* Takes a leg's mark, once that of another file has been sent. */
static int take_mark(struct load *load, const struct leg *leg) {
    while (load->has_mark && strcmp(load->mark_name, leg->mark_name) != 0) {
        int code = load_work(load, LOAD_TICK_MS);
        if (code != EXIT_DONE) return code;
    }
    memcpy(load->mark_name, leg->mark_name, sizeof load->mark_name);
    struct resume_mark mark = leg->mark;
    if (!load->is_taken[leg->slot]) mark.flags |= RESUME_UNTAKEN;
    load->mark_value_size = resume_encode(&mark, load->mark_value);
    load->has_mark = true;
    return send_mark(load);
}

int load_end_legs(struct load *load) {
    int code = EXIT_DONE;
    while (code == EXIT_DONE && load->leg_count > 0 &&
           load->legs[load->first_leg].outstanding == 0) {
        const struct leg *leg = &load->legs[load->first_leg];
        bool *is_taken = &load->is_taken[leg->slot];
        if (leg->starts_input) *is_taken = leg->was_taken;
        *is_taken |= leg->is_taken;
        if (leg->has_mark) code = take_mark(load, leg);
        load->first_leg = (load->first_leg + 1) % LOAD_BATCHES;
        load->leg_count--;
    }
    return code;
}

int load_settle(struct load *load) {
    int code = EXIT_DONE;
    while (code == EXIT_DONE &&
           (load->table->client->open_count > 0 || load->leg_count > 0 || load->has_mark)) {
        code = load_work(load, LOAD_TICK_MS);
        if (code == EXIT_DONE) code = load_end_legs(load);
    }
    return code;
}

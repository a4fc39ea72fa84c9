/* redis_table.c - finds, makes and compares tables, and asks all partitions of one something.
 *
 * WHY     The description is written by SET NX, so that of several who make a table at the same time one wins, and the
 *         others read what it wrote. It is there before any partition is: so where there are partitions and still no
 *         description after them, one was lost (redis_lost.h). A partition that is not there is made with the table's
 *         own window before anything is counted in it: the server would make it by itself otherwise, with whatever it
 *         has as its default. */
#include "redis_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "message.h"
#include "redis_lost.h"

enum { VERSION = 1, CLUSTER_PARTITIONS = 16 };

static const uint64_t NEW_WINDOW_MS = 600000;
static const double NEW_ERROR = 1e-9;

static const char *const no_table[] = {"ERR no such table", NULL};
static const char *const no_table_or_other[] = {"ERR no such table", "WRONGTYPE", NULL};
static const char *const other_type[] = {"WRONGTYPE", NULL};
static const char *const there_already[] = {"BUSYKEY", NULL};

/* --- Asking */

struct question {
    struct redis_request request;
    struct redis_text text;
    const struct redis_survey *survey;
    size_t partition;
};

static void take_answer(struct redis_request *request, size_t command, const redisReply *reply) {
    (void)command;
    struct question *question = request->context;
    const struct redis_survey *survey = question->survey;
    if (survey->on_reply != NULL) survey->on_reply(survey->context, question->partition, reply);
}

static void submit(struct redis_table *table, struct question *question,
                   const struct redis_survey *survey, unsigned slot) {
    question->survey = survey;
    question->request = (struct redis_request){.slot = slot,
                                               .is_write = survey->is_write,
                                               .text = question->text.data,
                                               .size = question->text.size,
                                               .commands = 1,
                                               .tolerated = survey->tolerated,
                                               .on_reply = take_answer,
                                               .context = question};
    redis_client_submit(table->client, &question->request);
}

static int fail_memory(void) {
    return message_fail(EXIT_ENVIRONMENT, "not enough memory; free some");
}

int redis_table_survey(struct redis_table *table, const struct redis_survey *survey) {
    struct question *questions = calloc(table->partition_count, sizeof *questions);
    if (questions == NULL) return fail_memory();
    int code = EXIT_DONE;
    for (size_t i = 0; i < table->partition_count && code == EXIT_DONE; i++) {
        struct question *question = &questions[i];
        question->partition = i;
        if (!survey->write(survey->context, i, &question->text)) continue;
        if (question->text.is_short_of_memory) {
            code = fail_memory();
        } else {
            submit(table, question, survey, table->partitions[i].slot);
        }
    }
    int finished = redis_client_finish(table->client, NULL);
    if (code == EXIT_DONE) code = finished;
    for (size_t i = 0; i < table->partition_count; i++) {
        redis_text_free(&questions[i].text);
    }
    free(questions);
    return code;
}

int redis_table_ask(struct redis_table *table, const char *key, struct redis_text *text,
                    const struct redis_survey *how) {
    struct question question = {.text = *text};
    if (text->is_short_of_memory) return fail_memory();
    submit(table, &question, how, redis_slot((lethe_bytes){key, strlen(key)}));
    return redis_client_finish(table->client, &question.request);
}

/* --- How a table stands */

static uint64_t number_of(const redisReply *reply) {
    return reply->type == REDIS_REPLY_INTEGER && reply->integer > 0 ? (uint64_t)reply->integer : 0;
}

static double real_of(const redisReply *reply) {
    return reply->type == REDIS_REPLY_STRING ? strtod(reply->str, NULL) : 0;
}

static uint32_t strain_of(const redisReply *reply) {
    uint32_t strain = 0;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        const char *word = reply->element[i]->str;
        if (word == NULL) continue;
        if (strcmp(word, "error") == 0) strain |= LETHE_STRAIN_ERROR;
        if (strcmp(word, "memory") == 0) strain |= LETHE_STRAIN_MEMORY;
        if (strcmp(word, "clock") == 0) strain |= LETHE_STRAIN_CLOCK;
    }
    return strain;
}

static void raise(uint64_t *most, uint64_t value) {
    if (value > *most) *most = value;
}

/* Adds one number of ONCE.INFO to those of the table. */
static void add_number(struct redis_table_stats *stats, const char *name, const redisReply *value) {
    lethe_window_stats *window = &stats->window;
    uint64_t number = number_of(value);
    double real = real_of(value);
    if (strcmp(name, "window_ms") == 0) window->window_ms = number;
    if (strcmp(name, "clock_ms") == 0) raise(&stats->clock_ms, number);
    if (strcmp(name, "oldest_age_ms") == 0) raise(&window->oldest_age_ms, number);
    if (strcmp(name, "error_target") == 0) window->error_target = real;
    if (strcmp(name, "error_estimate") == 0 && real > window->error_estimate) {
        window->error_estimate = real;
    }
    if (strcmp(name, "ids") == 0) stats->ids += number;
    if (strcmp(name, "fresh") == 0) stats->applied += number;
    if (strcmp(name, "duplicates") == 0) stats->duplicates += number;
    if (strcmp(name, "refused") == 0) stats->refused += number;
    if (strcmp(name, "counters") == 0) stats->counters += number;
    if (strcmp(name, "memory_bytes") == 0) stats->memory_bytes += number;
    if (strcmp(name, "window_bytes") == 0) stats->window_bytes += number;
    if (strcmp(name, "strain") == 0) window->strain |= strain_of(value);
    if (strcmp(name, "may_be_evicted") == 0 && number > 0) stats->may_be_evicted = true;
}

struct standing {
    const struct redis_table *table;
    struct redis_table_stats *stats;
    uint64_t other_window_ms; /* of a partition whose window is not the table's */
    size_t other_partition;
};

static void take_info(void *context, size_t partition, const redisReply *reply) {
    struct standing *standing = context;
    struct redis_table_stats *stats = standing->stats;
    if (reply->type == REDIS_REPLY_ERROR) {
        stats->missing++;
        return;
    }
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        const char *name = reply->element[i]->str;
        if (name != NULL) add_number(stats, name, reply->element[i + 1]);
    }
    if (stats->window.window_ms != standing->table->window_ms) {
        standing->other_window_ms = stats->window.window_ms;
        standing->other_partition = partition;
    }
}

static bool write_info(void *context, size_t partition, struct redis_text *text) {
    const struct standing *standing = context;
    redis_text_begin(text, 2);
    redis_text_string(text, "ONCE.INFO");
    redis_text_string(text, standing->table->partitions[partition].key);
    return true;
}

int redis_table_info(struct redis_table *table, struct redis_table_stats *out) {
    *out = (struct redis_table_stats){0};
    struct standing standing = {.table = table, .stats = out};
    int code = redis_table_survey(table, &(struct redis_survey){.write = write_info,
                                                                .on_reply = take_info,
                                                                .context = &standing,
                                                                .tolerated = no_table});
    if (code != EXIT_DONE || standing.other_window_ms == 0) return code;
    return message_fail(EXIT_BAD_DATA,
                        "the partition %s has a window of %" PRIu64 " ms and the table one of "
                        "%" PRIu64 "; was it lost and made again? delete that key, which forgets "
                        "its counters, or choose another --table",
                        table->partitions[standing.other_partition].key, standing.other_window_ms,
                        table->window_ms);
}

/* --- The description */

struct description {
    enum { NOTHING, PLAIN, PARTITIONED, OTHER, NEWER } kind;
    size_t partitions;
    uint64_t seed, window_ms;
    double error;
    char text[REDIS_DESCRIPTION_BYTES]; /* of one that is PARTITIONED */
};

/* ONCE.INFO of the name: a table of one partition, or nothing, or something else. */
static void judge_info(void *context, size_t partition, const redisReply *reply) {
    (void)partition;
    struct description *found = context;
    if (reply->type == REDIS_REPLY_ERROR) {
        found->kind = strncmp(reply->str, "WRONGTYPE", 9) == 0 ? OTHER : NOTHING;
        return;
    }
    struct redis_table_stats stats = {0};
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        const char *name = reply->element[i]->str;
        if (name != NULL) add_number(&stats, name, reply->element[i + 1]);
    }
    *found = (struct description){.kind = PLAIN,
                                  .partitions = 1,
                                  .window_ms = stats.window.window_ms,
                                  .error = stats.window.error_target};
}

/* Reads " NAME number" and goes on behind it. */
static bool read_number(const char **at, const char *name, uint64_t *out) {
    size_t size = strlen(name);
    char *end;
    if (strncmp(*at, name, size) != 0 || (*at)[size] == '-') return false;
    *out = strtoull(*at + size, &end, 0);
    bool is_number = end != *at + size;
    *at = end;
    return is_number;
}

static bool read_real(const char **at, const char *name, double *out) {
    size_t size = strlen(name);
    char *end;
    if (strncmp(*at, name, size) != 0) return false;
    *out = strtod(*at + size, &end);
    bool is_number = end != *at + size && *out > 0;
    *at = end;
    return is_number;
}

/* GET of the name: a description, or something else. */
static void judge_text(void *context, size_t partition, const redisReply *reply) {
    (void)partition;
    struct description *found = context;
    *found = (struct description){.kind = reply->type == REDIS_REPLY_NIL ? NOTHING : OTHER};
    const char *at = reply->type == REDIS_REPLY_STRING ? reply->str : "";
    uint64_t version, partitions;
    if (!read_number(&at, "lethe-table ", &version)) return;
    if (version > VERSION) found->kind = NEWER;
    if (version != VERSION || !read_number(&at, " partitions ", &partitions) ||
        !read_number(&at, " seed ", &found->seed) ||
        !read_number(&at, " window_ms ", &found->window_ms) ||
        !read_real(&at, " error ", &found->error)) {
        return;
    }
    if (*at == '\0' && partitions > 1 && partitions <= REDIS_PARTITIONS_LIMIT &&
        found->window_ms > 0 && reply->len < sizeof found->text) {
        memcpy(found->text, reply->str, reply->len + 1);
        found->kind = PARTITIONED;
        found->partitions = (size_t)partitions;
    }
}

static int look_up(struct redis_table *table, struct description *found) {
    struct redis_text text = {0};
    redis_text_begin(&text, 2);
    redis_text_string(&text, "ONCE.INFO");
    redis_text_string(&text, table->name);
    int code = redis_table_ask(table, table->name, &text,
                               &(struct redis_survey){.on_reply = judge_info,
                                                      .context = found,
                                                      .tolerated = no_table_or_other});
    if (code == EXIT_DONE && found->kind == OTHER) {
        redis_text_clear(&text);
        redis_text_begin(&text, 2);
        redis_text_string(&text, "GET");
        redis_text_string(&text, table->name);
        code =
            redis_table_ask(table, table->name, &text,
                            &(struct redis_survey){
                                .on_reply = judge_text, .context = found, .tolerated = other_type});
    }
    redis_text_free(&text);
    if (code == EXIT_DONE && found->kind == OTHER) {
        code = message_fail(EXIT_BAD_DATA,
                            "%s holds something else than a table of counters; "
                            "choose another --table",
                            table->shown);
    }
    if (code == EXIT_DONE && found->kind == NEWER) {
        code = message_fail(EXIT_BAD_DATA, "%s was made by a newer lethe; upgrade lethe",
                            table->shown);
    }
    return code;
}

/* Writes the command that makes one partition. */
static void write_creation(const struct redis_table *table, const char *key,
                           struct redis_text *text) {
    bool is_capped = table->memory_bytes > 0;
    redis_text_begin(text, is_capped ? 10 : 6);
    redis_text_string(text, "ONCE.CREATE");
    redis_text_string(text, key);
    redis_text_string(text, "WINDOW");
    redis_text_count(text, table->window_ms);
    redis_text_string(text, "ERROR");
    redis_text_real(text, table->error);
    if (!is_capped) return;
    redis_text_string(text, "MAXMEMORY");
    redis_text_count(text, table->memory_bytes / table->partition_count);
    redis_text_string(text, "POLICY");
    redis_text_string(text, table->policy == LETHE_WINDOW_DEGRADE ? "degrade" : "refuse");
}

/* Makes a table: the description, which one of several makers writes. What there is then is looked up again. */
static int make(struct redis_table *table) {
    struct redis_text text = {0};
    if (table->partition_count == 1) {
        write_creation(table, table->name, &text);
    } else {
        char words[160];
        while (table->seed == 0) {
            if (getrandom(&table->seed, sizeof table->seed, 0) < 0) table->seed = 0;
        }
        snprintf(words, sizeof words,
                 "lethe-table %d partitions %zu seed 0x%" PRIx64 " window_ms %" PRIu64
                 " error %.17g",
                 VERSION, table->partition_count, table->seed, table->window_ms, table->error);
        redis_text_begin(&text, 4);
        redis_text_string(&text, "SET");
        redis_text_string(&text, table->name);
        redis_text_string(&text, words);
        redis_text_string(&text, "NX");
    }
    int code =
        redis_table_ask(table, table->name, &text,
                        &(struct redis_survey){.is_write = true, .tolerated = there_already});
    redis_text_free(&text);
    return code;
}

/* --- Opening */

static int read_name(const struct arguments *arguments, struct redis_table *table,
                     const struct redis_url *url) {
    const char *name = arguments_text(arguments, "table");
    size_t size = strlen(name);
    if (size == 0 || size > REDIS_NAME_LIMIT_BYTES) {
        return message_fail(EXIT_USAGE, "the name of --table has %zu bytes; give one of 1 to %d",
                            size, REDIS_NAME_LIMIT_BYTES);
    }
    memcpy(table->name, name, size + 1);
    snprintf(table->shown, sizeof table->shown, "%s at %s", name, url->shown);
    return EXIT_DONE;
}

/* Takes over what the table is, unless something else is wanted. */
static int adopt(struct redis_table *table, const struct description *found,
                 const struct redis_table_options *options) {
    if (options->partitions > 0 && options->partitions != found->partitions) {
        return message_fail(EXIT_USAGE,
                            "%s has %zu partition%s, not %" PRIu64 ", which can't be changed; "
                            "leave --partitions out, or choose another --table",
                            table->shown, found->partitions, found->partitions == 1 ? "" : "s",
                            options->partitions);
    }
    if (options->window_ms > 0 && options->window_ms != found->window_ms) {
        return message_fail(EXIT_USAGE,
                            "%s has a window of %" PRIu64 " ms, not %" PRIu64 ", which can't be "
                            "changed; leave --window out, or choose another --table",
                            table->shown, found->window_ms, options->window_ms);
    }
    if (options->error > 0 && options->error != found->error) {
        return message_fail(EXIT_USAGE,
                            "%s has an error of %g, not %g, which can't be changed; leave --error "
                            "out, or choose another --table",
                            table->shown, found->error, options->error);
    }
    table->partition_count = found->partitions;
    table->seed = found->seed;
    table->window_ms = found->window_ms;
    table->error = found->error;
    memcpy(table->description, found->text, sizeof table->description);
    return EXIT_DONE;
}

/* Makes a table that was not found, unless parts of one are there. */
static int make_anew(struct redis_table *table, struct description *found) {
    char left[REDIS_KEY_BYTES];
    table->is_new = true;
    int code = redis_lost_search(table, left);
    /* Somebody who makes it at this moment has written the description by now. */
    if (code == EXIT_DONE && left[0] != '\0') code = look_up(table, found);
    if (code != EXIT_DONE || found->kind != NOTHING) return code;
    if (left[0] != '\0') {
        return message_fail(EXIT_BAD_DATA,
                            "the key %s, which tells how the table is spread, is gone, and its "
                            "partition %s is there; a new one would spread ids in another way and "
                            "count copies: restore that key, or delete %s:{*}, or choose another "
                            "--table",
                            table->name, left, table->name);
    }
    code = make(table);
    return code == EXIT_DONE ? look_up(table, found) : code;
}

/* Finds the table, or makes it. */
static int find(struct redis_table *table, const struct redis_table_options *options) {
    struct description found = {0};
    int code = look_up(table, &found);
    if (code == EXIT_DONE && found.kind == NOTHING && options->create) {
        size_t partitions = table->client->is_cluster ? CLUSTER_PARTITIONS : 1;
        table->partition_count = options->partitions > 0 ? (size_t)options->partitions : partitions;
        table->window_ms = options->window_ms > 0 ? options->window_ms : NEW_WINDOW_MS;
        table->error = options->error > 0 ? options->error : NEW_ERROR;
        code = make_anew(table, &found);
    }
    if (code != EXIT_DONE) return code;
    if (found.kind == NOTHING) {
        return message_fail(EXIT_ENVIRONMENT,
                            "there is no table %s; check the name; 'lethe count' makes a table",
                            table->shown);
    }
    if (found.partitions > 1 && strpbrk(table->name, "{}") != NULL) {
        return message_fail(EXIT_USAGE, "the name of --table has braces, which with partitions "
                                        "say where keys go; choose another one");
    }
    return adopt(table, &found, options);
}

static int name_partitions(struct redis_table *table) {
    uint16_t slots[REDIS_PARTITIONS_LIMIT];
    uint32_t tags[REDIS_PARTITIONS_LIMIT];
    table->partitions = calloc(table->partition_count, sizeof *table->partitions);
    if (table->partitions == NULL) return fail_memory();
    for (size_t i = 0; i < table->partition_count; i++) {
        slots[i] = (uint16_t)redis_slot_of_place(i, table->partition_count);
    }
    redis_tags_of_slots(slots, table->partition_count, tags);
    for (size_t i = 0; i < table->partition_count; i++) {
        struct redis_partition *partition = &table->partitions[i];
        size_t room = strlen(table->name) + 16;
        partition->key = malloc(room);
        if (partition->key == NULL) return fail_memory();
        if (table->partition_count == 1) {
            snprintf(partition->key, room, "%s", table->name);
        } else {
            snprintf(partition->key, room, "%s:{%" PRIu32 "}", table->name, tags[i]);
        }
        partition->slot = redis_slot((lethe_bytes){partition->key, strlen(partition->key)});
        write_creation(table, partition->key, &partition->create);
        if (partition->create.is_short_of_memory) return fail_memory();
    }
    return EXIT_DONE;
}

struct making {
    const struct redis_table *table;
    size_t made;
};

static bool write_partition(void *context, size_t partition, struct redis_text *text) {
    const struct making *making = context;
    write_creation(making->table, making->table->partitions[partition].key, text);
    return true;
}

static void count_made(void *context, size_t partition, const redisReply *reply) {
    (void)partition;
    struct making *making = context;
    if (reply->type == REDIS_REPLY_STATUS) making->made++;
}

/* Makes the partitions that are not there. */
static int make_partitions(struct redis_table *table) {
    struct making making = {.table = table};
    int code = redis_table_survey(table, &(struct redis_survey){.write = write_partition,
                                                                .on_reply = count_made,
                                                                .context = &making,
                                                                .is_write = true,
                                                                .tolerated = there_already});
    struct redis_table_stats stats;
    if (code == EXIT_DONE) code = redis_table_info(table, &stats);
    if (code != EXIT_DONE) return code;
    table->applied = stats.applied;
    table->is_untouched = stats.applied == 0 && stats.duplicates == 0 && stats.counters == 0;
    /* In a new table others may have counted already. */
    if (making.made > 0 && !table->is_untouched && !table->is_new) {
        message_warn("%s: %zu of %zu partitions were not there and are empty now, others are not; "
                     "what was counted in them is lost, if they were deleted or evicted",
                     table->shown, making.made, table->partition_count);
    }
    return EXIT_DONE;
}

int redis_table_open(const struct arguments *arguments, const struct redis_table_options *options,
                     struct redis_table **out) {
    *out = NULL;
    static struct redis_url url;
    struct redis_table *table = calloc(1, sizeof *table);
    if (table == NULL) return fail_memory();
    table->memory_bytes = options->memory_bytes;
    table->policy = options->policy;
    int code = redis_url_parse(arguments_text(arguments, "redis"), &url);
    if (code == EXIT_DONE) code = read_name(arguments, table, &url);
    if (code == EXIT_DONE && options->create && options->partitions > 1 &&
        strpbrk(table->name, "{}") != NULL) {
        code = message_fail(EXIT_USAGE, "the name of --table has braces, which with partitions say "
                                        "where keys go; choose another one");
    }
    if (code == EXIT_DONE) code = redis_client_open(&url, &options->client, &table->client);
    if (code == EXIT_DONE) code = find(table, options);
    if (code == EXIT_DONE) code = name_partitions(table);
    if (code == EXIT_DONE && options->create) code = make_partitions(table);
    if (code == EXIT_DONE) {
        table->watched_openings = table->client->openings;
        *out = table;
    } else {
        redis_table_close(table);
    }
    return code;
}

void redis_table_close(struct redis_table *table) {
    if (table == NULL) return;
    for (size_t i = 0; table->partitions != NULL && i < table->partition_count; i++) {
        free(table->partitions[i].key);
        redis_text_free(&table->partitions[i].create);
    }
    free(table->partitions);
    redis_text_free(&table->watch_text);
    redis_client_close(table->client);
    free(table);
}

size_t redis_table_place(const struct redis_table *table, lethe_bytes id) {
    if (table->partition_count == 1) return 0;
    uint64_t hash = lethe_hash_bytes(table->seed, id.data, id.size).high >> 32;
    return (size_t)(hash * table->partition_count >> 32);
}

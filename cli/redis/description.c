/* description.c - reads and writes what a table is.
 *
 * WHY  The description is written by SET NX, so that if several make a table at the same time one
 *      wins, and the others read what it wrote. */
#include "redis/description.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "say/message.h"

/* A table whose window is of the forgetful kind has a version of its own, so that an older lethe
 * makes no partition of the other kind. The third one may also say that the table is spread by key
 * and that it counts per period. Each table has the oldest that is enough for it. */
enum { VERSION = 1, FORGETFUL_VERSION = 2, LATEST_VERSION = 3 };

static const char forgetful_words[] = " kind forgetful", by_key_words[] = " by key",
                  per_words[] = " per ";

static const char *const no_table_or_other[] = {"ERR no such table", "WRONGTYPE", NULL};
static const char *const other_type[] = {"WRONGTYPE", NULL};
static const char *const there_already[] = {"BUSYKEY", NULL};

/* ONCE.INFO of the name: a table of one partition, or nothing, or something else. */
static void judge_info(void *context, size_t partition, const redisReply *reply) {
    (void)partition;
    struct redis_description *found = context;
    if (reply->type == REDIS_REPLY_ERROR) {
        found->kind = strncmp(reply->str, "WRONGTYPE", 9) == 0 ? TABLE_OTHER : TABLE_NOTHING;
        return;
    }
    struct redis_table_stats stats = {0};
    redis_stats_add(&stats, reply);
    *found = (struct redis_description){.kind = TABLE_PLAIN,
                                        .partitions = 1,
                                        .window_ms = stats.window.window_ms,
                                        .error = stats.window.error_target,
                                        .window_kind = stats.window.kind};
    (void)redis_periods_read(stats.per, &found->periods);
}

/* Reads " NAME number" and moves past it. */
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

/* Whether these words come next; moves past them. */
static bool read_words(const char **at, const char *words) {
    size_t size = strlen(words);
    if (strncmp(*at, words, size) != 0) return false;
    *at += size;
    return true;
}

/* What follows the error. */
static bool read_more(const char *at, uint64_t version, struct redis_description *found) {
    bool is_forgetful = read_words(&at, forgetful_words);
    if (version == FORGETFUL_VERSION && !is_forgetful) return false;
    if (is_forgetful) found->window_kind = LETHE_WINDOW_FORGETFUL;
    found->is_by_key = read_words(&at, by_key_words);
    if (read_words(&at, per_words)) {
        if (!redis_periods_read(at, &found->periods)) return false;
        at += strlen(at);
    }
    bool has_more = found->is_by_key || found->periods.count > 0;
    bool is_old = version == VERSION ? !is_forgetful : version == FORGETFUL_VERSION;
    return *at == '\0' && has_more == !is_old;
}

void redis_description_parse(const redisReply *reply, struct redis_description *found) {
    *found = (struct redis_description){.kind = reply->type == REDIS_REPLY_NIL ? TABLE_NOTHING
                                                                               : TABLE_OTHER};
    const char *at = reply->type == REDIS_REPLY_STRING ? reply->str : "";
    uint64_t version, partitions;
    if (!read_number(&at, "lethe-table ", &version)) return;
    if (version > LATEST_VERSION) found->kind = TABLE_NEWER;
    if (version == 0 || version > LATEST_VERSION ||
        !read_number(&at, " partitions ", &partitions) ||
        !read_number(&at, " seed ", &found->seed) ||
        !read_number(&at, " window_ms ", &found->window_ms) ||
        !read_real(&at, " error ", &found->error)) {
        return;
    }
    if (read_more(at, version, found) && partitions > 1 && partitions <= REDIS_PARTITIONS_LIMIT &&
        found->window_ms > 0 && reply->len < sizeof found->text) {
        memcpy(found->text, reply->str, reply->len + 1);
        found->kind = TABLE_PARTITIONED;
        found->partitions = (size_t)partitions;
    }
}

/* GET of the name. */
static void judge_text(void *context, size_t partition, const redisReply *reply) {
    (void)partition;
    redis_description_parse(reply, context);
}

int redis_description_read(struct redis_table *table, struct redis_description *found) {
    struct redis_text text = {0};
    redis_text_begin(&text, 2);
    redis_text_string(&text, "ONCE.INFO");
    redis_text_string(&text, table->name);
    int code = redis_table_ask(table, table->name, &text,
                               &(struct redis_survey){.on_reply = judge_info,
                                                      .context = found,
                                                      .tolerated = no_table_or_other});
    if (code == EXIT_DONE && found->kind == TABLE_OTHER) {
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
    if (code == EXIT_DONE && found->kind == TABLE_OTHER) {
        code = message_fail(EXIT_BAD_DATA, "%s is not a table of counters; choose another --table",
                            table->shown);
    }
    if (code == EXIT_DONE && found->kind == TABLE_NEWER) {
        code = message_fail(EXIT_BAD_DATA, "%s was made by a newer lethe; upgrade lethe",
                            table->shown);
    }
    return code;
}

static size_t periods_words(const struct redis_periods *periods) {
    size_t words = 2 * periods->count;
    for (size_t i = 0; i < periods->count; i++)
        words += periods->each[i].keep > 0 ? 2 : 0;
    return words;
}

static void write_periods(const struct redis_periods *periods, struct redis_text *text) {
    for (size_t i = 0; i < periods->count; i++) {
        char word[REDIS_PERIOD_BYTES];
        redis_period_word(periods->each[i].length_ms, word);
        redis_text_string(text, "PER");
        redis_text_string(text, word);
        if (periods->each[i].keep == 0) continue;
        redis_text_string(text, "KEEP");
        redis_text_count(text, periods->each[i].keep);
    }
}

/* As it is stored. */
static void write_words(const struct redis_table *table, char words[REDIS_DESCRIPTION_BYTES]) {
    bool is_forgetful = table->window_kind == LETHE_WINDOW_FORGETFUL;
    bool has_periods = table->periods.count > 0;
    int version = is_forgetful ? FORGETFUL_VERSION : VERSION;
    if (table->is_by_key || has_periods) version = LATEST_VERSION;
    char per[REDIS_PERIODS_BYTES];
    redis_periods_write(&table->periods, per);
    snprintf(words, REDIS_DESCRIPTION_BYTES,
             "lethe-table %d partitions %zu seed 0x%" PRIx64 " window_ms %" PRIu64
             " error %.17g%s%s%s%s",
             version, table->partition_count, table->seed, table->window_ms, table->error,
             is_forgetful ? forgetful_words : "", table->is_by_key ? by_key_words : "",
             has_periods ? per_words : "", has_periods ? per : "");
}

void redis_table_write_creation(const struct redis_table *table, const char *key,
                                struct redis_text *text) {
    bool is_capped = table->memory_bytes > 0;
    bool is_forgetful = table->window_kind == LETHE_WINDOW_FORGETFUL;
    redis_text_begin(text, (is_capped ? 12 : 8) + periods_words(&table->periods));
    redis_text_string(text, "ONCE.CREATE");
    redis_text_string(text, key);
    redis_text_string(text, "WINDOW");
    redis_text_count(text, table->window_ms);
    redis_text_string(text, "ERROR");
    redis_text_real(text, table->error);
    /* Always, since the server's own setting, lethe.window-kind, may be another. */
    redis_text_string(text, "KIND");
    redis_text_string(text, is_forgetful ? "forgetful" : "quotient");
    write_periods(&table->periods, text);
    if (!is_capped) return;
    redis_text_string(text, "MAXMEMORY");
    redis_text_count(text, table->memory_bytes / table->partition_count);
    redis_text_string(text, "POLICY");
    redis_text_string(text, table->policy == LETHE_POLICY_DEGRADE ? "degrade" : "refuse");
}

int redis_description_write(struct redis_table *table) {
    struct redis_text text = {0};
    if (table->partition_count == 1) {
        redis_table_write_creation(table, table->name, &text);
    } else {
        char words[REDIS_DESCRIPTION_BYTES];
        while (table->seed == 0) {
            if (getrandom(&table->seed, sizeof table->seed, 0) < 0) table->seed = 0;
        }
        write_words(table, words);
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

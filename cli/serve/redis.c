/* redis.c - once-tables as a source of figures; see server/source.h.
 *
 * IDEA    One connection looks at all tables again and again (redis/tables.h). A few others answer
 *         questions about single tables, each used by one thread at a time: what takes long does
 *         not keep the figures from being new.
 * I1      What the functions of redis/ say goes to whoever asked, and not to standard error.
 * I2      After a failure a connection is closed; the next question opens it again.
 * I3      If tables are named, no other key is asked about. If none is, a key that is no table is
 *         answered as one that is not there: nobody learns which keys there are. */
#include "serve/redis.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/clock.h"
#include "redis/lost.h"
#include "redis/read.h"
#include "redis/tables.h"
#include "redis/usage.h"
#include "say/message.h"

enum { READERS = 4, READ_RETRY_MS = 3000, FIRST_SEARCH_MS = 1000, LEAST_REST_MS = 1000 };

struct reader {
    pthread_mutex_t lock;
    struct redis_client *client; /* NULL: not connected */
};

struct redis_source {
    struct source source;
    struct redis_access access;
    struct redis_tables *tables;
    struct reader readers[READERS];
    unsigned next;
};

/* --- Looking */

/* "hour:48,month:100000" as people write it: 1h,1mo. */
static void name_periods(const char *text, char out[SOURCE_PER_BYTES]) {
    struct redis_periods periods;
    size_t used = 0;
    out[0] = '\0';
    if (!redis_periods_read(text, &periods)) return;
    for (size_t i = 0; i < periods.count; i++) {
        char name[REDIS_PERIOD_BYTES];
        redis_period_name(periods.each[i].length_ms, name);
        used +=
            (size_t)snprintf(out + used, SOURCE_PER_BYTES - used, "%s%s", i > 0 ? "," : "", name);
    }
}

static void show_table(const struct redis_seen *seen, const struct source_visitor *visitor) {
    const struct redis_table_stats *sum = &seen->sum;
    const char *name = seen->table->name;
    struct source_table table = {
        .name = {name, strlen(name)},
        .partitions = seen->table->partition_count,
        .missing = sum->missing,
        .applied = sum->applied,
        .duplicates = sum->duplicates,
        .refused = sum->refused,
        .ids = sum->ids,
        .counters = sum->counters,
        .memory_bytes = sum->memory_bytes,
        .window_bytes = sum->window_bytes,
        .window_ms = sum->window.window_ms,
        .kept_ms = seen->kept_ms,
        .oldest_ms = sum->window.oldest_age_ms,
        .error_target = sum->window.error_target,
        .error_now = sum->window.error_estimate,
        .expected_lost = seen->expected_lost,
        .claims_running = sum->claims_running,
        .claims_done = sum->claims_done,
        .holds_open = sum->holds_open,
        .strain = sum->window.strain,
        .may_be_evicted = sum->may_be_evicted,
        .is_forgetful = sum->window.kind == LETHE_WINDOW_FORGETFUL,
    };
    if (!sum->per_differs) name_periods(sum->per, table.per);
    visitor->on_table(visitor->context, &table);
}

static void show(void *context, const struct source_visitor *visitor) {
    const struct redis_tables *tables = ((struct redis_source *)context)->tables;
    for (size_t i = 0; i < tables->count; i++)
        show_table(&tables->seen[i], visitor);
    for (size_t i = 0; i < tables->named_count; i++) {
        const struct redis_named *named = &tables->named[i];
        bool is_there = false;
        for (size_t k = 0; k < tables->count && !is_there; k++)
            is_there = tables->seen[k].named == named;
        if (is_there) continue;
        visitor->on_absent(visitor->context, (lethe_bytes){named->name, strlen(named->name)},
                           named->why[0] != '\0' ? named->why : "there is no such table");
    }
}

/* Whoever reads it need not run anything again. */
static void cut_advice(char *text) {
    static const char advice[] = "; fix the cause and run again";
    size_t size = strlen(text), less = sizeof advice - 1;
    if (size >= less && strcmp(text + size - less, advice) == 0) text[size - less] = '\0';
}

static bool look(void *context, struct source_look *out) {
    struct redis_tables *tables = ((struct redis_source *)context)->tables;
    *out = (struct source_look){.rest_ms = LEAST_REST_MS};
    message_divert(out->problem, sizeof out->problem); /* I1 */
    bool is_done = redis_tables_look(tables) == EXIT_DONE;
    message_divert(NULL, 0);
    cut_advice(out->problem);
    uint64_t rest_ms = tables->questions * 1000 / REDIS_QUESTIONS_PER_SECOND;
    if (rest_ms > out->rest_ms) out->rest_ms = rest_ms;
    out->skipped = tables->skipped;
    return is_done;
}

/* --- Reading */

static struct reader *take_reader(struct redis_source *source) {
    for (size_t i = 0; i < READERS; i++) {
        if (pthread_mutex_trylock(&source->readers[i].lock) == 0) return &source->readers[i];
    }
    unsigned next = __atomic_fetch_add(&source->next, 1, __ATOMIC_RELAXED);
    struct reader *reader = &source->readers[next % READERS];
    pthread_mutex_lock(&reader->lock);
    return reader;
}

/* What is read of a table; the context is the question's own. Returns an exit code. */
typedef int read_function(struct redis_table *table, void *question);

static enum source_result result_of(int code) {
    switch (code) {
    case EXIT_DONE:
        return SOURCE_DONE;
    case EXIT_NEGATIVE:
        return SOURCE_ABSENT;
    case EXIT_USAGE:
        return SOURCE_BAD;
    case EXIT_BAD_DATA:
        return SOURCE_DAMAGED;
    default:
        return SOURCE_LOST;
    }
}

/* I3. Names stay as they are while the server runs. */
static bool is_shown(const struct redis_tables *tables, const char *name) {
    for (size_t i = 0; i < tables->named_count; i++) {
        if (strcmp(tables->named[i].name, name) == 0) return true;
    }
    return tables->named_count == 0;
}

/* A table that is not there, and a server that is not there, are the same code at the command
 * line; only the latter ends the client. I3: what is wrong with a key, only a table that is named
 * says. */
static int open_table(const struct redis_source *source, struct redis_client *client,
                      const char *name, struct redis_table **out) {
    int code = redis_table_attach(client, name, out);
    if (code == EXIT_DONE || client->code != EXIT_DONE) return code;
    return code == EXIT_ENVIRONMENT || source->tables->named_count == 0 ? EXIT_NEGATIVE : code;
}

/* In one and the same way, whatever the reason (I3). */
static enum source_result say_absent(struct source_reading *reading) {
    snprintf(reading->problem, sizeof reading->problem, "there is no such table");
    return SOURCE_ABSENT;
}

static enum source_result read_table(struct redis_source *source, struct source_reading *reading,
                                     read_function *read, void *question) {
    static const struct redis_client_options options = {.retry_ms = READ_RETRY_MS};
    char name[REDIS_NAME_LIMIT_BYTES + 1];
    struct redis_table *table = NULL;
    size_t size = reading->table.size;
    bool fits = size <= REDIS_NAME_LIMIT_BYTES && memchr(reading->table.data, '\0', size) == NULL;
    if (fits) memcpy(name, reading->table.data, size);
    name[fits ? size : 0] = '\0';
    if (!fits || !is_shown(source->tables, name)) return say_absent(reading);
    struct reader *reader = take_reader(source);
    message_divert(reading->problem, sizeof reading->problem); /* I1 */
    int code = EXIT_DONE;
    if (reader->client == NULL)
        code = redis_client_open(&source->access, &options, &reader->client);
    if (code == EXIT_DONE && reader->client != NULL)
        code = open_table(source, reader->client, name, &table);
    if (table != NULL) code = read(table, question);
    bool is_read = table != NULL && code == EXIT_DONE;
    if (is_read) code = redis_lost_check(table);
    redis_table_close(table);
    if (reader->client != NULL && reader->client->code != EXIT_DONE) { /* I2 */
        redis_client_close(reader->client);
        reader->client = NULL;
    }
    message_divert(NULL, 0);
    cut_advice(reading->problem);
    pthread_mutex_unlock(&reader->lock);
    if (is_read && code == EXIT_BAD_DATA) return SOURCE_INCOMPLETE;
    return code == EXIT_NEGATIVE ? say_absent(reading) : result_of(code);
}

struct get_question {
    lethe_bytes key;
    int64_t *value;
    bool *found;
};

static int run_get(struct redis_table *table, void *context) {
    const struct get_question *question = context;
    return redis_get(table, &question->key, 1, question->value, question->found);
}

static enum source_result get(void *context, struct source_reading *reading, lethe_bytes key,
                              int64_t *value, bool *found) {
    return read_table(context, reading, run_get, &(struct get_question){key, value, found});
}

struct list_question {
    struct source_reading *reading;
    lethe_bytes prefix, from;
    const char *by;
    uint64_t at_ms;
    size_t number;
    source_visit *visit;
    void *context;
};

static int run_each(struct redis_table *table, void *context) {
    const struct list_question *question = context;
    return redis_each_from(table, question->prefix, question->from, question->number,
                           question->visit, question->context);
}

static enum source_result each(void *context, struct source_reading *reading, lethe_bytes prefix,
                               lethe_bytes from, size_t most, source_visit *visit,
                               void *visit_context) {
    struct list_question question = {
        .prefix = {.data = prefix.size > 0 ? prefix.data : "", .size = prefix.size},
        .from = {.data = from.size > 0 ? from.data : "", .size = from.size},
        .number = most,
        .visit = visit,
        .context = visit_context};
    return read_table(context, reading, run_each, &question);
}

static int run_top(struct redis_table *table, void *context) {
    const struct list_question *question = context;
    uint64_t length_ms;
    if (question->by == NULL && question->at_ms == 0)
        return redis_top(table, question->number, question->visit, question->context);
    int code = redis_usage_by(table, question->by, &length_ms, question->reading->by);
    if (code != EXIT_DONE) return code;
    uint64_t at_ms = question->at_ms != 0 ? question->at_ms : clock_wall_ms();
    return redis_top_at(table, length_ms, at_ms, question->number, question->visit,
                        question->context);
}

static enum source_result top(void *context, struct source_reading *reading, const char *by,
                              uint64_t at_ms, size_t number, source_visit *visit,
                              void *visit_context) {
    struct list_question question = {.reading = reading,
                                     .by = by,
                                     .at_ms = at_ms,
                                     .number = number,
                                     .visit = visit,
                                     .context = visit_context};
    return read_table(context, reading, run_top, &question);
}

struct usage_question {
    struct source_reading *reading;
    const lethe_usage_query *query;
    lethe_usage_visit visit;
    void *context;
};

static int run_usage(struct redis_table *table, void *context) {
    const struct usage_question *question = context;
    const lethe_usage_query *query = question->query;
    struct redis_usage_query asked = {
        .by = query->by,
        .from_ms = query->from_ms,
        .to_ms = query->to_ms,
        .keys = query->keys,
        .key_count = query->key_count,
        .prefix = {.data = query->prefix.size > 0 ? query->prefix.data : "",
                   .size = query->prefix.size}};
    uint64_t length_ms;
    int code = redis_usage_by(table, query->by, &length_ms, question->reading->by);
    if (code != EXIT_DONE) return code;
    return redis_usage(table, &asked, length_ms, question->visit, question->context);
}

static enum source_result usage(void *context, struct source_reading *reading,
                                const lethe_usage_query *query, lethe_usage_visit visit,
                                void *visit_context) {
    struct usage_question question = {reading, query, visit, visit_context};
    return read_table(context, reading, run_usage, &question);
}

/* --- Opening */

/* The first look, whose problem the user sees, and a search of a second at most. */
static int begin(struct redis_source *source) {
    uint64_t began_ms = clock_ms();
    int code;
    do {
        code = redis_tables_look(source->tables);
    } while (code == EXIT_DONE && source->tables->named_count == 0 &&
             source->tables->finder.turns == 0 && clock_ms() - began_ms < FIRST_SEARCH_MS);
    return code;
}

int redis_source_open(const struct arguments *arguments, struct redis_source **out,
                      const struct source **shown) {
    static const char *names[EARLIER_LIMIT + 1];
    struct redis_source *source = calloc(1, sizeof *source);
    *out = NULL;
    if (source == NULL) return message_fail_memory();
    source->source = (struct source){.context = source,
                                     .shown = source->access.url.shown,
                                     .look = look,
                                     .show = show,
                                     .get = get,
                                     .each = each,
                                     .top = top,
                                     .usage = usage};
    for (size_t i = 0; i < READERS; i++)
        pthread_mutex_init(&source->readers[i].lock, NULL);
    int code = redis_access_read_as(arguments, "redis-", &source->access);
    size_t count = arguments_all(arguments, "table", names);
    if (code == EXIT_DONE) code = redis_tables_new(&source->access, names, count, &source->tables);
    if (code == EXIT_DONE) code = begin(source);
    if (code == EXIT_DONE) {
        *out = source;
        *shown = &source->source;
    } else {
        redis_source_close(source);
    }
    return code;
}

void redis_source_close(struct redis_source *source) {
    if (source == NULL) return;
    redis_tables_free(source->tables);
    for (size_t i = 0; i < READERS; i++) {
        redis_client_close(source->readers[i].client);
        pthread_mutex_destroy(&source->readers[i].lock);
    }
    redis_access_free(&source->access);
    free(source);
}

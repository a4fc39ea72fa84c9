/* tables.c - looks at the once-tables of a source; see tables.h.
 *
 * I1      The list is in the order of names, and has each table that the last look found. A table
 *         stays where it is in memory as long as it is in the list.
 * I2      After a look that failed the list stays as it is, and is_lost says that it is old.
 * WHY     ONCE.TOP takes a server a time that grows with the number of counters, and a table with
 *         partitions has to be read whole. So counters are ranked only while somebody looks, and
 *         after each time there is a rest of a hundred times as long as it took. */
#include "server/tables.h"

#include <stdlib.h>
#include <string.h>

#include "events/problem.h"
#include "frame/clock.h"
#include "server/caps.h"
#include "server/log.h"
#include "server/rest.h"
#include "server/state.h"

enum { TOP_REST_FACTOR = 100, TOP_WANTED_SECONDS = 15 };

static int compare(const struct table *table, lethe_bytes name) {
    size_t size = table->size < name.size ? table->size : name.size;
    int order = memcmp(table->name, name.data, size);
    return order != 0 ? order : (table->size > name.size) - (table->size < name.size);
}

/* Where a name is in the list, or would be. */
static size_t place_of(const struct tables *tables, lethe_bytes name) {
    size_t from = 0, to = tables->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare(tables->list[middle], name) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

struct table *tables_find(struct tables *tables, lethe_bytes name) {
    if (name.size == 0) return tables->count > 0 ? tables->list[0] : NULL;
    size_t place = place_of(tables, name);
    bool is_there = place < tables->count && compare(tables->list[place], name) == 0;
    return is_there ? tables->list[place] : NULL;
}

static void free_table(struct table *table) {
    if (table == NULL) return;
    text_free(&table->top);
    free(table->name);
    free(table);
}

/* NULL: memory is short. */
static struct table *add_table(struct tables *tables, lethe_bytes name) {
    if (tables->count == tables->room) {
        size_t room = 2 * tables->room + 16;
        struct table **larger = realloc(tables->list, room * sizeof(struct table *));
        if (larger == NULL) return NULL;
        tables->list = larger;
        tables->room = room;
    }
    struct table *table = calloc(1, sizeof *table);
    if (table != NULL) table->name = malloc(name.size + 1);
    if (table == NULL || table->name == NULL) {
        free_table(table);
        return NULL;
    }
    memcpy(table->name, name.data, name.size);
    table->size = name.size;
    size_t place = place_of(tables, name);
    memmove(&tables->list[place + 1], &tables->list[place],
            (tables->count - place) * sizeof(struct table *));
    tables->list[place] = table;
    tables->count++;
    return table;
}

static void on_table(void *context, const struct source_table *seen) {
    struct tables *tables = context;
    struct table *table = tables_find(tables, seen->name);
    bool is_new = table == NULL;
    if (is_new) table = add_table(tables, seen->name);
    if (table == NULL) return; /* the next look may have memory */
    struct table_sample sample = {.at_s = clock_seconds(),
                                  .applied = seen->applied,
                                  .duplicates = seen->duplicates,
                                  .refused = seen->refused};
    /* A table that was made again begins anew. */
    bool is_reset = is_new || seen->applied < table->now.applied ||
                    seen->duplicates < table->now.duplicates || seen->refused < table->now.refused;
    table->before = is_reset ? sample : table->latest;
    table->latest = sample;
    table->now = *seen;
    table->now.name = (lethe_bytes){table->name, table->size};
    table->look = tables->looks;
}

static void on_absent(void *context, lethe_bytes name, const char *why) {
    struct tables *tables = context;
    text_put(&tables->absent, tables->absent.size > 0 ? ",{" : "{");
    text_bytes(&tables->absent, "name", name);
    text_put(&tables->absent, ",\"why\":");
    text_quoted_string(&tables->absent, why);
    text_put(&tables->absent, "}");
    struct event_excerpt excerpt;
    text_format(&tables->absent_words, "%s'%s': %s", tables->absent_words.size > 0 ? ", " : "",
                event_excerpt(name, &excerpt), why);
}

/* I1 */
static void remove_gone(struct tables *tables) {
    size_t kept = 0;
    for (size_t i = 0; i < tables->count; i++) {
        struct table *table = tables->list[i];
        if (table->look == tables->looks)
            tables->list[kept++] = table;
        else
            free_table(table);
    }
    tables->count = kept;
}

static void take_look(struct tables *tables, const struct source_look *look, double took_s) {
    const struct source_visitor visitor = {tables, on_table, on_absent};
    tables->looks++;
    struct text before = tables->absent;
    tables->absent = tables->absent_before;
    tables->absent_before = before;
    tables->absent.size = tables->absent_words.size = 0;
    tables->source->show(tables->source->context, &visitor);
    remove_gone(tables);
    tables->seen_ms = clock_wall_ms();
    tables->seen_s = clock_seconds();
    tables->took_s = took_s;
    tables->skipped = look->skipped;
}

/* Says what has changed since the last look. */
static void tell(const struct tables *tables, bool was_lost) {
    bool is_first = tables->looks + tables->losses <= 1;
    if (tables->is_lost && !was_lost) log_warn("redis_lost", "%s", tables->reason);
    if (!tables->is_lost && was_lost) log_note("redis_found", "%s is back", tables->source->shown);
    const struct text *absent = &tables->absent, *before = &tables->absent_before;
    if (tables->is_lost || absent->size == 0 || absent->has_failed) return;
    bool is_known = !is_first && absent->size == before->size &&
                    memcmp(absent->data, before->data, before->size) == 0;
    const struct text *words = &tables->absent_words;
    if (!is_known) log_warn("table_absent", "not shown: %.*s", (int)words->size, words->data);
}

/* Returns how long to rest. */
static uint64_t look(struct tables *tables) {
    struct source_look found;
    double began_s = clock_seconds();
    bool is_done = tables->source->look(tables->source->context, &found);
    pthread_mutex_lock(&tables->lock);
    bool was_lost = tables->is_lost;
    tables->is_lost = !is_done;
    if (is_done) {
        take_look(tables, &found, clock_seconds() - began_s);
    } else { /* I2 */
        tables->losses += !was_lost;
        memcpy(tables->reason, found.problem, sizeof tables->reason);
    }
    tell(tables, was_lost);
    pthread_mutex_unlock(&tables->lock);
    return found.rest_ms;
}

static bool add_counter(void *context, lethe_bytes key, int64_t value) {
    struct text *text = context;
    bool is_cut = key.size > LETHE_KEY_LIMIT_BYTES; /* a table's keys may have any length */
    if (is_cut) key.size = LETHE_KEY_LIMIT_BYTES;
    text_put(text, text->size > 0 ? ",{" : "{");
    text_bytes(text, "key", key);
    text_put(text, ",\"value\":");
    text_value(text, value, 0);
    text_put(text, is_cut ? ",\"is_cut\":true}" : "}");
    return true;
}

/* With the lock: a table whose counters are to be ranked; NULL: none. */
static const struct table *next_top(const struct tables *tables) {
    const struct table *found = NULL;
    double now = clock_seconds();
    for (size_t i = 0; i < tables->count && !tables->is_lost; i++) {
        const struct table *table = tables->list[i];
        bool is_wanted = table->top_wanted_s > 0 && now - table->top_wanted_s < TOP_WANTED_SECONDS;
        bool is_due = table->top_at_s == 0 ||
                      now - table->top_at_s > 0.5 + TOP_REST_FACTOR * table->top_took_s;
        if (!is_wanted || !is_due) continue;
        if (found == NULL || table->top_at_s < found->top_at_s) found = table;
    }
    return found;
}

/* With the lock, which is not held meanwhile. */
static void rank(struct tables *tables, const struct table *ranked) {
    char name[REQUEST_PART_BYTES];
    const struct source *source = tables->source;
    struct source_reading reading = {.table = {name, ranked->size}};
    struct text text = {0};
    if (ranked->size > sizeof name) return;
    memcpy(name, ranked->name, ranked->size);
    pthread_mutex_unlock(&tables->lock);
    double began_s = clock_seconds();
    enum source_result result =
        source->top(source->context, &reading, NULL, 0, TOP_SHOWN, add_counter, &text);
    double ended_s = clock_seconds();
    pthread_mutex_lock(&tables->lock);
    struct table *table = tables_find(tables, reading.table); /* it may be gone by now */
    if (table != NULL) {
        /* Where partitions are missing, the table's strain says so beside the list. */
        bool is_read = result == SOURCE_DONE || result == SOURCE_INCOMPLETE;
        if (is_read && !text.has_failed) {
            struct text old = table->top;
            table->top = text;
            table->top_began_s = began_s;
            text = old;
        }
        table->top_at_s = ended_s;
        table->top_took_s = ended_s - began_s;
    }
    text_free(&text);
}

static void *watch_tables(void *context) {
    struct tables *tables = context;
    uint64_t rest = 0;
    pthread_mutex_lock(&tables->lock);
    while (!tables->stops) {
        double until_s = clock_seconds() + (double)rest / 1000;
        while (!tables->stops && clock_seconds() < until_s)
            rest_ms(&tables->changed, &tables->lock, 200);
        if (tables->stops) break;
        pthread_mutex_unlock(&tables->lock);
        double began_s = clock_seconds();
        rest = look(tables);
        uint64_t took_ms = (uint64_t)(1000 * (clock_seconds() - began_s));
        rest = took_ms < rest / 2 ? rest - took_ms : rest / 2;
        pthread_mutex_lock(&tables->lock);
    }
    pthread_mutex_unlock(&tables->lock);
    return NULL;
}

static void *watch_top(void *context) {
    struct tables *tables = context;
    pthread_mutex_lock(&tables->lock);
    while (!tables->stops) {
        const struct table *next = next_top(tables);
        if (next != NULL)
            rank(tables, next);
        else
            rest_ms(&tables->changed, &tables->lock, 200);
    }
    pthread_mutex_unlock(&tables->lock);
    return NULL;
}

struct tables *tables_begin(struct server *server, const struct source *source) {
    struct tables *tables = calloc(1, sizeof *tables);
    if (tables == NULL) return NULL;
    tables->server = server;
    tables->source = source;
    tables->started_s = clock_seconds();
    pthread_mutex_init(&tables->lock, NULL);
    rest_init(&tables->changed);
    (void)look(tables); /* so that there is something to show from the first request on */
    tables->has_thread = pthread_create(&tables->thread, NULL, watch_tables, tables) == 0;
    tables->has_top_thread =
        tables->has_thread && pthread_create(&tables->top_thread, NULL, watch_top, tables) == 0;
    if (tables->has_top_thread) return tables;
    tables_end(tables);
    return NULL;
}

void tables_end(struct tables *tables) {
    if (tables == NULL) return;
    pthread_mutex_lock(&tables->lock);
    tables->stops = true;
    pthread_cond_broadcast(&tables->changed);
    pthread_mutex_unlock(&tables->lock);
    if (tables->has_thread) pthread_join(tables->thread, NULL);
    if (tables->has_top_thread) pthread_join(tables->top_thread, NULL);
    for (size_t i = 0; i < tables->count; i++)
        free_table(tables->list[i]);
    free(tables->list);
    text_free(&tables->absent);
    text_free(&tables->absent_before);
    text_free(&tables->absent_words);
    pthread_cond_destroy(&tables->changed);
    pthread_mutex_destroy(&tables->lock);
    free(tables);
}

/* tables.h - the once-tables that a server over Redis shows: what was seen of them last.
 *
 * It is to such a server what watch.h is to one with a store. One thread looks at the source, once
 * a second or as rarely as the source wants. Another ranks the counters of tables that somebody
 * looks at.
 *
 * Threads  Any number may ask. */
#ifndef LETHE_SERVER_TABLES_H
#define LETHE_SERVER_TABLES_H

#include <pthread.h>

#include "server/routes.h"
#include "server/source.h"
#include "server/text.h"
#include "server/watch.h"

struct server;

/* What was seen of a table at one moment. */
struct table_sample {
    double at_s;
    uint64_t applied, duplicates, refused;
};

struct table {
    char *name;
    size_t size;
    struct source_table now;
    struct table_sample before, latest;
    /* The largest counters, as JSON, of the time when they were last ranked (0: never); and when
     * somebody last asked for them. */
    struct text top;
    double top_began_s, top_wanted_s, top_at_s, top_took_s;
    /* The look in which it was last there. */
    uint64_t look;
};

struct tables {
    struct server *server;
    const struct source *source;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread, top_thread;
    bool stops, has_thread, has_top_thread;

    double started_s;
    /* In the order of their names. */
    struct table **list;
    size_t count, room;
    /* Those that were asked for by name and are not there, as JSON. */
    struct text absent, absent_before;
    /* The same for people. */
    struct text absent_words;
    /* Looks that succeeded, and when the last one did, by the wall clock and by the other one. */
    uint64_t looks, seen_ms;
    double seen_s, took_s;
    uint64_t skipped;
    bool is_lost;
    uint64_t losses;
    char reason[SOURCE_PROBLEM_BYTES];
};

/* Looks for the first time, and goes on in threads of its own. NULL: memory is short. */
struct tables *tables_begin(struct server *server, const struct source *source);
void tables_end(struct tables *tables); /* takes NULL */

/* With the lock: the table of that name; NULL if there is none. Without a name, the first. */
struct table *tables_find(struct tables *tables, lethe_bytes name);

/* Writes the object that /v1/status and /v1/live have. Without a name, of the first table. */
void tables_write(struct tables *tables, lethe_bytes name, struct text *out);

/* Strain that only tables have: as bits of source_table.strain. */
enum { TABLE_STRAIN_EVICTION = 1 << 16, TABLE_STRAIN_PARTITIONS = 1 << 17 };
extern const struct strain table_strains[];
extern const size_t table_strain_count;
uint32_t table_strain(const struct source_table *table);

/* The routes of a server over Redis. */
extern const struct route table_routes[];
extern const size_t table_route_count;

void answer_table_counter(struct request *request);
void answer_table_counters(struct request *request);
void answer_table_metrics(struct request *request);
void answer_table_ready(struct request *request);
void answer_table_status(struct request *request);
void answer_table_top(struct request *request);
void answer_table_usage(struct request *request);

#endif

/* description.h - what a server says a table is: how many partitions, by which seed ids are spread,
 * or that keys are, the window, its kind, the error, and per which periods it counts. */
#ifndef LETHE_CLI_REDIS_DESCRIPTION_H
#define LETHE_CLI_REDIS_DESCRIPTION_H

#include "redis/table.h"

struct redis_description {
    enum {
        TABLE_NOTHING,     /* there is no such key */
        TABLE_PLAIN,       /* a once-table: one partition */
        TABLE_PARTITIONED, /* a description of several */
        TABLE_OTHER,       /* something else */
        TABLE_NEWER        /* a description by a newer lethe */
    } kind;
    size_t partitions;
    uint64_t seed, window_ms;
    double error;
    lethe_window_kind window_kind;
    bool is_by_key;
    struct redis_periods periods;
    /* Of a table with several partitions: as it is in the server. */
    char text[REDIS_DESCRIPTION_BYTES];
};

/* Reads what the server has under the table's name. Something else, or a newer one, is an error. */
int redis_description_read(struct redis_table *table, struct redis_description *found);

/* What the answer to a GET of a table's name says: nothing, a description, something else. */
void redis_description_parse(const redisReply *reply, struct redis_description *found);

/* Writes the description, or makes the once-table of a table with one partition. If several make a
 * table at the same time, one of them writes it; so read it afterwards. */
int redis_description_write(struct redis_table *table);

/* Writes the command that makes one partition. */
void redis_table_write_creation(const struct redis_table *table, const char *key,
                                struct redis_text *text);

#endif

/* redis.h - what the parts of `lethe count --redis` share: redis.c begins and ends a run,
 * redis_send.c sends the events and takes the answers, redis_marks.c stores how far files were
 * read.
 *
 * IDEA    A batch of the reader is sorted by partition and cut into parcels: one ONCE.MINCRBY for
 *         many events with one counter each, one ONCE.INCRBY for each event with several. Parcels
 *         go out side by side and come back in any order, each acknowledged for itself. A batch's
 *         mark, which says how far the file was read, is stored when all parcels of that batch and
 *         of those before it are acknowledged.
 * I1      An event is in the totals when its parcel is acknowledged, and not before.
 * I2      A mark in the server is never ahead of an event that is not acknowledged.
 * WHY     A store on disk writes a mark and its events in one step. Here the events are spread over
 *         keys of several masters, so the mark follows them: a later run repeats some events, which
 *         are duplicates while the window lasts. */
#ifndef LETHE_CLI_COUNT_REDIS_H
#define LETHE_CLI_COUNT_REDIS_H

#include "count/count.h"
#include "redis/table.h"

enum {
    LOAD_BATCHES = 16, /* of the reader, under way at once */
    LOAD_TICK_MS = 20
};

struct load;

/* One batch under way. */
struct leg {
    /* Parcels that are not acknowledged. */
    size_t outstanding;
    const char *path;
    size_t slot;
    uint64_t last_line;

    /* As its batch says. */
    bool starts_input, was_taken;
    /* An event of it was counted, or was a duplicate. */
    bool is_taken;

    bool has_mark;
    char mark_name[RESUME_NAME_BYTES];
    struct resume_mark mark;
};

/* Some events of one batch and one partition: one request. */
struct parcel {
    struct redis_request request;
    struct load *load;
    struct leg *leg;
    struct parcel *next_free;
    struct redis_text text;

    size_t count;
    /* Of each event: its line, and its lethe_outcome. */
    uint64_t *lines;
    uint8_t *outcomes;
    /* Of the commands, where there are several. */
    size_t *ends;
};

/* A run. */
struct load {
    struct counting *counting;
    struct redis_table *table;
    /* Of an event that ends the run. */
    int code;

    /* The most events of a parcel. */
    size_t parcel_limit;
    struct parcel *parcels, *free;
    size_t parcel_count;
    /* A ring. */
    struct leg legs[LOAD_BATCHES];
    size_t first_leg, leg_count;
    /* The events of a batch, sorted, and where those of each partition start. */
    size_t *order;
    size_t *starts;

    char files_key[REDIS_NAME_LIMIT_BYTES + 8];
    /* One mark is to be stored; one is under way. */
    bool has_mark, is_storing;
    /* By slot: an event of the file was counted, or was a duplicate, in the legs that have
     * ended. */
    bool is_taken[EVENT_SLOTS];
    /* How many events the table had counted, at least, when the last mark was stored. */
    uint64_t applied_then;
    char mark_name[RESUME_NAME_BYTES];
    unsigned char mark_value[RESUME_VALUE_BYTES];
    size_t mark_value_size;
    struct redis_request mark_request;
    struct redis_text mark_text;
};

/* `lethe count --redis`. */
int count_redis(const struct arguments *arguments);

/* Reads how far files were read, from the server. A table in which nothing was ever counted has no
 * such files: marks that are there are those of a table that was deleted, and are deleted too. */
int load_read_marks(struct load *load, struct resume_table *marks);

/* The field among the marks that says how many events the table had counted, at least. A table
 * that has counted fewer was deleted, or has lost some. */
extern const char load_applied_field[];

/* Sends and hears what it can, waiting for at most timeout_ms if there is nothing to do. */
int load_work(struct load *load, int timeout_ms);

/* Ends the legs whose parcels are all acknowledged, the oldest first, and takes their marks. */
int load_end_legs(struct load *load);

/* Waits until all that was sent is acknowledged, and the last mark is stored. */
int load_settle(struct load *load);

/* Notes in the server that all skipped events are reported, if the run's code says so. Returns the
 * exit code. */
int load_end_unreported(struct load *load, int code);

/* Counts all events of the reader. */
int load_send_all(struct load *load);

#endif

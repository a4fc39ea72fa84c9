/* module/once/records_save.h - records as bytes, in saved tables and in effects, whatever they are
 * of; and giving back those that are over. records_save.c has the essay. */
#ifndef LETHE_MODULE_ONCE_RECORDS_SAVE_H
#define LETHE_MODULE_ONCE_RECORDS_SAVE_H

#include <lethe/lethe.h>

#include "once/records.h"
#include "once/slice.h"
#include "value/chunks.h"

struct effect;
struct effect_reader;
struct once;

enum { RECORD_HEAD_MOST = 65, RECORD_SLICES_MOST = 4 };

/* A record as bytes: a head, which has the sizes of the slices that follow it. */
struct record_bytes {
    unsigned char head[RECORD_HEAD_MOST];
    struct slice slices[RECORD_SLICES_MOST];
};

/* What kind of records they are. */
struct record_kind {
    /* Where a struct once has them. */
    size_t place;
    size_t head_size, slice_count;
    /* Whether nobody can see it any more, as of the table's clock. */
    bool (*is_over)(const struct once *table, const struct record *record);
    /* Releases it. */
    void (*take_out)(struct once *table, struct record *record);
    void (*write)(const struct record *record, struct record_bytes *out);
    /* How many bytes follow a head. */
    size_t (*body_size)(const unsigned char *head);
    /* Whether commands could have left a record with that head, as of the table's clock. */
    bool (*is_possible)(const struct once *table, const unsigned char *head);
    /* Adds a saved record with that head. False: it is damaged, or its id is there already. */
    bool (*load)(struct once *table, const unsigned char *head, const char *body);
};

static inline struct records *records_of(const struct once *table, const struct record_kind *kind) {
    return (struct records *)((char *)(uintptr_t)table + kind->place);
}

/* --- A record */

/* Adds a record, whose due_ms is set, under an id; one that has the id is taken out. The id may be
 * that one's own. */
void records_replace(struct once *table, const struct record_kind *kind, struct slice id,
                     struct record *record);
/* Appends a record to an effect. */
void records_append(struct effect *effect, const struct record_kind *kind,
                    const struct record_bytes *bytes);
/* Reads one from an effect. False at its end. */
bool records_read(struct effect_reader *reader, const struct record_kind *kind,
                  const unsigned char **head, const char **body);
/* Reads an id from an effect. False at its end. */
bool records_read_id(struct effect_reader *reader, struct slice *out);

/* --- All of them, except those that are over */

/* How many there are, and how many bytes save writes for them. */
struct records_size {
    uint64_t count, bytes;
};
struct records_size records_measure(const struct once *table, const struct record_kind *kind);
/* Saves one. *status: the first error sticks. */
void records_save_one(const struct once *table, const struct record_kind *kind,
                      const struct record *record, lethe_sink sink, lethe_status *status);
/* Saves those that are wanted; NULL: all. Errors: those of the sink. */
lethe_status records_save(const struct once *table, const struct record_kind *kind,
                          bool (*is_wanted)(const struct record *record), lethe_sink sink);
/* Errors: LETHE_ECORRUPT, those of the reader. */
lethe_status records_load(struct once *table, const struct record_kind *kind, uint64_t count,
                          struct chunk_reader *reader);

void records_digest(const struct once *table, const struct record_kind *kind, redis_digest *digest);

/* Takes out at most so many that are due and over. */
void records_give_back(struct once *table, const struct record_kind *kind, unsigned budget);

#endif

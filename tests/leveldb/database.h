/* tests/leveldb/database.h - a LevelDB database of numbered keys under a policy of ours. */
#ifndef LETHE_TESTS_LEVELDB_DATABASE_H
#define LETHE_TESTS_LEVELDB_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <leveldb/c.h>

struct database {
    leveldb_t *handle;
    leveldb_options_t *options;
    leveldb_filterpolicy_t *policy; /* may be NULL */
    leveldb_readoptions_t *reading;
    leveldb_writeoptions_t *writing;
};

enum { KEY_BYTES = 12, VALUE_BYTES = 20 };

/* Key number n, with a letter before it, and the value that belongs to it. */
void database_key(char letter, uint32_t number, char key[KEY_BYTES + 1]);

/* Opens or makes it, takes policy over (NULL: none), and fails the test if LevelDB does. Small
 * write buffers and tables, no compression. */
void database_open(struct database *database, const char *path, leveldb_filterpolicy_t *policy,
                   bool paranoid);
void database_close(struct database *database);

/* Writes keys first to last - 1, and puts all that was written into tables. */
void database_write(struct database *database, char letter, uint32_t first, uint32_t last);
void database_flush(struct database *database);

/* How many of those keys are found, with the right values. What LevelDB calls an error counts as
 * neither. */
uint32_t database_count(struct database *database, char letter, uint32_t first, uint32_t last);

/* A policy that hands on to ours and counts how often it was asked, and how often it said no. */
struct asked {
    uint64_t times, absent;
};
leveldb_filterpolicy_t *database_counting_policy(const char *kind, double bits_per_key,
                                                 struct asked *asked);

/* Our policy of a kind, with defaults. */
leveldb_filterpolicy_t *database_policy(const char *kind);

#endif

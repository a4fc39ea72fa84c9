/* bench/leveldb_store.h - a LevelDB database of a million keys, in two states, and random reads of
 * it.
 *
 * Keys are 16 hexadecimal digits in random order, values 100 bytes. As written, the keys came in
 * five generations, each of which is one table: LevelDB leaves the first in level 2, the second in
 * level 1 and three in level 0, and a read may have to ask all five. Compacted, all keys are in one
 * level, in tables that divide the range of keys among them, and a read asks one.
 *
 * LevelDB rewrites tables in the background when they were asked in vain too often. So that
 * every run reads the same tables, its background thread is held up while a database is read:
 * see store_hold. */
#ifndef LETHE_BENCH_LEVELDB_STORE_H
#define LETHE_BENCH_LEVELDB_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <leveldb/c.h>

enum {
    STORE_GENERATIONS = 5,
    STORE_KEY_BYTES = 16,
    STORE_VALUE_BYTES = 100,
    STORE_PATH_BYTES = 512
};

/* What is written and read, the same for every policy. Keys have numbers: those below `keys` are
 * written. */
struct store_load {
    uint64_t keys; /* read are numbers up to twice as high: half of the reads find something */
    uint64_t reads;
    uint64_t seed;
};

struct store {
    const struct store_load *load;
    char path[STORE_PATH_BYTES];
    leveldb_filterpolicy_t *policy; /* NULL: none */
    leveldb_t *handle;
    leveldb_options_t *options;
    leveldb_readoptions_t *reading;
    leveldb_writeoptions_t *writing;
    int generation; /* that is being written */
};

/* Makes a database in that folder and takes policy over. Nothing is written yet. */
void store_open(struct store *store, const char *folder, const char *name,
                leveldb_filterpolicy_t *policy, const struct store_load *load);
void store_close(struct store *store);

/* Writes all keys, one generation after the other; store->generation is the current one, for
 * policies. */
void store_write(struct store *store);
void store_compact(struct store *store);
/* The bytes of all its tables. */
double store_table_bytes(const struct store *store);

/* Key number `number`, and the generation that has it; STORE_GENERATIONS when none has. */
void store_key(const struct store_load *load, uint64_t number, char key[STORE_KEY_BYTES + 1]);
int store_generation(const struct store_load *load, uint64_t number);
/* The number that read number i asks for. */
uint64_t store_draw(const struct store_load *load, uint64_t read);

/* Whether a key is found. */
bool store_get(struct store *store, const char *key);

/* Holds up LevelDB's background thread, which all databases of a process share, until it is let
 * go. */
void store_hold(const char *folder);
void store_let_go(void);

#endif

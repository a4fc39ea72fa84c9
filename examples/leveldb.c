/* LevelDB with one of Lethe's filters: most reads of keys that are not there do not touch the disk.
 * cc leveldb.c $(pkg-config --cflags --libs lethe_leveldb) && ./a.out FOLDER
 *
 *     styx: a river
 *     sty: not there
 */
#include <lethe/leveldb.h>
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>

static void stop_on(char *error) {
    if (error == NULL) return;
    fprintf(stderr, "leveldb: %s\n", error);
    exit(EXIT_FAILURE);
}

int main(int count, char **words) {
    leveldb_filterpolicy_t *policy;
    lethe_status status = lethe_leveldb_policy("quotient", NULL, &policy);
    if (count != 2 || status != LETHE_OK) {
        fprintf(stderr, "lethe: %s\n", count != 2 ? "which folder?" : lethe_strerror(status));
        return EXIT_FAILURE;
    }
    leveldb_options_t *options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_filter_policy(options, policy);

    char *error = NULL;
    leveldb_t *database = leveldb_open(options, words[1], &error);
    stop_on(error);
    leveldb_writeoptions_t *writing = leveldb_writeoptions_create();
    leveldb_put(database, writing, "styx", 4, "a river", 7, &error);
    stop_on(error);
    leveldb_compact_range(database, NULL, 0, NULL, 0); /* into a table, with its filter */

    leveldb_readoptions_t *reading = leveldb_readoptions_create();
    size_t size;
    char *value = leveldb_get(database, reading, "styx", 4, &size, &error);
    stop_on(error);
    printf("styx: %.*s\n", (int)size, value != NULL ? value : "");
    leveldb_free(value);
    value = leveldb_get(database, reading, "sty", 3, &size, &error);
    stop_on(error);
    printf("sty: %s\n", value != NULL ? "there" : "not there");
    leveldb_free(value);

    leveldb_readoptions_destroy(reading);
    leveldb_writeoptions_destroy(writing);
    leveldb_close(database);
    leveldb_options_destroy(options);
    leveldb_filterpolicy_destroy(policy);
}

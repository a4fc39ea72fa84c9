/* Backs a store up, loses it, and restores it.
 * cc store_backup.c $(pkg-config --cflags --libs lethe_store) && ./a.out FOLDER
 *
 *     backed up
 *     restored: likes 3
 */
#include <lethe/store.h>
#include <lethe/store_backup.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const lethe_bytes key = {"likes", 5};

/* Opens the store in a folder. */
static lethe_status open_in(const char *folder, bool create, lethe_store **out) {
    lethe_store_options options = LETHE_INIT(lethe_store_options);
    options.create = create;
    return lethe_store_open(folder, &options, out, NULL);
}

static lethe_status count_three(const char *folder) {
    lethe_store *store;
    lethe_status status = open_in(folder, true, &store);
    if (status != LETHE_OK) return status;
    lethe_change change;
    memset(&change, 0, sizeof change);
    change.key = key;
    change.delta = 3;
    lethe_operation operation;
    memset(&operation, 0, sizeof operation);
    operation.id.data = "event-1";
    operation.id.size = 7;
    operation.changes = &change;
    operation.change_count = 1;
    uint8_t outcome;
    status = lethe_store_apply(store, &operation, 1, &outcome, NULL);
    lethe_status closed = lethe_store_close(store, NULL);
    return status == LETHE_OK ? closed : status;
}

static lethe_status show(const char *folder) {
    lethe_store *store;
    lethe_status status = open_in(folder, false, &store);
    if (status != LETHE_OK) return status;
    int64_t value;
    bool found;
    status = lethe_store_get(store, &key, 1, &value, &found);
    if (status == LETHE_OK) printf("restored: likes %d\n", (int)value);
    lethe_status closed = lethe_store_close(store, NULL);
    return status == LETHE_OK ? closed : status;
}

int main(int count, char **words) {
    char store[1024], backups[1024], again[1024];
    if (count != 2 || strlen(words[1]) > 1000) return EXIT_FAILURE;
    snprintf(store, sizeof store, "%s/store", words[1]);
    snprintf(backups, sizeof backups, "%s/backups", words[1]);
    snprintf(again, sizeof again, "%s/again", words[1]);
    mkdir(words[1], 0777);
    lethe_detail detail = {""};
    lethe_status status = count_three(store);
    if (status == LETHE_OK) status = lethe_store_backup(store, backups, NULL, &detail);
    if (status == LETHE_OK) {
        printf("backed up\n");
        status = lethe_store_restore(backups, 0, again, NULL, &detail);
    }
    if (status == LETHE_OK) status = show(again);
    if (status != LETHE_OK) fprintf(stderr, "store_backup: %s\n", detail.text);
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Backs a set on disk up twice, lists the backups, and keeps the latest one.
 * cc backup.c $(pkg-config --cflags --libs lethe) && ./a.out FOLDER
 *
 *     backup 1: cascade, 1 keys
 *     backup 2: cascade, 2 keys
 *     removed 1, kept 1
 */
#include <lethe/backup.h>
#include <lethe/cascade.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool show(void *context, const lethe_backup *backup) {
    (void)context;
    printf("backup %d: %s, %d keys\n", (int)backup->number, backup->kind, (int)backup->records);
    return true;
}

/* Adds a key to the set, and backs the set up. */
static lethe_status add_and_back_up(const char *folder, const char *backups, uint64_t key,
                                    lethe_detail *detail) {
    lethe_cascade *set;
    lethe_status status = lethe_cascade_open(folder, NULL, &set, detail);
    if (status != LETHE_OK) return status;
    lethe_hash hash = lethe_hash_u64(lethe_cascade_seed(set), key);
    status = lethe_cascade_add_batch(set, &hash, 1, 0, NULL);
    lethe_status closed = lethe_cascade_close(set, detail);
    if (status == LETHE_OK) status = closed;
    if (status == LETHE_OK) status = lethe_cascade_backup(folder, backups, NULL, NULL, detail);
    return status;
}

int main(int count, char **words) {
    if (count != 2 || mkdir(words[1], 0777) != 0) {
        fprintf(stderr, "backup: which folder? It must not be there yet.\n");
        return EXIT_FAILURE;
    }
    char set[4096], backups[4096];
    snprintf(set, sizeof set, "%s/set", words[1]);
    snprintf(backups, sizeof backups, "%s/backups", words[1]);
    lethe_detail detail = {""};
    lethe_status status = LETHE_OK;
    for (uint64_t key = 1; key <= 2 && status == LETHE_OK; key++) {
        status = add_and_back_up(set, backups, key, &detail);
    }
    if (status == LETHE_OK) status = lethe_backup_list(backups, show, NULL, &detail);
    lethe_backup_pruned pruned = LETHE_INIT(lethe_backup_pruned);
    if (status == LETHE_OK) status = lethe_backup_prune(backups, 1, &pruned, &detail);
    if (status != LETHE_OK) {
        fprintf(stderr, "backup: %s\n", detail.text);
        return EXIT_FAILURE;
    }
    printf("removed %d, kept %d\n", (int)pruned.removed, (int)pruned.kept);
    return EXIT_SUCCESS;
}

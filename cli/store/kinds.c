/* kinds.c - the table of kinds, and which one a folder is of. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "say/message.h"
#include "store/kind.h"
#include "store/store.h"

const struct store_kind *const store_kinds[] = {&store_kind_counters, &store_kind_dedup,
                                                &store_kind_cascade, NULL};

const struct store_kind *kind_named(const char *name) {
    for (const struct store_kind *const *kind = store_kinds; *kind != NULL; kind++)
        if (strcmp((*kind)->name, name) == 0) return *kind;
    return NULL;
}

/* Whether there is something in the folder. */
static bool is_filled(const char *folder) {
    DIR *entries = opendir(folder);
    bool has_files = false;
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) has_files = true;
    if (entries != NULL) closedir(entries);
    return has_files;
}

/* Whether a folder has nothing but what `lethe dedup --db`, or a filter, makes first: its claim,
 * and a manifest that is not complete. */
static bool is_unmade(const char *folder) {
    DIR *entries = opendir(folder);
    bool has_claim = false, has_more = false;
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        bool is_claim = strcmp(name, "claim") == 0;
        has_claim = has_claim || is_claim;
        has_more = has_more || (!is_claim && strncmp(name, "manifest.", 9) != 0);
    }
    if (entries != NULL) closedir(entries);
    return has_claim && !has_more;
}

static bool stop_at_first(void *context, const lethe_backup *backup) {
    *(bool *)context = true;
    (void)backup;
    return false;
}

static bool is_of_backups(const char *folder) {
    bool has_backups = false;
    lethe_status status = lethe_backup_list(folder, stop_at_first, &has_backups, NULL);
    return has_backups || status == LETHE_ECORRUPT;
}

/* Says that it is none of the kinds, and what it may be. */
static int fail_kind(const char *folder) {
    struct stat status;
    if (stat(folder, &status) == 0 && !S_ISDIR(status.st_mode)) {
        return message_fail(EXIT_USAGE,
                            "%s is a file, and a store is a folder; for a filter or a sketch in a "
                            "file, use 'lethe filter info' or 'lethe freq info'",
                            folder);
    }
    if (is_unmade(folder)) {
        return message_fail(EXIT_ENVIRONMENT,
                            "making what is to be in %s was interrupted, and nothing is in it yet; "
                            "run the command that was making it once more",
                            folder);
    }
    if (is_of_backups(folder)) {
        return message_fail(EXIT_USAGE,
                            "%s is a folder of backups; list them with 'lethe backup --list --to "
                            "%s', or restore one with 'lethe restore'",
                            folder, folder);
    }
    return message_fail(EXIT_USAGE,
                        "%s is not a store: it has other files in it; name a folder that 'lethe "
                        "count', 'lethe dedup --db' or 'lethe filter build --kind cascade' made",
                        folder);
}

int kind_find(const struct arguments *arguments, const char **folder,
              const struct store_kind **out) {
    struct stat status;
    *out = &store_kind_counters;
    int code = store_folder(arguments, folder);
    if (code != EXIT_DONE) return code;
    for (const struct store_kind *const *kind = store_kinds; *kind != NULL; kind++) {
        if (!(*kind)->recognise(*folder)) continue;
        *out = *kind;
        return EXIT_DONE;
    }
    bool is_file = stat(*folder, &status) == 0 && !S_ISDIR(status.st_mode);
    return is_file || is_filled(*folder) ? fail_kind(*folder) : EXIT_DONE;
}

/* kind.h - the kinds of things that --db can name: one description each.
 *
 *   kind_counters.c   what lethe count makes
 *   kind_cascade.c    what lethe dedup --db makes, and cascade filters, which are folders too
 *
 * Commands that do the same to all of them look the kind up, and know nothing else about it. */
#ifndef LETHE_CLI_STORE_KIND_H
#define LETHE_CLI_STORE_KIND_H

#include <stdbool.h>

#include "frame/arguments.h"
#include "lethe/backup.h"

struct store_kind {
    const char *name;    /* as JSON and lists of backups call it */
    const char *what;    /* in a sentence: "a store of counters" */
    const char *records; /* what it counts, in a list of backups */
    /* Whether the folder has the files of this kind. */
    bool (*recognise)(const char *folder);
    /* Print what is in it. Return EXIT_DONE, or the code of what is wrong, after saying so. */
    int (*stat)(const char *folder, bool json);
    int (*check)(const char *folder, bool json);

    lethe_status (*backup)(const char *folder, const char *backups, lethe_backup *out,
                           lethe_detail *detail);
    lethe_status (*restore)(const char *backups, uint64_t number, const char *folder,
                            lethe_backup *out, lethe_detail *detail);
};

extern const struct store_kind store_kind_counters, store_kind_dedup, store_kind_cascade;

/* All of them, ending with NULL. */
extern const struct store_kind *const store_kinds[];

/* The kind of what is in the folder that --db names. A folder that is missing or empty is taken for
 * a store of counters, whose functions say so. Returns EXIT_DONE, or EXIT_USAGE after saying what
 * is wrong. */
int kind_find(const struct arguments *arguments, const char **folder,
              const struct store_kind **out);

/* The kind of that name; NULL if there is none. */
const struct store_kind *kind_named(const char *name);

#endif

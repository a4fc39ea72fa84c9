/* backup/set.h - the files of a folder that is in use, as of one moment.
 *
 * A set holds its files open, so that they can be read when their names are gone. */
#ifndef LETHE_BACKUP_SET_H
#define LETHE_BACKUP_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"
#include "os/block_file.h"
#include "os/path.h"
#include "os/temporary.h"

enum { LETHE_SET_NAME_BYTES = 128 };

typedef enum lethe_set_role {
    /* Never changed once it is there, or only made longer; what is added later does not matter. */
    LETHE_SET_PLAIN,
    /* Says which other files there are. While it is the same and as long as before, none of them
     * has been removed. */
    LETHE_SET_PIVOT
} lethe_set_role;

typedef struct lethe_set_file {
    /* In the folder: "data/000012.sst". */
    char name[LETHE_SET_NAME_BYTES];
    lethe_set_role role;
    /* Open; its size is that of the moment. Where there is none (-1), bytes has the content. */
    lethe_os_block_file file;
    unsigned char *bytes;
    uint64_t size_bytes;
    /* Nothing that matters is in it. */
    bool is_unused;
} lethe_set_file;

typedef struct lethe_set {
    char folder[LETHE_OS_PATH_BYTES];
    lethe_set_file *files;
    size_t count, room;
    /* A file was gone before it could be opened. */
    bool is_torn;
    /* The same files as links and copies, for whoever wants to open them in place. */
    lethe_os_temporary shown;
} lethe_set;

/* Opens a file whose name was found in the folder. One that is gone makes the set torn.
 * Errors: LETHE_EIO, LETHE_ENOMEM, LETHE_EINVAL (no regular file, or too long a name). */
LETHE_MUST_CHECK lethe_status lethe_set_add(lethe_set *set, const char *name, lethe_set_role role);
/* The same for a file that a pivot names: one that is not there is left out. */
LETHE_MUST_CHECK lethe_status lethe_set_add_named(lethe_set *set, const char *name);
/* Takes in a small file as it is now, which may be overwritten in place; or nothing, if it is
 * missing. */
LETHE_MUST_CHECK lethe_status lethe_set_add_content(lethe_set *set, const char *name);
/* Opens the files in a folder of the set ("" or "data/") whose names begin and end so, those with
 * the largest names first. A file that was begun later is opened before those that were complete by
 * then. Errors: as add, LETHE_ENOTFOUND (no such folder). */
LETHE_MUST_CHECK lethe_status lethe_set_add_all(lethe_set *set, const char *inner,
                                                const char *prefix, const char *suffix,
                                                lethe_set_role role);
/* The file of that name, or NULL. */
lethe_set_file *lethe_set_find(lethe_set *set, const char *name);

/* What fills a set from its folder. */
typedef lethe_status (*lethe_set_gather)(lethe_set *set, lethe_detail *detail);

/* Has the set gathered, again if need be, until all its files are of one moment, and shows it.
 * Whatever it returns, the set must be dropped. Errors: LETHE_EBUSY (the folder changes too fast),
 * gather's, LETHE_ENOSPACE, LETHE_EIO, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_set_take(lethe_set *set, const char *folder,
                                             lethe_set_gather gather, lethe_detail *detail);
/* Whether the files are still as they were when it was taken. */
bool lethe_set_is_current(const lethe_set *set);
void lethe_set_drop(lethe_set *set);

/* Makes the folder that a name such as "data/CURRENT" lies in, below another one. Errors:
 * LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_set_make_inner(const char *folder, const char *name);

/* Reads from a file of the set. Errors: LETHE_ECORRUPT (it was cut short), LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_set_read(const lethe_set_file *file, uint64_t offset,
                                             void *data, size_t size);

#endif

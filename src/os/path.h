/* os/path.h - paths as text, and what they are called without links. */
#ifndef LETHE_OS_PATH_H
#define LETHE_OS_PATH_H

#include <stdbool.h>

#include "lethe/status.h"

enum { LETHE_OS_PATH_BYTES = 4096 };

/* Makes a path by a printf format: the only way in which src/ puts paths together. Returns whether
 * it fits; if not, errno is ENAMETOOLONG. */
__attribute__((format(printf, 2, 3))) bool lethe_os_path(char out[LETHE_OS_PATH_BYTES],
                                                         const char *format, ...);

/* The same path from the root on, links included, so that it means the same after a chdir. If that
 * can't be found out, it is path itself. Returns whether it fits, as above. */
bool lethe_os_path_from_root(char out[LETHE_OS_PATH_BYTES], const char *path);

/* The path of the folder that path is in; of a name without a folder, ".". Returns whether it fits,
 * as above. out may be path. */
bool lethe_os_path_parent(char out[LETHE_OS_PATH_BYTES], const char *path);

/* What path is called from the root on, without links; *out is malloc's. Errors: LETHE_ENOTFOUND,
 * LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_real_path(const char *path, char **out);

/* Whether path is the folder or lies in it, under whatever name; it need not exist yet.
 * Errors: LETHE_ENOTFOUND (no such folder), LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_is_within(const char *path, const char *folder, bool *out);

#endif

/* core/io.h - sinks and sources over files, for each structure's save_file and load_file. */
#ifndef LETHE_CORE_IO_H
#define LETHE_CORE_IO_H

#include <stdbool.h>

#include "lethe/io.h"

/* Saves object with save into a replacement of path, which is committed only when save succeeds. */
LETHE_MUST_CHECK lethe_status lethe_save_to_file(const char *path,
                                                 lethe_status (*save)(const void *object,
                                                                      lethe_sink sink),
                                                 const void *object);

/* The same, and *is_in_place says whether path is the new file: where only the sync of the folder failed that is
 * true beside an error (os/file.h). */
LETHE_MUST_CHECK lethe_status lethe_replace_file(const char *path,
                                                 lethe_status (*save)(const void *object,
                                                                      lethe_sink sink),
                                                 const void *object, bool *is_in_place);

/* Opens path as a source and has load read it; load's context carries its results. */
LETHE_MUST_CHECK lethe_status lethe_load_from_file(
    const char *path, lethe_status (*load)(void *context, lethe_source source), void *context);

#endif

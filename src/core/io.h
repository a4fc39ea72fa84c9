/* core/io.h - sinks and sources over files, for each structure's save_file and load_file. */
#ifndef LETHE_CORE_IO_H
#define LETHE_CORE_IO_H

#include <stdbool.h>

#include "lethe/io.h"

/* Saves object with save into a replacement of path, which is committed only when save succeeds.
 * detail, which may be NULL, names the file and what is wrong; it is empty when all went well.
 * Errors: LETHE_EINVAL (path or object is NULL), save's, os/file.h's. */
LETHE_MUST_CHECK lethe_status lethe_save_to_file(const char *path,
                                                 lethe_status (*save)(const void *object,
                                                                      lethe_sink sink),
                                                 const void *object, lethe_detail *detail);

/* The same without a detail. *is_in_place says whether path is the new file now: where only the
 * sync of the folder failed, that is true in spite of the error (os/file.h). */
LETHE_MUST_CHECK lethe_status lethe_replace_file(const char *path,
                                                 lethe_status (*save)(const void *object,
                                                                      lethe_sink sink),
                                                 const void *object, bool *is_in_place);

/* Opens path as a source and calls load with it; load's context carries its results. detail and
 * errors: as above. */
LETHE_MUST_CHECK lethe_status lethe_load_from_file(const char *path,
                                                   lethe_status (*load)(void *context,
                                                                        lethe_source source),
                                                   void *context, lethe_detail *detail);

/* Defines TYPE_save_file and TYPE_load_file, the same for every structure, by its TYPE_save and
 * TYPE_load. */
#define LETHE_DEFINE_FILE_FUNCTIONS(type_) LETHE_DEFINE_FILE_FUNCTIONS_AS(type_, save, load)
/* The same for a structure that is saved in another way too, such as TYPE_export, TYPE_import. */
#define LETHE_DEFINE_FILE_FUNCTIONS_AS(type_, save_, load_)                                 \
    static lethe_status save_##_object(const void *object, lethe_sink sink) {               \
        return type_##_##save_(object, sink);                                               \
    }                                                                                       \
    lethe_status type_##_##save_##_file(const type_ *object, const char *path,              \
                                        lethe_detail *detail) {                             \
        return lethe_save_to_file(path, save_##_object, object, detail);                    \
    }                                                                                       \
    struct load_##_context {                                                                \
        const lethe_allocator *allocator;                                                   \
        type_ **out;                                                                        \
    };                                                                                      \
    static lethe_status load_##_object(void *context, lethe_source source) {                \
        struct load_##_context *loading = context;                                          \
        return type_##_##load_(source, loading->allocator, loading->out);                   \
    }                                                                                       \
    lethe_status type_##_##load_##_file(const char *path, const lethe_allocator *allocator, \
                                        type_ **out, lethe_detail *detail) {                \
        if (out == NULL) return LETHE_EINVAL;                                               \
        *out = NULL;                                                                        \
        struct load_##_context loading = {.allocator = allocator, .out = out};              \
        return lethe_load_from_file(path, load_##_object, &loading, detail);                \
    }

#endif

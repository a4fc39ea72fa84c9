/* structures/row.inc.h - the functions that a row's file would write again for each structure.
 *
 * The file that includes this one defines STRUCTURE as the name of the structure: for bloom, all of
 * the following call lethe_bloom_... They differ from the public functions only in their void
 * pointers. ROW_WITHOUT_FILES is for structures that have no save_file and load_file. */
#include "structures/structure.h"

#define JOIN_2(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_2(a, b, c)
#define OWN(word) JOIN(lethe_, STRUCTURE, _##word)
#define OWN_TYPE JOIN(lethe_, STRUCTURE, )

static inline lethe_status row_make(const void *options, void **out) {
    OWN_TYPE *made = NULL;
    lethe_status status = OWN(new)(options, out != NULL ? &made : NULL);
    if (out != NULL) *out = made;
    return status;
}

static inline void row_free(void *object) {
    OWN(free)(object);
}

static inline uint64_t row_seed(const void *object) {
    return OWN(seed)(object);
}

static inline lethe_status row_merge(void *object, void *other) {
    return OWN(merge)(object, other);
}

static inline lethe_status row_save(const void *object, lethe_sink sink) {
    return OWN(save)(object, sink);
}

static inline lethe_status row_load(lethe_source source, const lethe_allocator *allocator,
                                    void **out) {
    OWN_TYPE *loaded = NULL;
    lethe_status status = OWN(load)(source, allocator, out != NULL ? &loaded : NULL);
    if (out != NULL) *out = loaded;
    return status;
}

#ifndef ROW_WITHOUT_FILES
static inline lethe_status row_save_file(const void *object, const char *path,
                                         lethe_detail *detail) {
    return OWN(save_file)(object, path, detail);
}

static inline lethe_status row_load_file(const char *path, const lethe_allocator *allocator,
                                         void **out, lethe_detail *detail) {
    OWN_TYPE *loaded = NULL;
    lethe_status status = OWN(load_file)(path, allocator, out != NULL ? &loaded : NULL, detail);
    if (out != NULL) *out = loaded;
    return status;
}
#endif

/* The members of a row that these are. */
#define ROW_FUNCTIONS \
    .make = row_make, .free = row_free, .seed = row_seed, .save = row_save, .load = row_load
#define ROW_FILES .save_file = row_save_file, .load_file = row_load_file

/* Defines row_copy, for structures that can be copied. */
#define ROW_COPY                                                             \
    static lethe_status row_copy(const void *object, void **out) {           \
        OWN_TYPE *made = NULL;                                               \
        lethe_status status = OWN(copy)(object, out != NULL ? &made : NULL); \
        if (out != NULL) *out = made;                                        \
        return status;                                                       \
    }

/* Defines row_test, for filters that have no time. */
#define ROW_TEST                                                                             \
    static lethe_status row_test(const void *object, const lethe_hash *hashes, size_t count, \
                                 uint64_t now_ms, uint8_t *present) {                        \
        (void)now_ms;                                                                        \
        return OWN(test_batch)(object, hashes, count, present);                              \
    }

/* Defines row_clear, for structures that can always be cleared. */
#define ROW_CLEAR                                 \
    static lethe_status row_clear(void *object) { \
        OWN(clear)(object);                       \
        return LETHE_OK;                          \
    }

/* Defines row_plan, row_get_shape and row_info, for structures that have a shape and no time. */
#define ROW_SHAPE                                                                    \
    static lethe_status row_plan(const void *options, void *shape) {                 \
        return OWN(plan)(options, shape);                                            \
    }                                                                                \
    static lethe_status row_get_shape(const void *object, void *shape) {             \
        return OWN(get_shape)(object, shape);                                        \
    }                                                                                \
    static lethe_status row_info(const void *object, uint64_t now_ms, void *stats) { \
        (void)now_ms;                                                                \
        return OWN(info)(object, stats);                                             \
    }

/* The members of a row that these are, and what the structure's structs take. */
#define ROW_OF_SHAPE                                                                          \
    .options_bytes = sizeof(OWN(options)), .shape_bytes = sizeof(OWN(shape)),                 \
    .stats_bytes = sizeof(OWN(stats)), .memory_in_shape = offsetof(OWN(shape), memory_bytes), \
    .plan = row_plan, .get_shape = row_get_shape, .info = row_info

/* Options that are planned from a number of keys and an error. */
#define TAKE_PLAN(own_, plan_)                                             \
    ((own_)->capacity = (plan_)->capacity, (own_)->error = (plan_)->error, \
     (own_)->seed = (plan_)->seed, (own_)->allocator = (plan_)->allocator)

/* Fields of the shape and of the stats, whose names are those of the facts. */
#define OF_SHAPE(field_, type_) \
    { .name = #field_, .type = type_, .is_of_shape = true, .offset = offsetof(OWN(shape), field_) }
#define OF_STATS(field_, type_) \
    { .name = #field_, .type = type_, .offset = offsetof(OWN(stats), field_) }
#define WORD_OF_SHAPE(field_, words_)                             \
    {                                                             \
        .name = #field_, .type = FIELD_ENUM, .is_of_shape = true, \
        .offset = offsetof(OWN(shape), field_), .words = words_   \
    }
#define WORD_OF_STATS(field_, words_) \
    { .name = #field_, .type = FIELD_ENUM, .offset = offsetof(OWN(stats), field_), .words = words_ }
#define END_OF_FIELDS \
    { .name = NULL }

/* structures/sketch.c - rows of lethe_sketch: its five kinds, and exports, which only answer. */
#include "lethe/sketch.h"

#define STRUCTURE sketch
#include "structures/row.inc.h"

ROW_COPY
ROW_CLEAR
ROW_SHAPE

static void plan_options(const struct structure *row, const struct structure_plan *plan,
                         void *options) {
    lethe_sketch_options *own = options;
    own->kind = (lethe_sketch_kind)row->kind;
    own->memory_bytes = plan->memory_bytes;
    own->seed = plan->seed;
    own->allocator = plan->allocator;
}

static bool is(const struct structure *row, const void *object) {
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    return lethe_sketch_get_shape(object, &shape) == LETHE_OK && (int)shape.kind == row->kind;
}

static lethe_status add(void *object, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    (void)now_ms;
    return lethe_sketch_add_batch(object, hashes, count, NULL, NULL);
}

static lethe_status remove_all(void *object, const lethe_hash *hashes, size_t count,
                               uint64_t now_ms, uint8_t *removed) {
    (void)now_ms;
    lethe_status status = lethe_sketch_remove_batch(object, hashes, count, NULL, removed);
    return status == LETHE_ENOTFOUND ? LETHE_OK : status;
}

/* A key is there if its estimate is not zero. */
static lethe_status test(const void *object, const lethe_hash *hashes, size_t count,
                         uint64_t now_ms, uint8_t *present) {
    (void)now_ms;
    if (object == NULL || (count > 0 && (hashes == NULL || present == NULL))) return LETHE_EINVAL;
    for (size_t i = 0; i < count; i++)
        present[i] = lethe_sketch_count_hash(object, hashes[i], NULL) > 0;
    return LETHE_OK;
}

static lethe_status count_all(const void *object, const lethe_hash *hashes, size_t count,
                              uint64_t now_ms, uint64_t *counts) {
    (void)now_ms;
    return lethe_sketch_count_batch(object, hashes, count, counts, NULL);
}

/* An export is made of an empty sketch. */
static lethe_status make_export(const void *options, void **out) {
    lethe_sketch *sketch = NULL, *made = NULL;
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_status status = lethe_sketch_new(options, &sketch);
    if (status != LETHE_OK) return status;
    lethe_memory_writer writer = {0};
    status = lethe_sketch_export(sketch, lethe_sink_to_memory(&writer));
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    if (status == LETHE_OK)
        status = lethe_sketch_import(
            lethe_source_from_memory(&reader),
            options != NULL ? ((const lethe_sketch_options *)options)->allocator : NULL, &made);
    lethe_memory_writer_free(&writer);
    lethe_sketch_free(sketch);
    *out = made;
    return status;
}

static lethe_status save_export(const void *object, lethe_sink sink) {
    return lethe_sketch_export(object, sink);
}

static lethe_status load_export(lethe_source source, const lethe_allocator *allocator, void **out) {
    lethe_sketch *loaded = NULL;
    lethe_status status = lethe_sketch_import(source, allocator, out != NULL ? &loaded : NULL);
    if (out != NULL) *out = loaded;
    return status;
}

static lethe_status save_export_file(const void *object, const char *path, lethe_detail *detail) {
    return lethe_sketch_export_file(object, path, detail);
}

static lethe_status load_export_file(const char *path, const lethe_allocator *allocator, void **out,
                                     lethe_detail *detail) {
    lethe_sketch *loaded = NULL;
    lethe_status status =
        lethe_sketch_import_file(path, allocator, out != NULL ? &loaded : NULL, detail);
    if (out != NULL) *out = loaded;
    return status;
}

static const char *const kinds[] = {"count-min", "conservative", "count", "log", "fid"};

static const struct structure_field fields[] = {
    WORD_OF_SHAPE(kind, kinds),
    OF_SHAPE(width, FIELD_U64),
    OF_SHAPE(depth, FIELD_U32),
    OF_SHAPE(is_width, FIELD_U64),
    OF_SHAPE(is_depth, FIELD_U64),
    OF_SHAPE(counter_bits, FIELD_U32),
    OF_SHAPE(top, FIELD_U32),
    OF_SHAPE(seed, FIELD_U64),
    OF_SHAPE(epsilon, FIELD_F64),
    OF_SHAPE(delta, FIELD_F64),
    OF_STATS(query_only, FIELD_BOOL),
    OF_STATS(total, FIELD_U64),
    OF_STATS(counters_used, FIELD_U64),
    OF_STATS(counters_saturated, FIELD_U64),
    OF_STATS(counter_max, FIELD_U64),
    OF_STATS(error_above, FIELD_F64),
    OF_STATS(error_below, FIELD_F64),
    OF_STATS(relative_error, FIELD_F64),
    OF_STATS(top_listed, FIELD_U32),
    OF_SHAPE(memory_bytes, FIELD_U64),
    OF_SHAPE(query_memory_bytes, FIELD_U64),
    END_OF_FIELDS,
};

#define COMMON                                                                                 \
    .version = 1, .oldest_version = 1, .newest_version = 2, ROW_OF_SHAPE,                      \
    .first_options_bytes = offsetof(lethe_sketch_options, is_depth),                           \
    .first_shape_bytes = offsetof(lethe_sketch_shape, is_depth), .plan_options = plan_options, \
    .test = test, .count = count_all, .copy = row_copy, .free = row_free, .seed = row_seed,    \
    .fields = fields

#define KIND                                                                                    \
    COMMON, .type = "SKCH", .is = is, .make = row_make, .add = add, .merge = row_merge,         \
            .clear = row_clear, .save = row_save, .load = row_load, .save_file = row_save_file, \
            .load_file = row_load_file

const struct structure structure_count_min = {
    .name = "count-min", .kind = LETHE_SKETCH_COUNT_MIN, .remove = remove_all, KIND};
const struct structure structure_conservative = {
    .name = "conservative", .kind = LETHE_SKETCH_CONSERVATIVE, KIND};
const struct structure structure_count = {
    .name = "count", .kind = LETHE_SKETCH_COUNT, .may_miss = true, .remove = remove_all, KIND};
const struct structure structure_log = {.name = "log", .kind = LETHE_SKETCH_LOG, KIND};
const struct structure structure_fid = {
    .name = "fid", .kind = LETHE_SKETCH_FID, .remove = remove_all, KIND};

const struct structure structure_export = {
    .name = "export",
    .type = "SKFQ",
    .kind = LETHE_SKETCH_FID,
    .make = make_export,
    .save = save_export,
    .load = load_export,
    .save_file = save_export_file,
    .load_file = load_export_file,
    COMMON,
};

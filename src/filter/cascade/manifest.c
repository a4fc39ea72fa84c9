/* filter/cascade/manifest.c - the one file that is replaced: docs/format/cascade.md.
 *
 * LAYOUT  a frame (core/codec.h) of type CASC, version 1: identity u64, capacity u64, error f64,
 *         seed u64, window u64, slack f64, fingerprint bits u32, range bits u32, exact u32, note
 *         bytes u32, next run id u64, end key u64, clock u64, sequence u64, note, then for each
 *         range: covered key u64, runs u64, and for each run: id u64, level u32, age bits u32,
 *         entries u64, pages u64, tombstones u64, first period u64, last period u64.
 * I1      It is replaced as a whole, after everything that it names has been synced.
 * LIMIT   Two mistakes of earlier versions are mended when it is read. Merges in one range by
 *         several threads left levels that decrease; the order of the list is what counts, so
 *         levels are raised to that of the newer neighbour. And a manifest written in the middle of
 *         a record has an end before keys that its runs cover: the log, synced before the manifest
 *         was written, has that record. */
#include "filter/cascade/manifest.h"

#include "core/codec.h"
#include "core/io.h"

enum { VERSION = 1, FIXED_BYTES = 6 * 8 + 4 * 4 + 4 * 8, RANGE_BYTES = 16, RUN_BYTES = 56 };

static const char type[] = "CASC";
static const uint64_t MOST_KEYS = UINT64_C(1) << 62;

static uint64_t payload_bytes(const struct lethe_cascade_manifest *manifest) {
    uint64_t bytes = FIXED_BYTES + manifest->note_bytes;
    for (unsigned i = 0; i < 1u << manifest->shape.range_bits; i++)
        bytes += RANGE_BYTES + (uint64_t)manifest->ranges[i].run_count * RUN_BYTES;
    return bytes;
}

static void put_run(lethe_encoder *encoder, const struct lethe_cascade_run_facts *run) {
    lethe_encoder_put_u64(encoder, run->id);
    lethe_encoder_put_u32(encoder, run->level);
    lethe_encoder_put_u32(encoder, run->age_bits);
    lethe_encoder_put_u64(encoder, run->entries);
    lethe_encoder_put_u64(encoder, run->pages);
    lethe_encoder_put_u64(encoder, run->tombstones);
    lethe_encoder_put_u64(encoder, run->first_period);
    lethe_encoder_put_u64(encoder, run->last_period);
}

lethe_status lethe_cascade_manifest_save(const struct lethe_cascade_manifest *manifest,
                                         lethe_sink sink) {
    const struct lethe_cascade_shape *shape = &manifest->shape;
    lethe_encoder *encoder;
    lethe_status status =
        lethe_encoder_begin(sink, type, VERSION, payload_bytes(manifest), NULL, &encoder);
    if (status != LETHE_OK) return status;
    lethe_encoder_put_u64(encoder, shape->identity);
    lethe_encoder_put_u64(encoder, shape->capacity);
    lethe_encoder_put_f64(encoder, shape->error);
    lethe_encoder_put_u64(encoder, shape->seed);
    lethe_encoder_put_u64(encoder, shape->window_ms);
    lethe_encoder_put_f64(encoder, shape->slack);
    lethe_encoder_put_u32(encoder, shape->fingerprint_bits);
    lethe_encoder_put_u32(encoder, shape->range_bits);
    lethe_encoder_put_u32(encoder, manifest->is_exact);
    lethe_encoder_put_u32(encoder, manifest->note_bytes);
    lethe_encoder_put_u64(encoder, manifest->next_run_id);
    lethe_encoder_put_u64(encoder, manifest->end_key);
    lethe_encoder_put_u64(encoder, manifest->clock_ms);
    lethe_encoder_put_u64(encoder, manifest->sequence);
    lethe_encoder_put_bytes(encoder, manifest->note, manifest->note_bytes);
    for (unsigned i = 0; i < 1u << shape->range_bits; i++) {
        const struct lethe_cascade_manifest_range *range = &manifest->ranges[i];
        lethe_encoder_put_u64(encoder, range->covered_key);
        lethe_encoder_put_u64(encoder, range->run_count);
        for (uint32_t j = 0; j < range->run_count; j++)
            put_run(encoder, &range->runs[j]);
    }
    return lethe_encoder_end(encoder);
}

static void get_run(lethe_decoder *decoder, struct lethe_cascade_run_facts *run) {
    run->id = lethe_decoder_get_u64(decoder);
    run->level = lethe_decoder_get_u32(decoder);
    run->age_bits = lethe_decoder_get_u32(decoder);
    run->entries = lethe_decoder_get_u64(decoder);
    run->pages = lethe_decoder_get_u64(decoder);
    run->tombstones = lethe_decoder_get_u64(decoder);
    run->first_period = lethe_decoder_get_u64(decoder);
    run->last_period = lethe_decoder_get_u64(decoder);
}

/* Whether what is said of a run makes sense. */
static bool is_run(const struct lethe_cascade_manifest *manifest,
                   const struct lethe_cascade_run_facts *run) {
    const struct lethe_cascade_shape *shape = &manifest->shape;
    if (run->id >= manifest->next_run_id) return false;
    if (run->level < 1 || run->level >= LETHE_CASCADE_LEVELS) return false;
    if (run->pages == 0 || run->pages > UINT64_C(1) << 44) return false;
    if (run->entries < run->pages || run->tombstones > run->entries) return false;
    if (run->entries / LETHE_CASCADE_PAGE_ENTRIES > run->pages) return false;
    if (shape->window_ms == 0) {
        return run->age_bits == 0 && run->first_period == 0 && run->last_period == 0;
    }
    if (run->age_bits > LETHE_CASCADE_AGE_TAG_BITS || run->tombstones > 0) return false;
    if (run->last_period > lethe_cascade_period_of(shape, manifest->clock_ms)) return false;
    return run->first_period <= run->last_period &&
           (run->last_period - run->first_period) >> run->age_bits == 0;
}

/* Reads a range; its sizes are checked before they are used. */
static lethe_status get_range(lethe_decoder *decoder, struct lethe_cascade_manifest *manifest,
                              struct lethe_cascade_manifest_range *range) {
    range->covered_key = lethe_decoder_get_u64(decoder);
    uint64_t count = lethe_decoder_get_u64(decoder);
    lethe_status status = lethe_decoder_status(decoder);
    if (status != LETHE_OK) return status;
    if (count > LETHE_CASCADE_MAX_RUNS || range->covered_key > MOST_KEYS) return LETHE_ECORRUPT;
    if (range->covered_key > manifest->end_key) {
        if (manifest->is_exact) return LETHE_ECORRUPT;
        manifest->end_key = range->covered_key;
    }
    range->run_count = (uint32_t)count;
    for (uint32_t i = 0; i < range->run_count; i++) {
        get_run(decoder, &range->runs[i]);
        if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);
        if (!is_run(manifest, &range->runs[i])) return LETHE_ECORRUPT;
        if (i > 0 && range->runs[i].level < range->runs[i - 1].level) {
            range->runs[i].level = range->runs[i - 1].level;
        }
    }
    return LETHE_OK;
}

static lethe_status get_all(lethe_decoder *decoder, struct lethe_cascade_manifest *out) {
    struct lethe_cascade_shape *shape = &out->shape;
    shape->identity = lethe_decoder_get_u64(decoder);
    shape->capacity = lethe_decoder_get_u64(decoder);
    shape->error = lethe_decoder_get_f64(decoder);
    shape->seed = lethe_decoder_get_u64(decoder);
    shape->window_ms = lethe_decoder_get_u64(decoder);
    shape->slack = lethe_decoder_get_f64(decoder);
    shape->fingerprint_bits = lethe_decoder_get_u32(decoder);
    shape->range_bits = lethe_decoder_get_u32(decoder);
    uint32_t exact = lethe_decoder_get_u32(decoder);
    out->note_bytes = lethe_decoder_get_u32(decoder);
    out->next_run_id = lethe_decoder_get_u64(decoder);
    out->end_key = lethe_decoder_get_u64(decoder);
    out->clock_ms = lethe_decoder_get_u64(decoder);
    out->sequence = lethe_decoder_get_u64(decoder);
    lethe_status status = lethe_decoder_status(decoder);
    if (status != LETHE_OK) return status;
    if (exact > 1 || out->note_bytes > LETHE_CASCADE_MAX_NOTE_BYTES) return LETHE_ECORRUPT;
    if (out->end_key > MOST_KEYS) return LETHE_ECORRUPT;
    out->is_exact = exact == 1;
    status = lethe_cascade_check_shape(shape);
    if (status != LETHE_OK) return status;
    lethe_decoder_get_bytes(decoder, out->note, out->note_bytes);
    for (unsigned i = 0; i < 1u << shape->range_bits && status == LETHE_OK; i++)
        status = get_range(decoder, out, &out->ranges[i]);
    return status;
}

/* No file may be named twice. */
static bool has_repeats(const struct lethe_cascade_manifest *manifest) {
    unsigned ranges = 1u << manifest->shape.range_bits;
    for (unsigned i = 0; i < ranges * LETHE_CASCADE_MAX_RUNS; i++) {
        const struct lethe_cascade_manifest_range *a =
            &manifest->ranges[i / LETHE_CASCADE_MAX_RUNS];
        if (i % LETHE_CASCADE_MAX_RUNS >= a->run_count) continue;
        for (unsigned j = 0; j < i; j++) {
            const struct lethe_cascade_manifest_range *b =
                &manifest->ranges[j / LETHE_CASCADE_MAX_RUNS];
            if (j % LETHE_CASCADE_MAX_RUNS >= b->run_count) continue;
            if (a->runs[i % LETHE_CASCADE_MAX_RUNS].id == b->runs[j % LETHE_CASCADE_MAX_RUNS].id) {
                return true;
            }
        }
    }
    return false;
}

lethe_status lethe_cascade_manifest_load(lethe_source source, struct lethe_cascade_manifest *out) {
    *out = (struct lethe_cascade_manifest){0};
    lethe_decoder *decoder;
    lethe_status status = lethe_decoder_begin(source, type, VERSION, NULL, &decoder);
    if (status != LETHE_OK) return status;
    status = lethe_decoder_end_after(decoder, get_all(decoder, out));
    if (status == LETHE_OK && has_repeats(out)) status = LETHE_ECORRUPT;
    return status;
}

static void path_of(const char *folder, char path[LETHE_OS_PATH_BYTES]) {
    (void)lethe_os_path(path, "%s/manifest", folder);
}

static lethe_status save(const void *object, lethe_sink sink) {
    return lethe_cascade_manifest_save(object, sink);
}

static lethe_status load(void *context, lethe_source source) {
    return lethe_cascade_manifest_load(source, context);
}

lethe_status lethe_cascade_manifest_write(const char *folder,
                                          const struct lethe_cascade_manifest *manifest,
                                          bool *is_in_place) {
    char path[LETHE_OS_PATH_BYTES];
    path_of(folder, path);
    return lethe_replace_file(path, save, manifest, is_in_place);
}

lethe_status lethe_cascade_manifest_read(const char *folder, struct lethe_cascade_manifest *out) {
    char path[LETHE_OS_PATH_BYTES];
    path_of(folder, path);
    return lethe_load_from_file(path, load, out, NULL);
}

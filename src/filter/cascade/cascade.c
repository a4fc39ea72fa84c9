/* cascade.c - the cascade filter's calls; not written yet: every one fails. */
#include "lethe/cascade.h"

lethe_status lethe_cascade_open(const char *folder, const lethe_cascade_options *options,
                                lethe_cascade **out) {
    (void)folder, (void)options;
    *out = NULL;
    return LETHE_EIO;
}

lethe_status lethe_cascade_close(lethe_cascade *cascade) {
    (void)cascade;
    return LETHE_OK;
}

uint64_t lethe_cascade_seed(const lethe_cascade *cascade) {
    (void)cascade;
    return LETHE_DEFAULT_SEED;
}

lethe_status lethe_cascade_insert_batch(lethe_cascade *cascade, const lethe_hash *hashes,
                                        size_t count, uint64_t now_ms, size_t *done) {
    (void)cascade, (void)hashes, (void)count, (void)now_ms, (void)done;
    return LETHE_EIO;
}

lethe_status lethe_cascade_remove_batch(lethe_cascade *cascade, const lethe_hash *hashes,
                                        size_t count, uint64_t now_ms, size_t *done) {
    (void)cascade, (void)hashes, (void)count, (void)now_ms, (void)done;
    return LETHE_EIO;
}

lethe_status lethe_cascade_test_batch(lethe_cascade *cascade, const lethe_hash *hashes,
                                      size_t count, uint64_t now_ms, uint8_t *present) {
    (void)cascade, (void)hashes, (void)count, (void)now_ms, (void)present;
    return LETHE_EIO;
}

lethe_status lethe_cascade_add_and_test_batch(lethe_cascade *cascade, const lethe_hash *hashes,
                                              size_t count, uint64_t now_ms, uint8_t *present,
                                              size_t *done) {
    (void)cascade, (void)hashes, (void)count, (void)now_ms, (void)present, (void)done;
    return LETHE_EIO;
}

lethe_status lethe_cascade_count_batch(lethe_cascade *cascade, const lethe_hash *hashes,
                                       size_t count, uint64_t now_ms, uint64_t *counts) {
    (void)cascade, (void)hashes, (void)count, (void)now_ms, (void)counts;
    return LETHE_EIO;
}

lethe_status lethe_cascade_work(lethe_cascade *cascade, uint64_t budget, uint64_t now_ms,
                                bool *more) {
    (void)cascade, (void)budget, (void)now_ms, (void)more;
    return LETHE_EIO;
}

lethe_status lethe_cascade_sync(lethe_cascade *cascade) {
    (void)cascade;
    return LETHE_EIO;
}

lethe_status lethe_cascade_checkpoint(lethe_cascade *cascade, uint64_t sequence, const void *note,
                                      size_t note_bytes) {
    (void)cascade, (void)sequence, (void)note, (void)note_bytes;
    return LETHE_EIO;
}

void lethe_cascade_last_checkpoint(lethe_cascade *cascade, uint64_t *sequence, void *note,
                                   size_t *note_bytes) {
    (void)cascade, (void)note;
    *sequence = 0;
    *note_bytes = 0;
}

lethe_status lethe_cascade_each(lethe_cascade *cascade, uint64_t now_ms,
                                bool (*visit)(void *context, uint64_t fingerprint, uint64_t count),
                                void *context) {
    (void)cascade, (void)now_ms, (void)visit, (void)context;
    return LETHE_EIO;
}

lethe_cascade_stats lethe_cascade_info(lethe_cascade *cascade, uint64_t now_ms) {
    (void)cascade, (void)now_ms;
    return (lethe_cascade_stats){0};
}

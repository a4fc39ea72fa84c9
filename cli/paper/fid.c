/* paper/fid.c - streams and sketches of the FID paper's figures; see fid.h. */
#include "paper/fid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "say/message.h"

enum { BATCH = 1024 };

static uint64_t next_random(uint64_t *state) {
    uint64_t bits = *state += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* The first item whose cumulated probability exceeds chance. */
static uint32_t search(const double *cumulated, uint32_t different, double chance) {
    uint32_t low = 0, high = different > 0 ? different - 1 : 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cumulated[middle] > chance) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void draw(struct fid_stream *stream, double skew, double *cumulated) {
    double sum = 0;
    for (uint32_t i = 0; i < stream->different; i++)
        cumulated[i] = sum += pow(i + 1, -skew);
    uint64_t state = skew > 0 ? 2 : 1;
    for (size_t i = 0; i < stream->length; i++) {
        uint64_t bits = next_random(&state);
        stream->items[i] =
            skew > 0 ? search(cumulated, stream->different, (double)(bits >> 11) * 0x1p-53 * sum)
                     : (uint32_t)((bits >> 32) * stream->different >> 32);
    }
}

void fid_stream_begin(struct fid_stream *stream, double skew, uint32_t different, size_t length) {
    *stream = (struct fid_stream){.items = malloc(length * sizeof *stream->items),
                                  .length = length,
                                  .different = different,
                                  .hashes = malloc(different * sizeof *stream->hashes),
                                  .exact = calloc(different, sizeof *stream->exact)};
    double *cumulated = calloc(different, sizeof *cumulated);
    if (stream->items != NULL && stream->hashes != NULL && stream->exact != NULL &&
        cumulated != NULL) {
        for (uint32_t i = 0; i < different; i++)
            stream->hashes[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, i);
        draw(stream, skew, cumulated);
    } else {
        stream->status = LETHE_ENOMEM;
    }
    free(cumulated);
}

void fid_stream_end(struct fid_stream *stream) {
    free(stream->items);
    free(stream->hashes);
    free(stream->exact);
}

void fid_stream_forget(struct fid_stream *stream) {
    if (stream->exact != NULL) memset(stream->exact, 0, stream->different * sizeof *stream->exact);
}

void fid_row(struct report *report, double x, const double values[FID_KINDS]) {
    REPORT_ROW(report, x, values[FID_COUNT], values[FID_COUNT_MIN], values[FID_CONSERVATIVE],
               values[FID_LOG], values[FID_LOG_TWICE], values[FID_FID]);
}

lethe_sketch *fid_sketch(struct fid_stream *stream, enum fid_kind kind, uint64_t width,
                         uint32_t depth, bool removes) {
    static const lethe_sketch_kind kinds[] = {
        [FID_COUNT] = LETHE_SKETCH_COUNT,
        [FID_COUNT_MIN] = LETHE_SKETCH_COUNT_MIN,
        [FID_CONSERVATIVE] = LETHE_SKETCH_CONSERVATIVE,
        [FID_LOG] = LETHE_SKETCH_LOG,
        [FID_LOG_TWICE] = LETHE_SKETCH_LOG,
        [FID_FID] = LETHE_SKETCH_FID,
    };
    lethe_sketch_options options =
        LETHE_OPTIONS(lethe_sketch_options, .kind = kinds[kind], .width = width, .depth = depth);
    if (kind == FID_LOG_TWICE) options.width *= 2;
    if (kind == FID_FID) {
        options.is_width = FID_IS_WIDTH;
        options.is_depth = FID_DEPTH;
    } else if (removes && kind != FID_COUNT && kind != FID_COUNT_MIN) {
        options.removal = LETHE_SKETCH_REMOVAL_SUBTRACTION;
    }
    lethe_sketch *sketch = NULL;
    if (stream->status == LETHE_OK) stream->status = lethe_sketch_new(&options, &sketch);
    fid_stream_forget(stream);
    return sketch;
}

/* Hands items first to last - 1 to the sketch in batches. */
static void apply(struct fid_stream *stream, lethe_sketch *sketch, size_t first, size_t last,
                  bool removes) {
    lethe_hash hashes[BATCH];
    for (; first < last && stream->status == LETHE_OK; first += BATCH) {
        size_t count = last - first < BATCH ? last - first : BATCH;
        for (size_t i = 0; i < count; i++) {
            uint32_t item = stream->items[first + i];
            hashes[i] = stream->hashes[item];
            stream->exact[item] += removes ? UINT64_MAX : 1;
        }
        stream->status = removes ? lethe_sketch_remove_batch(sketch, hashes, count, NULL, NULL)
                                 : lethe_sketch_add_batch(sketch, hashes, count, NULL, NULL);
    }
}

void fid_insert(struct fid_stream *stream, lethe_sketch *sketch, size_t first, size_t last) {
    apply(stream, sketch, first, last, false);
}

void fid_remove(struct fid_stream *stream, lethe_sketch *sketch, size_t first, size_t last) {
    apply(stream, sketch, first, last, true);
}

double fid_error(struct fid_stream *stream, const lethe_sketch *sketch, double *errors,
                 uint64_t *under) {
    if (under != NULL) *under = 0;
    if (stream->status != LETHE_OK) return 0;
    double sum = 0;
    uint32_t present = 0;
    for (uint32_t item = 0; item < stream->different; item++) {
        if (errors != NULL) errors[item] = -1;
        if (stream->exact[item] == 0) continue;
        double exact = (double)stream->exact[item];
        double count = (double)lethe_sketch_count_hash(sketch, stream->hashes[item], NULL);
        double error = fabs(count - exact) / exact;
        if (errors != NULL) errors[item] = error;
        if (under != NULL) *under += count < exact;
        sum += error;
        present++;
    }
    return present > 0 ? sum / present : 0;
}

void fid_errors_of_all(struct fid_stream *stream, uint64_t width, uint32_t depth,
                       double out[FID_KINDS]) {
    for (int kind = 0; kind < FID_KINDS; kind++) {
        lethe_sketch *sketch = fid_sketch(stream, (enum fid_kind)kind, width, depth, false);
        fid_insert(stream, sketch, 0, stream->length);
        out[kind] = fid_error(stream, sketch, NULL, NULL);
        lethe_sketch_free(sketch);
    }
}

int fid_code(struct fid_stream *stream) {
    lethe_status status = stream->status;
    fid_stream_end(stream);
    if (status == LETHE_OK) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "the sketches of a figure failed: %s; free some memory",
                        lethe_strerror(status));
}

/* merge.c - `lethe freq merge`: one sketch of several. */
#include <inttypes.h>
#include <stdio.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "freq/file.h"
#include "output/saved.h"
#include "say/message.h"

/* Writes in what b differs from a, both values named. */
static void describe_difference(const lethe_sketch_shape *a, const lethe_sketch_shape *b,
                                char *text, size_t size) {
    if (a->kind != b->kind) {
        snprintf(text, size, "kind %s, not %s", freq_kind_name(b->kind), freq_kind_name(a->kind));
    } else if (a->width != b->width) {
        snprintf(text, size, "width %" PRIu64 ", not %" PRIu64, b->width, a->width);
    } else if (a->depth != b->depth) {
        snprintf(text, size, "depth %" PRIu32 ", not %" PRIu32, b->depth, a->depth);
    } else if (a->is_width != b->is_width) {
        snprintf(text, size, "an IS part of width %" PRIu64 ", not %" PRIu64, b->is_width,
                 a->is_width);
    } else if (a->is_depth != b->is_depth) {
        snprintf(text, size, "an IS part of depth %" PRIu64 ", not %" PRIu64, b->is_depth,
                 a->is_depth);
    } else if (a->counter_bits != b->counter_bits) {
        snprintf(text, size, "counters of %" PRIu32 " bits, not %" PRIu32, b->counter_bits,
                 a->counter_bits);
    } else if (a->removal != b->removal) {
        snprintf(text, size, "removal %s, not %s", freq_removal_name(b->removal),
                 freq_removal_name(a->removal));
    } else if (a->top != b->top) {
        snprintf(text, size, "top %" PRIu32 ", not %" PRIu32, b->top, a->top);
    } else {
        snprintf(text, size, "seed 0x%016" PRIx64 ", not 0x%016" PRIx64, b->seed, a->seed);
    }
}

static int merge_into(lethe_sketch *sketch, const char *first_path, const char *path) {
    lethe_sketch *other;
    int code = freq_load(path, &other);
    if (code != EXIT_DONE) return code;
    lethe_status status = lethe_sketch_merge(sketch, other);
    if (status == LETHE_EMISMATCH) {
        lethe_sketch_shape a = LETHE_INIT(lethe_sketch_shape), b = LETHE_INIT(lethe_sketch_shape);
        (void)lethe_sketch_get_shape(sketch, &a);
        (void)lethe_sketch_get_shape(other, &b);
        char difference[160];
        describe_difference(&a, &b, difference, sizeof difference);
        code =
            message_fail(EXIT_BAD_DATA,
                         "cannot merge: %s has %s as %s has; build all parts with the same options",
                         path, difference, first_path);
    } else if (status != LETHE_OK) {
        code = message_fail(EXIT_ENVIRONMENT, "not enough memory to merge %s; free some", path);
    }
    lethe_sketch_free(other);
    return code;
}

int run_freq_merge(const struct arguments *arguments) {
    const char *out = arguments_text(arguments, "out");
    if (out == NULL) return arguments_fail(arguments, "--out S is missing: the file to write");
    int code = saved_check("sketch", out);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    char *const *paths = arguments->operands;
    lethe_sketch *sketch;
    code = freq_load(paths[0], &sketch);
    for (size_t i = 1; i < arguments->operand_count && code == EXIT_DONE; i++) {
        if (interrupt_requested()) break;
        code = merge_into(sketch, paths[0], paths[i]);
    }
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = freq_save(sketch, out);
    if (code == EXIT_DONE) {
        freq_report(out, sketch, arguments_has(arguments, "json"),
                    arguments_has(arguments, "quiet"));
    }
    lethe_sketch_free(sketch);
    return code;
}

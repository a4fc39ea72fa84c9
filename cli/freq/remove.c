/* remove.c - `lethe freq remove`: takes lines out of a sketch again. */
#include <inttypes.h>
#include <string.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "frame/operands.h"
#include "freq/file.h"
#include "input/keys.h"
#include "output/saved.h"
#include "say/message.h"

enum { SHOWN_BYTES = 40 };

/* Says why a sketch removes nothing. */
static int fail_kind(const char *path) {
    return message_fail(EXIT_BAD_DATA,
                        "%s cannot remove lines; build it again with --removal subtraction", path);
}

/* How often a key may have been added: kinds that can be too low only know the total. */
static uint64_t most_of(const lethe_sketch *sketch, lethe_bytes key) {
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    (void)lethe_sketch_get_shape(sketch, &shape);
    if (shape.kind == LETHE_SKETCH_COUNT || shape.kind == LETHE_SKETCH_LOG)
        return lethe_sketch_total(sketch);
    return lethe_sketch_count(sketch, key.data, key.size, NULL);
}

static int fail_refused(const struct inputs *inputs, const struct key_batch *batch, size_t at,
                        const lethe_sketch *sketch, const char *path) {
    struct key_place place;
    lethe_bytes key = batch->keys[at];
    return message_fail(EXIT_BAD_DATA,
                        "%s: '%.*s' cannot be removed %" PRIu64
                        " times, it was added at most %" PRIu64 " times; %s is left as it was",
                        key_line_name(inputs, batch->first_line + at, &place),
                        (int)(key.size < SHOWN_BYTES ? key.size : SHOWN_BYTES),
                        (const char *)key.data, batch->weighted ? batch->weights[at] : 1,
                        most_of(sketch, key), path);
}

/* What is being removed from. */
struct removal {
    lethe_sketch *sketch;
    const char *path;
};

/* A key_visit. */
static int remove_batch(void *context, const struct inputs *inputs, const struct key_batch *batch) {
    const struct removal *removal = context;
    lethe_sketch *sketch = removal->sketch;
    const char *path = removal->path;
    uint8_t removed[LINES_PER_BATCH];
    lethe_status status = lethe_sketch_remove_key_batch(
        sketch, batch->keys, batch->count, batch->weighted ? batch->weights : NULL, removed);
    if (status == LETHE_EINVAL) {
        lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
        (void)lethe_sketch_get_shape(sketch, &shape);
        bool is_open = shape.kind == LETHE_SKETCH_COUNT_MIN || shape.kind == LETHE_SKETCH_COUNT ||
                       shape.removal > LETHE_SKETCH_REMOVAL_NONE;
        if (!is_open) return fail_kind(path);
        return message_fail(EXIT_BAD_DATA,
                            "a key of more than %d bytes cannot be among the most frequent keys; "
                            "%s is left as it was",
                            LETHE_SKETCH_MAX_KEY_BYTES, path);
    }
    const uint8_t *refused = memchr(removed, 0, batch->count);
    if (refused == NULL) return EXIT_DONE;
    return fail_refused(inputs, batch, (size_t)(refused - removed), sketch, path);
}

int run_freq_remove(const struct arguments *arguments) {
    struct key_fields fields;
    int code = key_fields_read(arguments, &fields);
    if (code != EXIT_DONE) return code;
    struct inputs inputs;
    code = operands_look(arguments, 1, &inputs);
    if (code != EXIT_DONE) return code;
    const char *path = arguments->operands[0];
    const char *out = arguments_text(arguments, "out");
    if (out == NULL) out = path;
    lethe_sketch *sketch;
    code = freq_load(path, &sketch);
    if (code != EXIT_DONE) return code;
    code = saved_check("sketch", out);
    interrupt_begin();
    bool quiet = arguments_has(arguments, "quiet");
    struct removal removal = {.sketch = sketch, .path = path};
    if (code == EXIT_DONE) code = keys_each(&inputs, &fields, !quiet, remove_batch, &removal);
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = freq_save(sketch, out);
    if (code == EXIT_DONE) freq_report(out, sketch, arguments_has(arguments, "json"), quiet);
    lethe_sketch_free(sketch);
    return code;
}

/* remove.c - `lethe filter remove`: takes lines out of a filter again. */
#include <inttypes.h>
#include <string.h>

#include "filter/file.h"
#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "frame/operands.h"
#include "input/inputs.h"
#include "input/lines.h"
#include "output/saved.h"
#include "say/message.h"

struct removal {
    const struct filter *filter;
    uint64_t removed;
    /* Lines that the filter did not have. */
    uint64_t missing;
};

/* A line_visit. */
static int remove_batch(void *context, struct line_reader *reader, const struct line_batch *batch) {
    (void)reader;
    struct removal *removal = context;
    const struct filter *filter = removal->filter;
    lethe_hash hashes[LINES_PER_BATCH];
    uint8_t removed[LINES_PER_BATCH];
    lethe_hash_batch(filter_seed(filter), batch->lines, batch->count, hashes);
    lethe_status status =
        filter->kind->structure->remove(filter->object, hashes, batch->count, 0, removed);
    if (status != LETHE_OK) {
        return message_fail(EXIT_ENVIRONMENT, "cannot remove from the filter: %s",
                            lethe_strerror(status));
    }
    for (size_t i = 0; i < batch->count; i++) {
        removal->removed += removed[i] != 0;
        removal->missing += removed[i] == 0;
    }
    return EXIT_DONE;
}

static int check_removable(const struct filter *filter, const char *path) {
    if (filter->kind->structure->remove != NULL) return EXIT_DONE;
    return message_fail(EXIT_BAD_DATA,
                        "%s is a %s filter, which cannot remove lines; build it with --kind "
                        "quotient",
                        path, filter->kind->name);
}

int run_filter_remove(const struct arguments *arguments) {
    struct inputs inputs;
    int code = operands_look(arguments, 1, &inputs);
    if (code != EXIT_DONE) return code;
    const char *path = arguments->operands[0], *out = arguments_text(arguments, "out");
    if (out == NULL) out = path;
    struct filter filter;
    code = filter_load(path, &filter);
    if (code != EXIT_DONE) return code;
    struct removal removal = {.filter = &filter};
    bool quiet = arguments_has(arguments, "quiet");
    code = check_removable(&filter, path);
    bool in_place = filter.kind->structure->lives_in_folder && strcmp(out, path) == 0;
    if (code == EXIT_DONE && !in_place) code = saved_check("filter", out);
    interrupt_begin();
    if (code == EXIT_DONE) code = lines_each(&inputs, !quiet, remove_batch, &removal);
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = filter_save(&filter, out);
    if (code == EXIT_DONE) {
        filter_report(out, &filter, FILTER_REMOVED, removal.removed,
                      arguments_has(arguments, "json"), quiet);
    }
    filter_free(&filter);
    uint64_t missing = removal.missing;
    if (code != EXIT_DONE || missing == 0) return code;
    message_warn("%" PRIu64 " line%s not in %s, and could not be removed", missing,
                 missing == 1 ? " was" : "s were", path);
    return EXIT_NEGATIVE;
}

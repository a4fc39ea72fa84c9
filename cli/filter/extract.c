/* extract.c - `lethe filter extract`: the classical Bloom filter inside another. */
#include "filter/file.h"
#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "output/saved.h"
#include "say/message.h"

static int extract(const struct filter *filter, const char *path, struct filter *out) {
    *out = (struct filter){0};
    if (filter->kind->extract == NULL) {
        return message_fail(EXIT_BAD_DATA,
                            "%s is a %s filter, which has no Bloom filter inside; give one of kind "
                            "gaussian",
                            path, filter->kind->name);
    }
    lethe_bloom *bloom;
    lethe_status status = filter->kind->extract(filter->object, &bloom);
    if (status != LETHE_OK) {
        return message_fail(EXIT_ENVIRONMENT, "cannot extract the filter: %s",
                            lethe_strerror(status));
    }
    *out = (struct filter){.kind = &filter_kind_bloom, .object = bloom};
    return EXIT_DONE;
}

int run_filter_extract(const struct arguments *arguments) {
    const char *out = arguments_text(arguments, "out");
    if (out == NULL) return arguments_fail(arguments, "--out B is missing: the file to write");
    int code = saved_check("filter", out);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    struct filter filter, bloom = {0};
    code = filter_load(arguments->operands[0], &filter);
    if (code == EXIT_DONE) code = extract(&filter, arguments->operands[0], &bloom);
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = filter_save(&bloom, out);
    if (code == EXIT_DONE) {
        filter_report(out, &bloom, FILTER_MADE, 0, arguments_has(arguments, "json"),
                      arguments_has(arguments, "quiet"));
    }
    filter_free(&bloom);
    filter_free(&filter);
    return code;
}

/* filter_extract.c - `lethe filter extract`: the classical Bloom filter inside another. */
#include "arguments.h"
#include "commands.h"
#include "filter_file.h"
#include "interrupt.h"
#include "message.h"

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

static int run(const struct arguments *arguments) {
    const char *out = arguments_text(arguments, "out");
    if (out == NULL) return arguments_fail(arguments, "--out B is missing, the file to write");
    int code = filter_check_output(out);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    struct filter filter, bloom = {0};
    code = filter_load(arguments->operands[0], &filter);
    if (code == EXIT_DONE) code = extract(&filter, arguments->operands[0], &bloom);
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = filter_save(&bloom, out);
    if (code == EXIT_DONE) {
        filter_report(out, &bloom, arguments_has(arguments, "json"),
                      arguments_has(arguments, "quiet"));
    }
    filter_free(&bloom);
    filter_free(&filter);
    return code;
}

const struct command command_filter_extract = {
    .path = "filter extract",
    .summary = "write the Bloom filter inside a Gaussian one",
    .synopses = (const char *const[]){"--out B G", NULL},
    .description =
        (const char *const[]){
            "Writes to `B` the classical Bloom filter that is inside the Gaussian filter `G`: bit "
            "for bit what `lethe filter build --kind bloom` makes of the same lines with as many "
            "bits as `G` has slots, and the same hashes and seed. It is smaller by the bits of a "
            "slot, and errs more often. `B` is replaced as a whole or not at all.",
            NULL},
    .options = (const struct option[]){{.name = "out",
                                        .value = "B",
                                        .help = "the file to write",
                                        .completion = COMPLETE_FILES},
                                       OPTION_JSON("print the summary as JSON on standard output"),
                                       OPTION_QUIET,
                                       {0}},
    .examples = (const struct example[]){{"For a peer that knows only Bloom filters",
                                          "lethe filter extract --out plain.lethe gaussian.lethe"},
                                         {0}},
    .exit_done = "the filter was written",
    .operands_least = 1,
    .operands_most = 1,
    .operands = COMPLETE_FILES,
    .run = run,
};

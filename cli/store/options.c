/* options.c - the options of a store that several commands have. */
#include "count/count.h"
#include "store/store.h"

int store_read_new(const struct arguments *arguments, lethe_store_options *options) {
    int code =
        arguments_duration(arguments, "window", 1000, UINT64_C(2592000000), &options->window_ms);
    if (code == EXIT_DONE)
        code = arguments_probability(arguments, "error", 1e-12, 0.1, &options->error);
    if (code == EXIT_DONE) code = count_read_scale(arguments, &options->scale);
    options->per = arguments_text(arguments, "per");
    options->zone = arguments_text(arguments, "zone");
    options->keep = arguments_text(arguments, "keep");
    options->create = true;
    return code;
}

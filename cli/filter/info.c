/* info.c - `lethe filter info`: what a filter is and how full. */
#include "filter/file.h"
#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/exit_code.h"

int run_filter_info(const struct arguments *arguments) {
    const char *path = arguments->operands[0];
    struct filter filter;
    int code = filter_load(path, &filter);
    if (code != EXIT_DONE) return code;
    struct filter_facts facts;
    filter_describe(&filter, &facts);
    filter_free(&filter);
    if (arguments_has(arguments, "json")) {
        filter_print_json(path, &facts);
    } else {
        filter_print_text(path, &facts);
    }
    return EXIT_DONE;
}

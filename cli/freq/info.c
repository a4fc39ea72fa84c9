/* info.c - `lethe freq info`: what a sketch is and how far it errs. */
#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/exit_code.h"
#include "freq/file.h"

int run_freq_info(const struct arguments *arguments) {
    const char *path = arguments->operands[0];
    lethe_sketch *sketch;
    int code = freq_load_to_query(path, &sketch);
    if (code != EXIT_DONE) return code;
    struct freq_facts facts = freq_facts_of(sketch);
    lethe_sketch_free(sketch);
    if (arguments_has(arguments, "json")) {
        freq_print_json(path, &facts);
    } else {
        freq_print_text(path, &facts);
    }
    return EXIT_DONE;
}

/* export.c - `lethe freq export`: what answers queries, alone. */
#include <inttypes.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "freq/file.h"
#include "output/saved.h"
#include "say/human.h"
#include "say/message.h"

int run_freq_export(const struct arguments *arguments) {
    const char *out = arguments_text(arguments, "out");
    if (out == NULL) return arguments_fail(arguments, "--out Q is missing: the file to write");
    int code = saved_check("sketch", out);
    lethe_sketch *sketch = NULL;
    if (code == EXIT_DONE) code = freq_load_to_query(arguments->operands[0], &sketch);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    code = freq_export_to(sketch, out);
    struct freq_facts facts = freq_facts_of(sketch);
    lethe_sketch_free(sketch);
    if (code != EXIT_DONE) return code;
    if (arguments_has(arguments, "json")) {
        facts.stats.query_only = true;
        freq_print_json(out, &facts);
    } else if (!arguments_has(arguments, "quiet")) {
        struct human_text part, whole;
        message_note("%s: %s that answer queries, of %s", out,
                     human_bytes(facts.shape.query_memory_bytes, &part),
                     human_bytes(facts.shape.memory_bytes, &whole));
    }
    return EXIT_DONE;
}

/* operands.c - see operands.h. */
#include "frame/operands.h"

#include "frame/exit_code.h"
#include "frame/interrupt.h"
#include "output/saved.h"

int operands_look(const struct arguments *arguments, size_t first, struct inputs *out) {
    int code = inputs_look(arguments->operands + first, arguments->operand_count - first, out);
    out->takes_binary = arguments_has(arguments, "binary");
    out->is_quiet = arguments_has(arguments, "quiet");
    return code;
}

int operands_look_to_save(const struct arguments *arguments, const char *what, struct inputs *out,
                          const char **path) {
    *path = arguments_text(arguments, "out");
    int code = operands_look(arguments, 0, out);
    if (code == EXIT_DONE) code = saved_check(what, *path);
    if (code == EXIT_DONE) code = inputs_check_output(out, *path);
    if (code == EXIT_DONE) interrupt_begin();
    return code;
}

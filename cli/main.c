/* main.c - where lethe begins and ends. */
#include <stdlib.h>
#include <string.h>

#include "frame/command.h"
#include "frame/program.h"
#include "output/output.h"
#include "say/message.h"

/* Whether this is the server's program, and somebody runs it without the command that it is for. */
static bool lacks_serve(int count, char *const *words) {
    if (count == 0) return false;
    const char *slash = strrchr(words[0], '/'), *name = slash != NULL ? slash + 1 : words[0];
    return strcmp(name, PROGRAM_SERVE) == 0 && (count == 1 || strcmp(words[1], "serve") != 0);
}

static int run_serve_with(int count, char **words) {
    char serve[] = "serve", **all = calloc((size_t)count + 1, sizeof *all);
    if (all == NULL) return message_fail_memory();
    all[0] = serve;
    if (count > 1) memcpy(all + 1, words + 1, (size_t)(count - 1) * sizeof *all);
    int code = command_dispatch(count, all);
    free(all);
    return code;
}

int main(int count, char **words) {
    output_begin();
    if (lacks_serve(count, words)) return output_end(run_serve_with(count, words));
    /* A caller may pass no words at all, not even the program's name. */
    int skipped = count > 0;
    return output_end(command_dispatch(count - skipped, words + skipped));
}

/* become.c - `lethe serve` becomes the program lethe-serve: lethe itself, with the server in it.
 *
 * WHY     The server's HTTP library brings a TLS library and nine others. To load them took a fifth
 *         of the time in which any command of lethe starts, and only this one uses them. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/program.h"
#include "say/message.h"

/* What ends or reloads the server, and comes while it is being loaded, waits until it can be dealt
 * with (server/server.c). */
static void hold_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
}

int run_serve(const struct arguments *arguments) {
    char serve[] = "serve", **words = calloc(arguments->word_count + 1, sizeof *words);
    if (words == NULL) return message_fail(EXIT_ENVIRONMENT, "no memory is left");
    words[0] = serve;
    if (arguments->word_count > 0)
        memcpy(words + 1, arguments->words, arguments->word_count * sizeof *words);
    hold_signals();
    int code = program_become(PROGRAM_SERVE, words, arguments->word_count + 1);
    free(words);
    return code;
}

/* pager.c - shows long help through a pager.
 *
 * The text is made in memory first, so that a help which fits on the screen is simply printed. The
 * pager is a command line of the user's, run by the shell. If it cannot be run, the shell says so;
 * if there is none at all, the text is printed as it is. */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "frame/help.h"

static const char usual_pager[] = "less -FRX";

/* How many lines the terminal has; 0 if standard output is none. */
static size_t terminal_lines(void) {
    struct winsize size;
    const char *terminal = getenv("TERM");
    if (!isatty(STDOUT_FILENO) || terminal == NULL || strcmp(terminal, "dumb") == 0) return 0;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

static size_t count_lines(const char *text) {
    size_t lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

static const char *find_pager(void) {
    const char *names[] = {"LETHE_PAGER", "PAGER"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *pager = getenv(names[i]);
        if (pager != NULL && pager[0] != '\0') return pager;
    }
    return usual_pager;
}

/* Whether the pager took the text: with status 127 the shell found no such command. */
static bool page(const char *text) {
    /* A reader who leaves early closes the pipe: that is no reason to die. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    FILE *pager = popen(find_pager(), "w"); // NOLINT(cert-env33-c): the user's own command
    bool done = false;
    if (pager != NULL) {
        fputs(text, pager);
        int status = pclose(pager);
        done = status != -1 && !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
    }
    signal(SIGPIPE, before);
    return done;
}

void help_show(const struct command *command) {
    size_t lines = terminal_lines(), size;
    char *text = NULL;
    FILE *memory = lines > 0 ? open_memstream(&text, &size) : NULL;
    if (memory != NULL) {
        help_print(command, memory);
        bool is_made = fclose(memory) == 0 && text != NULL;
        bool is_shown = is_made && count_lines(text) >= lines && page(text);
        if (is_made && !is_shown) fputs(text, stdout);
        free(text);
        if (is_made) return;
    }
    help_print(command, stdout);
}

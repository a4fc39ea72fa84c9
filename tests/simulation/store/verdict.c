/* simulation/store/verdict.c - a broken rule ends the process of the run at once.
 *
 * WHY     Each run has a process of its own, so that a crash of the code under test is found
 *         like a broken rule, and nothing has to be tidied up after either. The first line says
 *         which rule: shrinking keeps to it. */
#include "simulation/store/verdict.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

bool verdict_is_told;
static unsigned step;

void verdict_at_step(unsigned number) {
    step = number;
}

void verdict_fail(const char *rule, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("rule %s, in step %u: %s\n", rule, step, text);
    (void)fflush(stdout);
    _exit(1);
}

const char *verdict_of_signal(int number) {
    return number == SIGALRM || number == SIGXCPU ? "hang" : "crash";
}

void verdict_tell(const char *format, ...) {
    if (!verdict_is_told) return;
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)putchar('\n');
}

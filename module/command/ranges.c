/* module/command/ranges.c - reads arguments by their ranges, and says what is wrong with them.
 *
 * IDEA    An error names the argument, the value that was given and the range: whoever reads a log
 *         need not guess which word of a long command was meant. A value comes from a client, so
 *         it is shortened, and bytes that could break a log or a terminal are shown as \xNN.
 * LIMIT   The text of an error is in one buffer. Commands run one at a time, in one thread, and
 *         each replies with its first error. */
#include "command/ranges.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/errors.h"

static char problem[PROBLEM_BYTES];

void range_text(const struct range *range, char text[RANGE_TEXT_BYTES]) {
    const char *more = range->more != NULL ? range->more : "";
    if (range->kind == RANGE_TEXT) {
        snprintf(text, RANGE_TEXT_BYTES, "%s", more);
        return;
    }
    snprintf(text, RANGE_TEXT_BYTES, "%" PRId64 " to %" PRIu64 "%s%s%s", range->least, range->most,
             range->kind == RANGE_BYTES ? " bytes" : "", range->is_nonzero ? ", not 0" : "", more);
}

const char *show_word(const redis_string *word, char shown[SHOWN_BYTES]) {
    size_t size, used = 0;
    const char *text = redis.StringPtrLen(word, &size);
    enum { MOST = 40 };
    for (size_t i = 0; i < size && i < MOST; i++) {
        unsigned char letter = (unsigned char)text[i];
        bool is_plain = letter >= ' ' && letter <= '~' && letter != '\'' && letter != '\\';
        used +=
            (size_t)snprintf(shown + used, SHOWN_BYTES - used, is_plain ? "%c" : "\\x%02x", letter);
    }
    snprintf(shown + used, SHOWN_BYTES - used, "%s", size > MOST ? "..." : "");
    return shown;
}

const char *value_problem(const char *name, const redis_string *value, const char *range) {
    char shown[SHOWN_BYTES];
    snprintf(problem, sizeof problem, ERROR_VALUE("%s", "%s", "%s"), show_word(value, shown), name,
             range);
    return problem;
}

const char *range_problem(const struct range *range, const char *name, const redis_string *value) {
    char text[RANGE_TEXT_BYTES];
    range_text(range, text);
    return value_problem(name, value, text);
}

const char *range_number(const struct range *range, const char *name, const redis_string *value,
                         int64_t *out) {
    long long number;
    bool is_number = redis.StringToLongLong(value, &number) == REDIS_OK;
    if (is_number && number >= range->least && (number < 0 || (uint64_t)number <= range->most) &&
        !(range->is_nonzero && number == 0)) {
        *out = number;
        return NULL;
    }
    return range_problem(range, name, value);
}

const char *range_size(const struct range *range, const char *name, const redis_string *value) {
    size_t size;
    (void)redis.StringPtrLen(value, &size);
    bool is_within = size >= (uint64_t)range->least && size <= range->most;
    return is_within ? NULL : range_problem(range, name, value);
}

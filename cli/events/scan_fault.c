/* scan_fault.c - says what is wrong with a line of JSON: what, at which byte, and what to do. */
#include <stdio.h>
#include <string.h>

#include "events/scan.h"

/* What is at the fault, and what to do. */
static const struct {
    const char *what, *advice;
} texts[] = {
    [SCAN_NO_NAME] = {"no member's name", "write it in double quotes, and no comma after the last "
                                          "member"},
    [SCAN_NO_COLON] = {"no colon after a member's name", "write \"name\": value"},
    [SCAN_NO_COMMA] = {"neither a comma nor the end of the object or list",
                       "check the quotes and commas before it"},
    [SCAN_NO_VALUE] = {"no value", "write a string in double quotes, a number, true, false, null, "
                                   "an object or a list, and no comma after the last one"},
    [SCAN_BAD_NUMBER] = {"not a number as JSON writes them",
                         "write one such as 5, -5, 0.5 or 5e3, without a leading zero"},
    [SCAN_NOT_UTF8] = {"not UTF-8", "convert the file to UTF-8, as `iconv -t UTF-8` does"},
    [SCAN_TOO_DEEP] = {"values nested more than 1024 deep", "write flatter ones"},
    [SCAN_MORE] = {"more after the object", "write one object per line"},
};

_Static_assert(SCAN_DEPTH_LIMIT == 1024, "as the text says");

static void explain_end(size_t size, struct event_problem *problem) {
    event_problem_set(problem,
                      "not JSON: the line ends at byte %zu, before its object does; write each "
                      "object whole, and in one line",
                      size);
}

/* A line that does not begin as an object does. */
static void explain_start(struct event_problem *problem) {
    event_problem_set(problem, "the line is not a JSON object; write {\"id\": ..., \"key\": ...}");
}

static void explain_string(const struct scan_failure *failure, size_t byte,
                           struct event_problem *problem) {
    const char *at = failure->at;
    struct event_excerpt excerpt;
    if (failure->fault == SCAN_BAD_CONTROL) {
        event_problem_set(problem,
                          "not JSON at byte %zu: a control character in a string, or a quote is "
                          "missing before it; write it as \\u%04x",
                          byte, (unsigned)(unsigned char)*at);
        return;
    }
    /* An excerpt would double the backslash that this is about. */
    size_t size = strnlen(at + 1, failure->fault == SCAN_HALF_SURROGATE ? 5 : 1);
    event_problem_set(problem, "not JSON at byte %zu: '\\%s' is %s", byte,
                      event_excerpt((lethe_bytes){at + 1, size}, &excerpt),
                      failure->fault == SCAN_HALF_SURROGATE
                          ? "half of a surrogate pair; write both halves"
                          : "not an escape; write a backslash as two");
}

void scan_explain(const struct scan_failure *failure, lethe_bytes line, const char *member,
                  struct event_problem *problem) {
    const char *start = line.data, *at = failure->at;
    size_t byte = (size_t)(at - start) + 1;
    if (failure->fault == SCAN_TWICE) {
        event_problem_set(problem,
                          "the member '%s' is there again at byte %zu; give it once in an object",
                          member, byte);
    } else if (byte > line.size && failure->fault == SCAN_NO_OBJECT) {
        event_problem_set(problem, "the line is empty; remove it");
    } else if (byte > line.size) {
        explain_end(line.size, problem);
    } else if (failure->fault == SCAN_NO_OBJECT) {
        explain_start(problem);
    } else if (failure->fault == SCAN_BAD_CONTROL || failure->fault == SCAN_BAD_ESCAPE ||
               failure->fault == SCAN_HALF_SURROGATE) {
        explain_string(failure, byte, problem);
    } else {
        event_problem_set(problem, "not JSON at byte %zu: %s; %s", byte, texts[failure->fault].what,
                          texts[failure->fault].advice);
    }
}

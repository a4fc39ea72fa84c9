/* elements.c - where the objects of a JSON array begin and end; see elements.h.
 *
 * WHY     Brackets of both kinds are counted together: `{]` is left to the scan, which refuses it.
 *         So an element that is taken for too long or too short never passes as another one. */
#include "events/elements.h"

#include <string.h>

struct event_elements event_elements_begin(lethe_bytes text) {
    return (struct event_elements){
        .at = text.data, .end = (const char *)text.data + text.size, .line = 1};
}

static void skip_space(struct event_elements *elements) {
    for (; elements->at < elements->end; elements->at++) {
        char byte = *elements->at;
        if (byte == '\n') elements->line++;
        if (byte != ' ' && byte != '\t' && byte != '\n' && byte != '\r') return;
    }
}

/* The place after the string whose first quote is at `at`; NULL if it does not end. */
static const char *skip_string(const char *at, const char *end) {
    for (at++; at < end; at++) {
        if (*at == '"') return at + 1;
        if (*at == '\\') at++;
    }
    return NULL;
}

/* Passes over what is within brackets, whose first one is at `at`; false if they do not end. */
static bool skip_brackets(struct event_elements *elements) {
    size_t open = 0;
    while (elements->at < elements->end) {
        char byte = *elements->at;
        if (byte == '"') {
            elements->at = skip_string(elements->at, elements->end);
            if (elements->at == NULL) return false;
            continue;
        }
        elements->at++;
        if (byte == '\n') elements->line++;
        if (byte == '{' || byte == '[') open++;
        if (byte == '}' || byte == ']') open--;
        if (open == 0) return true;
    }
    return false;
}

static enum element_result reject(struct event_elements *elements, const char *reason) {
    elements->reason = reason;
    elements->element_line = elements->line;
    return ELEMENT_BAD;
}

enum element_result event_elements_next(struct event_elements *elements, lethe_bytes *out) {
    bool is_first = !elements->has_begun;
    skip_space(elements);
    if (is_first) {
        if (elements->at == elements->end || *elements->at != '[')
            return reject(elements, "this is not an array");
        elements->has_begun = true;
        elements->at++;
        skip_space(elements);
    }
    if (elements->at == elements->end) return reject(elements, "the array does not end");
    if (*elements->at == ']') {
        elements->at++;
        return ELEMENT_END;
    }
    if (!is_first) {
        if (*elements->at != ',')
            return reject(elements, "a comma or the end of the array is missing");
        elements->at++;
        skip_space(elements);
    }
    if (elements->at == elements->end || *elements->at != '{')
        return reject(elements, "an element of the array is not an object");
    const char *start = elements->at;
    elements->element_line = elements->line;
    if (!skip_brackets(elements)) return reject(elements, "an object does not end");
    *out = (lethe_bytes){.data = start, .size = (size_t)(elements->at - start)};
    return ELEMENT_FOUND;
}

char event_first_byte(lethe_bytes text) {
    struct event_elements elements = event_elements_begin(text);
    skip_space(&elements);
    return elements.at < elements.end ? *elements.at : '\0';
}

bool event_is_one_value(lethe_bytes text) {
    struct event_elements elements = event_elements_begin(text);
    skip_space(&elements);
    if (elements.at == elements.end) return false;
    if (*elements.at == '{' || *elements.at == '[') {
        if (!skip_brackets(&elements)) return false;
    } else if (*elements.at == '"') {
        elements.at = skip_string(elements.at, elements.end);
        if (elements.at == NULL) return false;
    } else {
        while (elements.at < elements.end && strchr(",:]} \t\r\n", *elements.at) == NULL) {
            elements.at++;
        }
    }
    skip_space(&elements);
    return elements.at == elements.end;
}

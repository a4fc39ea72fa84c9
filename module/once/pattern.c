/* module/once/pattern.c - whether a name matches a pattern, as the server's own commands have
 * them.
 *
 * A pattern has the wild cards * and ?, sets of characters in brackets, and a backslash before
 * any of them. Only the last * is ever gone back to, so the cost is at most the product of both
 * sizes. */
#include "once/pattern.h"

static bool matches_set(const char **pattern, const char *end, char letter) {
    const char *at = *pattern + 1;
    bool is_negated = at < end && *at == '^', is_in = false;
    if (is_negated) at++;
    for (; at < end && *at != ']'; at++) {
        if (*at == '\\' && at + 1 < end) {
            at++;
            is_in = is_in || *at == letter;
        } else if (at + 2 < end && at[1] == '-' && at[2] != ']') {
            char low = at[0] < at[2] ? at[0] : at[2], high = at[0] < at[2] ? at[2] : at[0];
            is_in = is_in || (letter >= low && letter <= high);
            at += 2;
        } else {
            is_in = is_in || *at == letter;
        }
    }
    *pattern = at < end ? at + 1 : at;
    return is_in != is_negated;
}

bool pattern_matches(const char *pattern, size_t pattern_size, const char *text, size_t size) {
    const char *end = pattern + pattern_size, *text_end = text + size;
    /* To go back to: after the last *, and the text after what it has taken. */
    const char *star = NULL, *star_text = NULL;
    for (;;) {
        bool is_good;
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            star_text = text;
            continue;
        }
        if (text == text_end) return pattern == end;
        if (pattern == end) {
            is_good = false;
        } else if (*pattern == '?') {
            pattern++;
            is_good = true;
        } else if (*pattern == '[') {
            is_good = matches_set(&pattern, end, *text);
        } else {
            if (*pattern == '\\' && pattern + 1 < end) pattern++;
            is_good = *pattern++ == *text;
        }
        if (is_good) {
            text++;
        } else if (star != NULL && star_text < text_end) {
            pattern = star;
            text = ++star_text;
        } else {
            return false;
        }
    }
}

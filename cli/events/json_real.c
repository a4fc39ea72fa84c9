/* json_real.c - finds a number again in the text that it was parsed from.
 *
 * IDEA    A tree and its text have their real numbers in the same order. So the number of reals
 *         before the wanted one, counted in the tree, leads to it in the text.
 * WHY     Such numbers are rare; the text is searched only for them. The text is known to be JSON:
 *         outside of strings, a letter that belongs to a number is a part of one. */
#include "events/json_real.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Whether `wanted` is in the tree at `node`; otherwise adds its reals to *before. Jansson keeps the
 * members of an object in their order, and goes no deeper than 2048. */
static bool count_before(const json_t *node, const json_t *wanted, size_t *before) {
    if (node == wanted) return true;
    *before += json_is_real(node);
    for (size_t i = 0; i < json_array_size(node); i++) {
        if (count_before(json_array_get(node, i), wanted, before)) return true;
    }
    if (!json_is_object(node)) return false;
    json_t *object = (json_t *)(uintptr_t)node; /* the iterator only reads it */
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        if (count_before(json_object_iter_value(at), wanted, before)) return true;
    }
    return false;
}

/* The end of a string whose first quote is before `at`. */
static const char *skip_string(const char *at, const char *end) {
    for (; at < end && *at != '"'; at++) {
        at += *at == '\\';
    }
    return at < end ? at + 1 : end;
}

static bool is_number_start(char letter) {
    return letter == '-' || (letter >= '0' && letter <= '9');
}

static bool is_number_part(char letter) {
    return is_number_start(letter) || letter == '+' || letter == '.' || letter == 'e' ||
           letter == 'E';
}

lethe_bytes event_json_real(const json_t *root, const json_t *wanted, lethe_bytes text) {
    const char *at = text.data, *end = at + text.size;
    size_t before = 0, seen = 0;
    if (!count_before(root, wanted, &before)) return (lethe_bytes){0};
    while (at < end) {
        const char *from = at++;
        if (*from == '"') at = skip_string(at, end);
        if (!is_number_start(*from)) continue;
        while (at < end && is_number_part(*at)) {
            at++;
        }
        size_t size = (size_t)(at - from);
        bool is_real = memchr(from, '.', size) != NULL || memchr(from, 'e', size) != NULL ||
                       memchr(from, 'E', size) != NULL;
        if (is_real && seen++ == before) return (lethe_bytes){.data = from, .size = size};
    }
    return (lethe_bytes){0};
}

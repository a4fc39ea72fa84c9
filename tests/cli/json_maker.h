/* json_maker.h - random JSON for tests: small names and values that are asked for, and all else
 * that there is. */
#ifndef LETHE_TESTS_CLI_JSON_MAKER_H
#define LETHE_TESTS_CLI_JSON_MAKER_H

#include <stdbool.h>
#include <stddef.h>

#include "support/random.h"

struct json_maker {
    struct test_random random;
    char *text;
    size_t size, room;
    /* Of lines: their members may be anything; and values have no space around them. */
    bool is_odd, is_tidy;
};

/* Appends a text, or a random value; nothing where there is no room. */
void json_put(struct json_maker *maker, const char *text);
void json_put_value(struct json_maker *maker, unsigned depth);
/* Changes, takes out or doubles a byte, or cuts off the rest. */
void json_damage(struct json_maker *maker);
/* Appends an event and its line end: id, key, delta, t, b, a with members of its own, source, and
 * some others, now and then in another order. Of a hundred so many are damaged in some way. */
void json_put_line(struct json_maker *maker, unsigned damages);

#endif

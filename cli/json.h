/* json.h - writes one JSON object, on one line, to standard output.
 *
 * Bytes that are not UTF-8, as a file name may have, become U+FFFD. An infinite or undefined number becomes
 * null. Integers are written exactly; a reader that keeps numbers in doubles rounds those
 * above 2^53, so what is 64 random bits (a seed) should be written as a string. */
#ifndef LETHE_CLI_JSON_H
#define LETHE_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *stream;
    bool has_members;
};

struct json json_begin(FILE *stream);
void json_string(struct json *json, const char *key, const char *value);
void json_integer(struct json *json, const char *key, uint64_t value);
void json_real(struct json *json, const char *key, double value);
void json_null(struct json *json, const char *key);
void json_end(struct json *json);

#endif

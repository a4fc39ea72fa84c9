/* json.h - writes one JSON object, on one line, to a stream.
 *
 * Bytes that are not UTF-8, as a file name may have, become U+FFFD. An infinite or undefined number
 * becomes null. Integers are written exactly; a reader that keeps numbers in doubles rounds those
 * above 2^53, so what is 64 random bits (a seed) should be written as a string. */
#ifndef LETHE_CLI_SAY_JSON_H
#define LETHE_CLI_SAY_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lethe/hash.h"

struct json {
    FILE *stream;
    bool has_members;
};

struct json json_begin(FILE *stream);
void json_string(struct json *json, const char *key, const char *value);
/* A string of any bytes. If they are not UTF-8, a second member, KEY_hex, has them exactly. */
void json_bytes(struct json *json, const char *key, lethe_bytes value);
void json_integer(struct json *json, const char *key, uint64_t value);
/* As a string such as "0x0123456789abcdef": not every reader of JSON keeps 64 bits of a number. */
void json_hex(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
/* A number as it is written: digits, with a point among them perhaps. */
void json_number(struct json *json, const char *key, const char *digits);
void json_boolean(struct json *json, const char *key, bool value);
void json_real(struct json *json, const char *key, double value);
void json_null(struct json *json, const char *key);
/* An array of objects as a member: json_array, then json_item and its members for each, then
 * json_array_end. */
void json_array(struct json *json, const char *key);
void json_item(struct json *json);
void json_item_end(struct json *json);
void json_array_end(struct json *json);
void json_end(struct json *json);

#endif

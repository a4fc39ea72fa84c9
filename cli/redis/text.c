/* text.c - writes the servers' protocol, RESP: *words, then $size and the bytes of each. */
#include "redis/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 32 }; /* of any number with its sign, letter and line end */

static bool reserve(struct redis_text *text, size_t more) {
    if (text->is_short_of_memory) return false;
    if (text->capacity - text->size >= more) return true;
    size_t capacity = 2 * (text->size + more);
    char *larger = capacity > more ? realloc(text->data, capacity) : NULL;
    if (larger == NULL) {
        text->is_short_of_memory = true;
        return false;
    }
    text->data = larger;
    text->capacity = capacity;
    return true;
}

/* Writes a letter, a number and the end of the line: there is room. */
static void put_head(struct redis_text *text, char letter, size_t number) {
    char digits[HEAD_BYTES];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    char *to = text->data + text->size;
    *to++ = letter;
    while (count > 0) {
        *to++ = digits[--count];
    }
    *to++ = '\r';
    *to++ = '\n';
    text->size = (size_t)(to - text->data);
}

void redis_text_begin(struct redis_text *text, size_t words) {
    if (reserve(text, HEAD_BYTES)) put_head(text, '*', words);
}

void redis_text_word(struct redis_text *text, lethe_bytes word) {
    if (!reserve(text, HEAD_BYTES + word.size + 2)) return;
    put_head(text, '$', word.size);
    if (word.size > 0) memcpy(text->data + text->size, word.data, word.size);
    memcpy(text->data + text->size + word.size, "\r\n", 2);
    text->size += word.size + 2;
}

void redis_text_string(struct redis_text *text, const char *word) {
    redis_text_word(text, (lethe_bytes){.data = word, .size = strlen(word)});
}

void redis_text_number(struct redis_text *text, int64_t number) {
    /* Most deltas are small. */
    if (number >= 0 && number <= 9) {
        char digit = (char)('0' + number);
        redis_text_word(text, (lethe_bytes){.data = &digit, .size = 1});
        return;
    }
    char digits[HEAD_BYTES];
    int size = snprintf(digits, sizeof digits, "%" PRId64, number);
    redis_text_word(text, (lethe_bytes){.data = digits, .size = (size_t)size});
}

void redis_text_count(struct redis_text *text, uint64_t number) {
    char digits[HEAD_BYTES];
    int size = snprintf(digits, sizeof digits, "%" PRIu64, number);
    redis_text_word(text, (lethe_bytes){.data = digits, .size = (size_t)size});
}

void redis_text_real(struct redis_text *text, double number) {
    char digits[HEAD_BYTES];
    int size = snprintf(digits, sizeof digits, "%.17g", number);
    redis_text_word(text, (lethe_bytes){.data = digits, .size = (size_t)size});
}

void redis_text_clear(struct redis_text *text) {
    text->size = 0;
}

void redis_text_free(struct redis_text *text) {
    free(text->data);
    *text = (struct redis_text){0};
}

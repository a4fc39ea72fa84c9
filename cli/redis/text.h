/* text.h - commands as the servers read them, put together in memory that grows. */
#ifndef LETHE_CLI_REDIS_TEXT_H
#define LETHE_CLI_REDIS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

/* All zero is an empty one. Once memory was short it stays so, and must not be sent. */
struct redis_text {
    char *data;
    size_t size, capacity;
    bool is_short_of_memory;
};

/* Begins a command of so many words. */
void redis_text_begin(struct redis_text *text, size_t words);
void redis_text_word(struct redis_text *text, lethe_bytes word);
void redis_text_string(struct redis_text *text, const char *word);
void redis_text_number(struct redis_text *text, int64_t number);
/* A number of 64 bits without a sign, or one with a fraction. */
void redis_text_count(struct redis_text *text, uint64_t number);
void redis_text_real(struct redis_text *text, double number);

/* Empties it, and keeps the memory. */
void redis_text_clear(struct redis_text *text);
void redis_text_free(struct redis_text *text);

#endif

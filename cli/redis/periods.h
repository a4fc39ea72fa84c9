/* periods.h - the periods that a table in a server counts per: their names here and there, where
 * they begin. periods.c has the essay. Times are milliseconds since 1970, in UTC. */
#ifndef LETHE_CLI_REDIS_PERIODS_H
#define LETHE_CLI_REDIS_PERIODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REDIS_PERIODS_LIMIT = 4, REDIS_PERIOD_BYTES = 32, REDIS_PERIODS_BYTES = 160 };

/* The length of a calendar month, which has no fixed one. */
#define REDIS_MONTH UINT64_MAX

struct redis_period {
    uint64_t length_ms;
    /* How many buckets a counter keeps; 0: the server's default, which is the most. */
    uint64_t keep;
};

struct redis_periods {
    size_t count;
    struct redis_period each[REDIS_PERIODS_LIMIT];
};

/* Reads what people write: 1h, 15m, 1d, 1mo. */
bool redis_period_parse(const char *text, size_t size, uint64_t *length_ms);
/* Writes the same, the shortest way. */
void redis_period_name(uint64_t length_ms, char out[REDIS_PERIOD_BYTES]);
/* Writes the word of ONCE.CREATE: hour, day, month or a number. */
void redis_period_word(uint64_t length_ms, char out[REDIS_PERIOD_BYTES]);

/* When the period began that a time is in, and when the one after it begins. */
uint64_t redis_period_start(uint64_t length_ms, uint64_t time_ms);
uint64_t redis_period_next(uint64_t length_ms, uint64_t start_ms);

/* Reads --per and --keep, such as 1h,1mo and 1h=90d; either may be NULL. Returns what is wrong, or
 * NULL. */
const char *redis_periods_parse(const char *per, const char *keep, struct redis_periods *out);
/* Reads and writes what ONCE.INFO has: "hour:48,month:100000", or "none". */
bool redis_periods_read(const char *text, struct redis_periods *out);
void redis_periods_write(const struct redis_periods *periods, char out[REDIS_PERIODS_BYTES]);

#endif

/* human.h - numbers as people read them, for messages and progress; never for JSON. */
#ifndef LETHE_CLI_SAY_HUMAN_H
#define LETHE_CLI_SAY_HUMAN_H

#include <stdint.h>

/* Room for any text that these functions write. They return it, for use within a printf. */
struct human_text {
    char text[32];
};

/* 1536 -> "1.5 KiB". */
const char *human_bytes(uint64_t bytes, struct human_text *out);

/* 12345678 -> "12.3M"; below 10000 exactly. */
const char *human_count(double count, struct human_text *out);

/* 75 -> "1:15", 3700 -> "1:01:40". */
const char *human_seconds(double seconds, struct human_text *out);

/* 5400000 -> "90m": the largest unit that is exact. */
const char *human_duration(uint64_t ms, struct human_text *out);

/* 0.012345 -> "1.23%", 1.5e-6 -> "1.5e-06": a probability to three digits. */
const char *human_probability(double probability, struct human_text *out);

#endif

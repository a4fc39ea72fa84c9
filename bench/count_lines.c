/* bench/count_lines.c - makes up lines of events; see count_lines.h.
 *
 * WHY     A process that writes to a pipe (count_feed.c) must be faster than `lethe count` reads.
 *         So eight hexadecimal digits are made at a time, in the bytes of one word; and keys are
 *         drawn before, since that takes cache misses, as does adding up what a key should have. */
#include "count_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "keys.h"

static uint64_t next_random(struct count_maker *maker) {
    return keys_scramble(maker->random += UINT64_C(0x9e3779b97f4a7c15));
}

static void put_hexadecimal(char to[8], uint32_t value) {
    uint64_t digits = value;
    digits = (digits << 16 | digits) & UINT64_C(0x0000ffff0000ffff);
    digits = (digits << 8 | digits) & UINT64_C(0x00ff00ff00ff00ff);
    digits = (digits << 4 | digits) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t letters = (digits + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    digits += UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10);
    for (int i = 0; i < 8; i++)
        to[i] = (char)(digits >> (56 - 8 * i));
}

/* A random UUID, of version 4 of the standard. */
static void put_id(char *to, uint64_t seed, uint64_t number) {
    uint64_t high = keys_scramble(seed ^ keys_scramble(2 * number)),
             low = keys_scramble(seed ^ keys_scramble(2 * number + 1));
    uint32_t last = (uint32_t)low, third = 0x4000 | (uint32_t)(high & 0xfff),
             fourth = 0x8000 | (uint32_t)(low >> 48 & 0x3fff);
    char digits[32];
    put_hexadecimal(digits, (uint32_t)(high >> 32));
    put_hexadecimal(digits + 8, (uint32_t)(high & 0xffff0000) | third);
    put_hexadecimal(digits + 16, fourth << 16 | (uint32_t)(low >> 32 & 0xffff));
    put_hexadecimal(digits + 24, last);
    memcpy(to, digits, 8);
    to[8] = '-';
    memcpy(to + 9, digits + 8, 4);
    to[13] = '-';
    memcpy(to + 14, digits + 12, 4);
    to[18] = '-';
    memcpy(to + 19, digits + 16, 4);
    to[23] = '-';
    memcpy(to + 24, digits + 20, 12);
}

static void make_digits(char digits[10000][4]) {
    for (int number = 0; number < 10000; number++) {
        int left = number;
        for (int i = 3; i >= 0; i--, left /= 10)
            digits[number][i] = (char)('0' + left % 10);
    }
}

/* Of one length, so that the order of the keys is that of their ranks. */
static void put_key(const struct count_maker *maker, char *to, uint32_t rank) {
    memcpy(to, "page-", 5);
    memcpy(to + 5, maker->digits[rank / 10000] + 1, 3);
    memcpy(to + 8, maker->digits[rank % 10000], 4);
}

/* What an original counts. */
struct part {
    uint32_t rank;
    int delta;
};

enum { DELTA_BITS = 4, MOST_PREPARED = 1 << 24 };

static struct part draw(struct count_maker *maker, uint64_t number) {
    uint64_t own = keys_scramble(maker->seed + keys_scramble(number));
    maker->zipf.state = own;
    return (struct part){.rank = zipf_next(&maker->zipf), .delta = 1 + (int)(own % 9)};
}

static struct part unpack(uint32_t packed) {
    return (struct part){.rank = packed >> DELTA_BITS,
                         .delta = (int)(packed & ((1 << DELTA_BITS) - 1))};
}

static void add(struct count_maker *maker, struct part part, uint64_t times) {
    int64_t more = part.delta * (int64_t)times;
    maker->sums[part.rank] += more;
    maker->sum += more;
}

static void put_line(const struct count_maker *maker, char *to, uint64_t number, struct part part) {
    put_id(to, maker->seed, number);
    to[COUNT_KEY_AT - 1] = '\t';
    put_key(maker, to + COUNT_KEY_AT, part.rank);
    to[COUNT_DELTA_AT - 1] = '\t';
    to[COUNT_DELTA_AT] = (char)('0' + part.delta);
    to[COUNT_DELTA_AT + 1] = '\n';
}

void count_maker_open(struct count_maker *maker, uint64_t seed) {
    *maker = (struct count_maker){.seed = keys_scramble(seed), .random = seed};
    zipf_init(&maker->zipf, COUNT_KEYS, 0);
    maker->sums = calloc(COUNT_KEYS, sizeof *maker->sums);
    bench_require(maker->sums != NULL, "allocating");
    make_digits(maker->digits);
}

void count_maker_prepare(struct count_maker *maker, uint64_t events) {
    uint64_t count = events < MOST_PREPARED ? events : MOST_PREPARED;
    maker->prepared = calloc(count + 1, sizeof *maker->prepared);
    bench_require(maker->prepared != NULL, "allocating");
    for (uint64_t i = 0; i < count; i++) {
        struct part part = draw(maker, i);
        maker->prepared[i] = part.rank << DELTA_BITS | (uint32_t)part.delta;
    }
}

void count_maker_close(struct count_maker *maker) {
    zipf_drop(&maker->zipf);
    free(maker->sums);
    free(maker->prepared);
}

static uint64_t choose(struct count_maker *maker, struct count_repeats repeats) {
    uint64_t random = next_random(maker), reach = maker->originals;
    if (reach == 0 || random % 10 >= repeats.in_ten) return maker->originals;
    if (repeats.reach > 0 && repeats.reach < reach) reach = repeats.reach;
    return maker->originals - reach + next_random(maker) % reach;
}

void count_maker_put(struct count_maker *maker, struct count_repeats repeats, char *to) {
    uint64_t number = choose(maker, repeats);
    bool is_original = number == maker->originals, is_prepared = maker->prepared != NULL;
    struct part part =
        is_prepared ? unpack(maker->prepared[number % MOST_PREPARED]) : draw(maker, number);
    put_line(maker, to, number, part);
    if (is_original && !is_prepared) add(maker, part, 1);
    if (is_original) maker->originals++;
}

void count_maker_finish(struct count_maker *maker) {
    if (maker->prepared == NULL) return;
    uint64_t rounds = maker->originals / MOST_PREPARED, rest = maker->originals % MOST_PREPARED;
    uint64_t used = rounds > 0 ? MOST_PREPARED : rest;
    for (uint64_t i = 0; i < used; i++)
        add(maker, unpack(maker->prepared[i]), rounds + (i < rest));
}

void count_maker_write_truth(const struct count_maker *maker, const char *path) {
    FILE *file = fopen(path, "w");
    bench_require(file != NULL, "making a file");
    for (uint32_t rank = 0; rank < COUNT_KEYS; rank++) {
        char key[COUNT_KEY_BYTES];
        put_key(maker, key, rank);
        if (maker->sums[rank] == 0) continue;
        fprintf(file, "%.*s\t%" PRId64 "\n", COUNT_KEY_BYTES, key, maker->sums[rank]);
    }
    bench_require(fclose(file) == 0, "writing a file");
}

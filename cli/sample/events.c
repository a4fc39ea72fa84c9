/* events.c - `lethe sample events`: a stream of events with retries, and its true totals.
 *
 * Keys follow Zipf's law with exponent 1, drawn in one step from a table (Vose's alias method): a
 * random place, and with some probability the other key that shares it. A retry repeats one of the
 * last RECENT originals. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "output/output.h"
#include "say/message.h"

enum { RECENT = 1024, LINE_BYTES = 64, BUFFER_BYTES = 1 << 16 };

struct event {
    uint64_t number;
    uint32_t key;
    unsigned delta;
};

struct sample {
    uint64_t count, keys, seed;
    double retries;
    uint64_t state; /* of the random numbers */
    uint32_t *alias;
    uint32_t *share; /* of 2^32: how often a place keeps its own key */
    int64_t *totals;
    struct event recent[RECENT];
    uint64_t originals;
};

/* A bijection that makes neighbours look unrelated (the finaliser of SplitMix64). */
static uint64_t mix(uint64_t value) {
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static uint64_t next_random(struct sample *sample) {
    sample->state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(sample->state);
}

/* A random number below limit, which is at most 2^32. */
static uint32_t next_below(struct sample *sample, uint64_t limit) {
    return (uint32_t)(((next_random(sample) >> 32) * limit) >> 32);
}

/* Fills the alias table: places with less than their share are topped up by those with more. */
static bool make_table(struct sample *sample) {
    size_t keys = (size_t)sample->keys;
    double *weight = malloc(keys * sizeof *weight);
    uint32_t *places = malloc(keys * sizeof *places);
    bool fine = weight != NULL && places != NULL;
    double sum = 0;
    for (size_t i = 0; fine && i < keys; i++) {
        sum += 1 / (double)(i + 1);
    }
    size_t small = 0, large = keys; /* places[0..small) need more, places[large..keys) have more */
    for (size_t i = 0; fine && i < keys; i++) {
        weight[i] = (double)keys / ((double)(i + 1) * sum);
        places[weight[i] < 1 ? small++ : --large] = (uint32_t)i;
        sample->alias[i] = (uint32_t)i;
        sample->share[i] = UINT32_MAX;
    }
    while (fine && small > 0 && large < keys) {
        uint32_t poor = places[--small], rich = places[large];
        sample->share[poor] = (uint32_t)(weight[poor] * 4294967295.0);
        sample->alias[poor] = rich;
        weight[rich] -= 1 - weight[poor];
        if (weight[rich] < 1) {
            large++;
            places[small++] = rich;
        }
    }
    free(weight);
    free(places);
    return fine;
}

static struct event next_event(struct sample *sample) {
    uint64_t chance = next_random(sample);
    if (sample->originals > 0 && (double)(chance >> 11) * 0x1p-53 < sample->retries) {
        uint64_t kept = sample->originals < RECENT ? sample->originals : RECENT;
        return sample->recent[(sample->originals - 1 - next_below(sample, kept)) % RECENT];
    }
    uint32_t place = next_below(sample, sample->keys);
    bool is_own = (uint32_t)next_random(sample) <= sample->share[place];
    struct event event = {.number = sample->originals,
                          .key = is_own ? place : sample->alias[place],
                          .delta = 1 + next_below(sample, 9)};
    sample->recent[sample->originals++ % RECENT] = event;
    sample->totals[event.key] += event.delta;
    return event;
}

static char *put_hexadecimal(char *to, uint64_t value, int digits) {
    for (int i = digits - 1; i >= 0; i--) {
        *to++ = "0123456789abcdef"[value >> (4 * i) & 15];
    }
    return to;
}

/* "page-000042": of one length, so that the order of the keys is that of their numbers. */
static char *put_key(char *to, uint32_t key) {
    static const char prefix[] = {'p', 'a', 'g', 'e', '-'};
    memcpy(to, prefix, sizeof prefix);
    for (int i = 11; i >= 5; i--, key /= 10) {
        to[i] = (char)('0' + key % 10);
    }
    return to + 12;
}

static char *put_line(char *to, uint64_t seed, const struct event *event) {
    uint64_t high = mix(seed ^ mix(2 * event->number)),
             low = mix(seed ^ mix(2 * event->number + 1));
    to = put_hexadecimal(to, high >> 32, 8);
    *to++ = '-';
    to = put_hexadecimal(to, high >> 16 & 0xffff, 4);
    *to++ = '-';
    to = put_hexadecimal(to, 0x4000 | (high & 0xfff), 4); /* version 4 */
    *to++ = '-';
    to = put_hexadecimal(to, 0x8000 | (low >> 48 & 0x3fff), 4);
    *to++ = '-';
    to = put_hexadecimal(to, low & UINT64_C(0xffffffffffff), 12);
    *to++ = '\t';
    to = put_key(to, event->key);
    *to++ = '\t';
    *to++ = (char)('0' + event->delta);
    *to++ = '\n';
    return to;
}

static int print_events(struct sample *sample) {
    static char buffer[BUFFER_BYTES];
    char *to = buffer;
    int code = EXIT_DONE;
    for (uint64_t i = 0; i < sample->count && code == EXIT_DONE; i++) {
        struct event event = next_event(sample);
        to = put_line(to, sample->seed, &event);
        if (to + LINE_BYTES <= buffer + BUFFER_BYTES) continue;
        code = output_write(buffer, (size_t)(to - buffer));
        to = buffer;
    }
    return code == EXIT_DONE ? output_write(buffer, (size_t)(to - buffer)) : code;
}

static int write_truth(const struct sample *sample, const char *path) {
    FILE *file = fopen(path, "wb");
    bool fine = file != NULL;
    for (uint32_t key = 0; fine && key < sample->keys; key++) {
        char name[16] = {0};
        put_key(name, key);
        if (sample->totals[key] > 0) {
            fine = fprintf(file, "%s\t%" PRId64 "\n", name, sample->totals[key]) > 0;
        }
    }
    if (file != NULL && fclose(file) != 0) fine = false;
    if (fine) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "cannot write %s: %s; choose another file", path,
                        strerror(errno));
}

int run_sample_events(const struct arguments *arguments) {
    static struct sample sample = {.count = 5000000, .keys = 100000, .seed = 1, .retries = 0.06};
    int code = arguments_count(arguments, "count", 1, UINT64_C(1) << 40, &sample.count);
    if (code == EXIT_DONE) code = arguments_count(arguments, "keys", 1, 9999999, &sample.keys);
    if (code == EXIT_DONE) {
        code = arguments_probability(arguments, "retries", 1e-9, 0.99, &sample.retries);
    }
    if (code == EXIT_DONE) code = arguments_seed(arguments, "seed", &sample.seed);
    if (code != EXIT_DONE) return code;
    sample.state = mix(sample.seed);
    sample.alias = calloc((size_t)sample.keys, sizeof *sample.alias);
    sample.share = calloc((size_t)sample.keys, sizeof *sample.share);
    sample.totals = calloc((size_t)sample.keys, sizeof *sample.totals);
    bool fine = sample.alias != NULL && sample.share != NULL && sample.totals != NULL;
    if (!fine || !make_table(&sample)) {
        code = message_fail(EXIT_ENVIRONMENT, "not enough memory; ask for fewer --keys");
    } else {
        const char *truth = arguments_text(arguments, "truth");
        code = print_events(&sample);
        if (code == EXIT_DONE && truth != NULL) code = write_truth(&sample, truth);
    }
    free(sample.alias);
    free(sample.share);
    free(sample.totals);
    return code;
}

/* simulation/module/meters.c - what the buckets of witnesses should be: how often each id was
 * applied in each period of its master's wall clock, of the periods that are kept. */
#include <stdio.h>
#include <string.h>

#include "world.h"

void meters_draw(model_table *table) {
    table->period_ms[0] = table->window_ms / 4;
    table->keep[0] = 2;
    table->period_ms[1] = 3600000;
    table->keep[1] = 1;
}

static void add_word(command *words, const char *word) {
    bytes_add(&words->words[words->count++], word, strlen(word));
}

void meters_words(const model_table *table, command *words) {
    for (unsigned i = 0; i < MODEL_PERIODS && table->period_ms[i] > 0; i++) {
        char period[16], keep[16];
        snprintf(period, sizeof period, "%u", table->period_ms[i]);
        snprintf(keep, sizeof keep, "%u", table->keep[i]);
        add_word(words, "PER");
        add_word(words, i == 1 ? "hour" : period);
        add_word(words, "KEEP");
        add_word(words, keep);
    }
}

/* Where the bucket of a period is; -1 if it is not there. */
static int find(const model_table *table, unsigned id, unsigned period, int32_t number) {
    for (unsigned i = 0; i < table->keep[period]; i++) {
        if (table->bucket_value[id][period][i] > 0 && table->bucket[id][period][i] == number)
            return (int)i;
    }
    return -1;
}

/* Where a bucket goes that is not there: to a free place, or to that of the oldest, except for that
 * of the present and, of two, the period before; -1 if it is the oldest itself. */
static int place_for(const model_table *table, unsigned id, unsigned period, int32_t number,
                     int32_t present) {
    const int32_t *bucket = table->bucket[id][period];
    unsigned keep = table->keep[period];
    int32_t before = present - 1, oldest = INT32_MAX;
    int place = -1;
    for (unsigned i = 0; i < keep; i++) {
        if (table->bucket_value[id][period][i] == 0) return (int)i;
    }
    if (number != present && (keep == 1 || number != before)) oldest = number;
    for (unsigned i = 0; i < keep; i++) {
        if (bucket[i] == present || (keep > 1 && bucket[i] == before) || bucket[i] > oldest)
            continue;
        oldest = bucket[i];
        place = (int)i;
    }
    return place;
}

bool meters_are_dropped(const model_table *table, unsigned id, unsigned period, int64_t at_ms,
                        int64_t wall_ms) {
    int32_t number = (int32_t)(at_ms / table->period_ms[period]);
    int32_t present = (int32_t)(wall_ms / table->period_ms[period]);
    return find(table, id, period, number) < 0 && place_for(table, id, period, number, present) < 0;
}

void meters_note_late(model_table *table, unsigned id, int64_t at_ms, int64_t wall_ms) {
    for (unsigned i = 0; i < MODEL_PERIODS && table->period_ms[i] > 0; i++) {
        int32_t number = (int32_t)(at_ms / table->period_ms[i]);
        int place = find(table, id, i, number);
        if (place < 0) {
            place = place_for(table, id, i, number, (int32_t)(wall_ms / table->period_ms[i]));
            if (place < 0) continue;
            table->bucket_value[id][i][place] = 0;
            table->bucket[id][i][place] = number;
        }
        table->bucket_value[id][i][place]++;
    }
}

void meters_note(model_table *table, unsigned id, int64_t wall_ms) {
    meters_note_late(table, id, wall_ms, wall_ms);
}

void meters_take_away(model_table *table, unsigned id, int64_t wall_ms, unsigned amount) {
    for (unsigned i = 0; i < MODEL_PERIODS && table->period_ms[i] > 0; i++) {
        int place = find(table, id, i, (int32_t)(wall_ms / table->period_ms[i]));
        if (place >= 0)
            table->bucket_value[id][i][place] =
                (uint16_t)(table->bucket_value[id][i][place] - amount);
    }
}

uint16_t meters_present(const model_table *table, unsigned id, unsigned period, int64_t wall_ms) {
    int place = find(table, id, period, (int32_t)(wall_ms / table->period_ms[period]));
    return place >= 0 ? table->bucket_value[id][period][place] : 0;
}

long long meters_sliding(const model_table *table, unsigned id, unsigned period, int64_t wall_ms) {
    int64_t length_ms = table->period_ms[period], gone_ms = wall_ms % length_ms;
    int64_t before = meters_present(table, id, period, wall_ms - length_ms);
    int64_t share = before * (length_ms - gone_ms);
    return meters_present(table, id, period, wall_ms) + (share + length_ms - 1) / length_ms;
}

void meters_drop(model_table *table, unsigned id) {
    memset(table->bucket[id], 0, sizeof table->bucket[id]);
    memset(table->bucket_value[id], 0, sizeof table->bucket_value[id]);
}

static void check_period(unsigned table, unsigned id, unsigned period) {
    const model_table *known = &world.now.tables[table];
    char key[16], counter[16], length[16];
    snprintf(key, sizeof key, "t%u", table);
    snprintf(counter, sizeof counter, "w-%u", id);
    snprintf(length, sizeof length, "%u", known->period_ms[period]);
    command words = command_of("ONCE.RANGE", key, counter, "-", "+", "PER", length, NULL);
    reply answer = server_call(master(), &words);
    command_free(&words);
    unsigned found = 0, expected = 0;
    for (unsigned i = 0; i < known->keep[period]; i++) {
        uint16_t value = known->bucket_value[id][period][i];
        long long start = (long long)known->bucket[id][period][i] * known->period_ms[period];
        expected += value > 0;
        for (int at = 1; at + 1 < answer.count && value > 0; at += 2)
            found += answer.numbers[at] == start && answer.numbers[at + 1] == value;
    }
    unsigned told = (unsigned)(answer.count - 1) / 2;
    if (answer.is_error || answer.numbers[0] != 0 || found != expected || told != expected) {
        wrong("t%u w-%u PER %s: %s%u of %u buckets are right, and %u are there", table, id, length,
              answer.text, found, expected, told);
    }
}

void meters_check(unsigned table, unsigned id) {
    for (unsigned i = 0; i < MODEL_PERIODS && world.now.tables[table].period_ms[i] > 0; i++)
        check_period(table, id, i);
}

/* simulation/module/sums.c - whether the sums of INFO are those of the tables, on every server. */
#include <string.h>

#include "steps.h"

/* Places of the numbers among those of ONCE.INFO, of which fractions and words are none. */
enum { FRESH = 6, DUPLICATES = 7, REFUSED = 8, NUMBERS };

static const char *const names[] = {"tables", "fresh", "duplicates", "refused", "strained"};
enum { SUMS = sizeof names / sizeof names[0] };

static unsigned long long field_of(const info_list *from, const char *name) {
    for (unsigned i = 0; i < from->count; i++) {
        if (strcmp(from->names[i], name) == 0) return from->values[i];
    }
    wrong("INFO has no %s", name);
    return 0;
}

static void add_table(server *of, const char *key, unsigned long long sums[SUMS]) {
    command words = command_of("ONCE.INFO", key, NULL);
    reply answer = server_call(of, &words);
    command_free(&words);
    if (answer.is_error || answer.count < NUMBERS) {
        wrong("server %u does not describe %s: %s", of->number, key, answer.text);
        return;
    }
    sums[0]++;
    sums[1] += (unsigned long long)answer.numbers[FRESH];
    sums[2] += (unsigned long long)answer.numbers[DUPLICATES];
    sums[3] += (unsigned long long)answer.numbers[REFUSED];
    sums[4] += strstr(answer.words, " strain may_be_evicted") == NULL;
}

static void check_server(server *of) {
    unsigned long long sums[SUMS] = {0}, keys = 0;
    info_list told = server_info(of);
    for (unsigned i = 0; i < MOST_KEYS; i++) {
        if (of->keys[i].type == NULL) continue;
        keys++;
        if (strcmp(of->keys[i].type->name, "lethe-onc") == 0) add_table(of, of->keys[i].name, sums);
    }
    for (unsigned i = 0; i < SUMS; i++) {
        unsigned long long found = field_of(&told, names[i]);
        if (found != sums[i])
            wrong("INFO of server %u has %llu as %s, not %llu", of->number, found, names[i],
                  sums[i]);
    }
    if (field_of(&told, "keys") != keys)
        wrong("INFO of server %u has %llu keys, not %llu", of->number, field_of(&told, "keys"),
              keys);
}

void sums_check(void) {
    for (unsigned i = 0; i < SERVERS; i++) {
        if (world.servers[i].library != NULL) check_server(&world.servers[i]);
    }
}

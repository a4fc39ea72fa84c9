/* simulation/module/world.c - see world.h. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "steps.h"

struct world world;
uint64_t chance;

uint64_t draw(uint64_t below) {
    chance += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = chance;
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ mixed >> 31) % below;
}

void say(const char *format, ...) {
    if (!world.is_verbose) return;
    va_list more;
    va_start(more, format);
    vprintf(format, more);
    va_end(more);
    putchar('\n');
}

void wrong(const char *format, ...) {
    if (world.wrong[0] != '\0') return;
    va_list more;
    va_start(more, format);
    vsnprintf(world.wrong, sizeof world.wrong, format, more);
    va_end(more);
}

int64_t now_ms(void) {
    return true_us / 1000;
}

server *master(void) {
    return &world.servers[world.master];
}

static void remember(void) {
    if (world.history_count == MOST_HISTORY) {
        memmove(world.history, world.history + 1, (MOST_HISTORY - 1) * sizeof *world.history);
        world.history_count--;
    }
    world.history[world.history_count].position = world.lineage.count;
    world.history[world.history_count++].state = world.now;
}

/* The table that a command of the stream is about has been heard of just now. */
static void note_told(const command *words) {
    for (unsigned i = 0; i < MODEL_TABLES && words->count > 1; i++) {
        char key[16];
        key_of(i, key);
        bytes name = words->words[1];
        if (name.size == strlen(key) && memcmp(name.data, key, name.size) == 0)
            world.now.tables[i].told_ms = now_ms();
    }
}

void gather(void) {
    while (world.taken < master()->log.count) {
        if (world.lineage.count == world.told_room) {
            world.told_room = 2 * world.told_room + 1024;
            world.told_ms = realloc(world.told_ms, world.told_room * sizeof *world.told_ms);
            if (world.told_ms == NULL) abort();
        }
        world.told_ms[world.lineage.count] = now_ms();
        note_told(&master()->log.commands[world.taken]);
        stream_add(&world.lineage, &master()->log.commands[world.taken++]);
    }
    world.offset[world.master] = world.lineage.count;
    remember();
}

void roll_back(size_t position) {
    model before = world.now;
    while (world.history_count > 1 && world.history[world.history_count - 1].position > position) {
        world.history_count--;
    }
    world.now = world.history[world.history_count - 1].state;
    for (unsigned i = 0; i < MODEL_TABLES; i++) {
        if (!world.now.tables[i].exists) continue;
        /* Another table had its name meanwhile, or none: what its clock missed is not known any
         * more. */
        bool is_same = before.tables[i].exists && before.tables[i].born == world.now.tables[i].born;
        world.now.tables[i].fast_ms = is_same ? before.tables[i].fast_ms : MODEL_LONG_MS;
        world.now.tables[i].slow_ms = is_same ? before.tables[i].slow_ms : MODEL_LONG_MS;
        world.now.tables[i].lacked_memory |= before.tables[i].lacked_memory;
    }
    stream_cut(&world.lineage, position);
}

void slow_all(int64_t ms) {
    for (unsigned i = 0; i < MODEL_TABLES; i++) {
        world.now.tables[i].slow_ms += ms;
    }
}

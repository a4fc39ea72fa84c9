/* simulation/module/world.h - the servers of a simulation, the stream of commands between them,
 * and the model of each of its places. */
#ifndef LETHE_SIMULATION_MODULE_WORLD_H
#define LETHE_SIMULATION_MODULE_WORLD_H

#include "model.h"
#include "server.h"

enum { SERVERS = 3, MOST_HISTORY = 4096, MOST_PAYLOADS = 8, MOST_SETS = 64 };

extern struct world {
    server servers[SERVERS];
    unsigned master;
    size_t promoted_at;        /* the stream's place at which it became the master */
    bool follows[SERVERS];     /* a replica of the master */
    size_t offset[SERVERS];    /* how much of the stream a replica has */
    size_t log_base[SERVERS];  /* the stream's place at which a server's log begins */
    size_t log_floor[SERVERS]; /* so much of it was written at once, and can't be cut */
    int64_t lag_ms[SERVERS];   /* how late a replica got what it has, at most */
    int64_t *told_ms;          /* when each of the stream was replicated */
    size_t told_room;
    stream lineage; /* all that the master has replicated */
    size_t taken;   /* of the master's log into the stream */
    model now;
    struct {
        size_t position;
        model state;
    } * history;
    size_t history_count;
    struct {
        bytes data;
        model_table table;
        int64_t at_ms;
    } payloads[MOST_PAYLOADS];
    unsigned payload_count;
    struct {
        const host *of;
        int64_t step_ms;
        int64_t stamped_ms; /* when timers had stamped all tables since; 0: not yet */
    } sets[MOST_SETS];      /* of wall clocks */
    unsigned set_count;
    int64_t start_stamped_ms[MOST_HOSTS]; /* the same since a host's machine was started */
    uint32_t births;                      /* tables so far */
    uint32_t replies;                     /* replies of claims so far */
    char wrong[512];
    bool is_verbose;
} world;

/* What the next draw comes from. */
extern uint64_t chance;
/* 0 to below - 1. */
uint64_t draw(uint64_t below);
/* Prints what happens, if the run is verbose. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* Notes what is wrong; only the first counts. */
__attribute__((format(printf, 1, 2))) void wrong(const char *format, ...);

int64_t now_ms(void);
server *master(void);
/* Takes what the master has replicated since into the stream. */
void gather(void);
/* The stream, and what is known of the tables, as they were at that place. Time bases are the
 * machines', and do not go back with the data. */
void roll_back(size_t position);
/* Every table may have aged by so much less than true time. */
void slow_all(int64_t ms);

/* Buckets: meters.c. What a new table counts per, as the words of its command; what an operation
 * that was applied does to its witness, that a counter was removed, and whether the master's answer
 * about a witness is right. */
void meters_draw(model_table *table);
void meters_words(const model_table *table, command *words);
void meters_note(model_table *table, unsigned id, int64_t wall_ms);
/* What belongs to at_ms while it is wall_ms; and whether that is only in the total, because the
 * bucket is not kept any more. */
void meters_note_late(model_table *table, unsigned id, int64_t at_ms, int64_t wall_ms);
bool meters_are_dropped(const model_table *table, unsigned id, unsigned period, int64_t at_ms,
                        int64_t wall_ms);
/* Less in the present buckets, which have more than that. */
void meters_take_away(model_table *table, unsigned id, int64_t wall_ms, unsigned amount);
void meters_drop(model_table *table, unsigned id);
void meters_check(unsigned table, unsigned id);
/* The value of the present bucket; and with the share of the one before that is less than a period
 * ago, rounded up. */
uint16_t meters_present(const model_table *table, unsigned id, unsigned period, int64_t wall_ms);
long long meters_sliding(const model_table *table, unsigned id, unsigned period, int64_t wall_ms);

/* Some commands about the claims of a table, judged: claims.c. */
void claims_step(unsigned table);

/* Some commands about the holds of a table, judged; and whether leases that are over have ended,
 * after a timer has run: holds.c. */
void holds_step(unsigned table);
void holds_check_ended(unsigned table);

/* The sums of INFO are those of the tables: sums.c. */
void sums_check(void);

/* Makes a table, or a forgetful filter, and does one step at random. */
void make_table(unsigned table, bool is_filter);
void step(void);

#endif

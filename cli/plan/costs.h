/* costs.h - what things take, as it was measured: speeds that plans and simulations rest on.
 *
 * They are of one machine in 2026: two virtual cores, Debian 12, Redis 7.0.15.
 * `bench/redis/costs.py` measures those of servers again and prints them beside these;
 * bench/results/costs.json has what it printed, on a machine that was a little busy with other
 * things, so most are in CPU time. On another machine everything may be twice as fast, or half.
 * Sizes are not here: they are computed, and tests compare them with real stores and tables. */
#ifndef LETHE_CLI_PLAN_COSTS_H
#define LETHE_CLI_PLAN_COSTS_H

/* Stores. An event in `lethe count`, also with --exact and --forever (docs/performance.md, ten
 * million events on an idle machine); and how much more per resolution (`lethe bench meters`). */
#define COST_COUNT_S 0.18e-6
#define COST_COUNT_EXACT_S 0.32e-6
#define COST_COUNT_FOREVER_S 0.35e-6
#define COST_COUNT_METER 0.45
/* Opening: an id of the log goes into the window (lethe/store.h), and into the index
 * (docs/performance.md); a counter is read (`lethe count` of an empty file, 330,000 counters). */
#define COST_OPEN_ID_S 0.1e-6
#define COST_OPEN_INDEX_S 0.15e-6
#define COST_OPEN_COUNTER_S 0.3e-6

/* Servers: of the main thread, for a command and for each event in it. */
#define COST_COMMAND_S 0.97e-6
#define COST_EVENT_S 0.88e-6
/* One way between two machines of one network; not measured: assumed. */
#define COST_WIRE_S 50e-6
/* From a master's change until WAIT says that a replica has it, both on one machine. */
#define COST_LAG_S 130e-6
#define COST_FORK_S_PER_BYTE 2.3e-11
/* A new replica: snapshot, transfer and loading. */
#define COST_COPY_BYTES_PER_S 119e6
/* How much slower a master is while its snapshot is made. */
#define COST_COPYING 1.56
/* MIGRATE: packing, sending, unpacking. */
#define COST_MOVE_BYTES_PER_S 96e6

#endif

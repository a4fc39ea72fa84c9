/* stat.h - what the parts of `lethe stat` share. */
#ifndef LETHE_CLI_STORE_STAT_H
#define LETHE_CLI_STORE_STAT_H

#include "redis/table.h"
#include "say/human.h"

/* 1700000000000 -> "2023-11-14T22:13:20Z". */
const char *stat_date(uint64_t ms, struct human_text *out);

/* "quotient" or "forgetful". */
const char *stat_kind(lethe_window_kind kind);

/* Prints how a store of counters stands. */
int stat_store(const char *folder, bool json);

/* Prints how a table in a server stands. */
int stat_table(struct redis_table *table, bool json);

#endif

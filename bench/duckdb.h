/* bench/duckdb.h - DuckDB, as its package for Node.js has it. */
#ifndef LETHE_BENCH_DUCKDB_H
#define LETHE_BENCH_DUCKDB_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it is here. If it is not, npm fetches it into the folder, unless quick. */
bool duckdb_prepare(const char *folder, bool quick);

/* Stores a shell's command that runs a statement of SQL in memory, and writes the rows that it
 * returns, with tabs between their columns, to a file of the folder. The statement is kept in
 * another file there. It may have single quotes, but no backquotes. */
void duckdb_command(char *command, size_t size, const char *folder, const char *sql,
                    const char *output);

#endif

/* bench/count_sqlite.c - each event once by SQLite: an id that can be inserted is new.
 *
 * Both tables are their own index (WITHOUT ROWID). A transaction holds as many events as a
 * commit of Lethe's. The cache has 256 MiB instead of the 2 MiB that SQLite takes by default. */
#include <sqlite3.h>

#include "count_peers.h"
#include "folder.h"
#include "frame.h"

struct tables {
    sqlite3 *database;
    sqlite3_stmt *remember, *count;
};

static void execute(sqlite3 *database, const char *text) {
    bench_require(sqlite3_exec(database, text, NULL, NULL, NULL) == SQLITE_OK, text);
}

static sqlite3_stmt *prepare(sqlite3 *database, const char *text) {
    sqlite3_stmt *statement;
    bench_require(sqlite3_prepare_v2(database, text, -1, &statement, NULL) == SQLITE_OK, text);
    return statement;
}

static struct tables open_tables(const char *folder) {
    struct tables tables;
    char path[COUNT_PATH_BYTES];
    snprintf(path, sizeof path, "%s/database", folder);
    bench_require(sqlite3_open(path, &tables.database) == SQLITE_OK, "opening an SQLite database");
    execute(tables.database,
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
            "PRAGMA cache_size=-262144;"
            "CREATE TABLE ids(id TEXT PRIMARY KEY) WITHOUT ROWID;"
            "CREATE TABLE counters(key TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID");
    tables.remember = prepare(tables.database, "INSERT OR IGNORE INTO ids VALUES(?)");
    tables.count = prepare(tables.database, "INSERT INTO counters VALUES(?, ?) "
                                            "ON CONFLICT(key) DO UPDATE SET n = n + excluded.n");
    return tables;
}

static void step(sqlite3_stmt *statement) {
    bench_require(sqlite3_step(statement) == SQLITE_DONE, "an SQLite statement");
    sqlite3_reset(statement);
}

/* Returns how many of the batch were new. */
static uint64_t count_batch(const struct tables *tables, const struct count_batches *batch) {
    uint64_t applied = 0;
    execute(tables->database, "BEGIN");
    for (size_t i = 0; i < batch->count; i++) {
        sqlite3_bind_text(tables->remember, 1, count_id(batch->lines, i), COUNT_ID_BYTES,
                          SQLITE_STATIC);
        step(tables->remember);
        if (sqlite3_changes(tables->database) == 0) continue;
        sqlite3_bind_text(tables->count, 1, count_key(batch->lines, i), COUNT_KEY_BYTES,
                          SQLITE_STATIC);
        sqlite3_bind_int64(tables->count, 2, count_delta(batch->lines, i));
        step(tables->count);
        applied++;
    }
    execute(tables->database, "COMMIT");
    return applied;
}

static int64_t sum_counters(const char *folder) {
    char path[COUNT_PATH_BYTES];
    sqlite3 *database;
    snprintf(path, sizeof path, "%s/database", folder);
    bench_require(sqlite3_open(path, &database) == SQLITE_OK, "opening an SQLite database");
    sqlite3_stmt *statement = prepare(database, "SELECT sum(n) FROM counters");
    bench_require(sqlite3_step(statement) == SQLITE_ROW, "an SQLite statement");
    int64_t sum = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return sum;
}

static void run(void *context) {
    struct count_job *job = context;
    struct count_batches batches;
    count_batches_open(&batches, job->events);
    struct tables tables = open_tables(job->folder);
    while (count_batches_next(&batches))
        job->out->applied += count_batch(&tables, &batches);
    sqlite3_finalize(tables.remember);
    sqlite3_finalize(tables.count);
    bench_require(sqlite3_close(tables.database) == SQLITE_OK, "closing an SQLite database");
    job->out->cost = count_cost_now(job->started);
    count_batches_close(&batches);
    job->out->disk_bytes = bench_folder_bytes(job->folder);
    job->out->sum = sum_counters(job->folder);
}

void count_by_sqlite(const struct count_events *events, const char *folder,
                     struct count_outcome *out) {
    count_peer_fork(run, "SQLite", events, folder, out);
}

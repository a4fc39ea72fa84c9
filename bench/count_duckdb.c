/* bench/count_duckdb.c - DuckDB, as its package for Node.js has it; see count_peers.h.
 *
 * One query reads the file, keeps one event of each id, and adds up the counters. DuckDB uses all
 * CPUs. In memory it forgets the ids with its process, so a second file can't be counted with it.
 * In a file it keeps ids and counters, as `lethe count` does, and a checkpoint makes them durable.
 * The start of Node.js, less than a tenth of a second, is in the time of its process. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "count_peers.h"
#include "duckdb.h"
#include "folder.h"
#include "frame.h"

static const char script[] =
    "const { DuckDBInstance } = require('@duckdb/node-api');\n"
    "(async () => {\n"
    "  const [events, form, database] = process.argv.slice(1);\n"
    "  const base = await (await DuckDBInstance.create(database)).connect();\n"
    "  const columns = \"columns = {'id': 'VARCHAR', 'key': 'VARCHAR', 'delta': 'BIGINT'}\";\n"
    "  const lines = form === 'json'\n"
    "    ? `read_json('${events}', format = 'newline_delimited', ${columns})`\n"
    "    : `read_csv('${events}', delim = '\\t', header = false, auto_detect = false, `\n"
    "      + `${columns})`;\n"
    "  const once = 'SELECT id, any_value(key) AS key, any_value(delta) AS delta FROM '\n"
    "    + lines + ' GROUP BY id';\n"
    "  let from = `(${once})`;\n"
    "  if (database !== ':memory:') {\n"
    "    await base.run('CREATE TABLE ids AS ' + once);\n"
    "    from = 'ids';\n"
    "  }\n"
    "  await base.run('CREATE TABLE counters AS SELECT key, sum(delta)::BIGINT AS value FROM '\n"
    "    + from + ' GROUP BY key');\n"
    "  if (database !== ':memory:') await base.run('CHECKPOINT');\n"
    "  const sum = await base.runAndReadAll('SELECT sum(value)::BIGINT FROM counters');\n"
    "  console.log('sum\\t' + sum.getRows()[0][0]);\n"
    "})().catch((error) => { console.error(error); process.exit(1); });\n";

bool count_has_duckdb(const char *folder, bool quick) {
    return duckdb_prepare(folder, quick);
}

static void count(const struct count_events *events, const char *file, const char *form,
                  const char *folder, bool in_memory, struct count_outcome *out) {
    char output[COUNT_PATH_BYTES], database[COUNT_PATH_BYTES];
    snprintf(output, sizeof output, "%s/sum", folder);
    snprintf(database, sizeof database, "%s/database", folder);
    const char *words[] = {"node", "-e", script, file, form, in_memory ? ":memory:" : database,
                           NULL};
    *out = (struct count_outcome){.cost = count_run(words, output),
                                  .disk_bytes = bench_folder_bytes(folder),
                                  .sum = count_sum_lines(output)};
    if (in_memory) out->disk_bytes = 0;
    /* It does not report that number; but every delta is positive. */
    out->applied = out->sum == events->sum ? events->originals : 0;
}

void count_by_duckdb_in_memory(const struct count_events *events, const char *folder,
                               struct count_outcome *out) {
    count(events, events->path, "text", folder, true, out);
}

void count_by_duckdb(const struct count_events *events, const char *folder,
                     struct count_outcome *out) {
    count(events, events->path, "text", folder, false, out);
}

void count_json_by_duckdb(const struct count_events *events, const char *folder,
                          struct count_outcome *out) {
    count(events, events->json_path, "json", folder, true, out);
}

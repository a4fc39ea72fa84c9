/* bench/duckdb.c - see duckdb.h.
 *
 * DuckDB uses all CPUs, and writes what does not fit in memory to the folder. The start of Node.js,
 * less than a tenth of a second, is in the time of a command. */
#include "duckdb.h"

#include <stdio.h>

#include "frame.h"
#include "node.h"
#include "shell.h"

static const struct node_package package = {
    .peer = "DuckDB",
    .name = "@duckdb/node-api",
    .check = "try { require('@duckdb/node-api'); } catch { process.exit(1); }",
};

static const char script[] =
    "const { DuckDBInstance } = require('@duckdb/node-api');\n"
    "(async () => {\n"
    "  const base = await (await DuckDBInstance.create(':memory:')).connect();\n"
    "  await base.run(`SET temp_directory = '%s/spilled'`);\n"
    "  const result = await base.runAndReadAll(`%s`);\n"
    "  for (const row of result.getRows()) console.log(row.join('\\t'));\n"
    "})().catch((error) => { console.error(error); process.exit(1); });\n";

bool duckdb_prepare(const char *folder, bool quick) {
    return node_prepare(&package, folder, quick);
}

/* The script is given as a text: from a file, Node.js would look for packages beside that file. */
void duckdb_command(char *command, size_t size, const char *folder, const char *sql,
                    const char *output) {
    char path[SHELL_PATH_BYTES];
    snprintf(path, sizeof path, "%s/query.js", folder);
    FILE *file = fopen(path, "w");
    bench_require(file != NULL && fprintf(file, script, folder, sql) > 0 && fclose(file) == 0,
                  "writing a script");
    snprintf(command, size, "node -e \"$(cat '%s')\" > '%s/%s'", path, folder, output);
}

/* bench/serve_wrk.c - see serve_wrk.h.
 *
 * IDEA    A script makes each request, with ids that nobody else has, and prints the figures in one
 *         line at the end. wrk has one thread, so that ids need no care, and because it shares the
 *         CPUs with the server. */
#include "serve_wrk.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "count_process.h"
#include "frame.h"

static const char script[] =
    "local id, events, keys = %" PRIu64 ", %zu, %zu\n"
    "local headers = {['Content-Type'] = 'application/x-ndjson'}\n"
    "request = function()\n"
    "   local lines = {}\n"
    "   for i = 1, events do\n"
    "      lines[i] = string.format('{\"id\":\"%%016x\",\"key\":\"key-%%d\",\"delta\":1}\\n', id, "
    "id %% keys)\n"
    "      id = id + 1\n"
    "   end\n"
    "   return wrk.format('POST', '/v1/events', headers, table.concat(lines))\n"
    "end\n"
    "done = function(summary, latency)\n"
    "   local errors = summary.errors\n"
    "   io.write(string.format('figures %%d %%d %%d %%d %%d\\n', summary.requests, "
    "summary.duration,"
    "\n      errors.connect + errors.read + errors.write + errors.status + errors.timeout,\n"
    "      latency:percentile(50), latency:percentile(99)))\n"
    "end\n";

int wrk_is_there(void) {
    char path[COUNT_PATH_BYTES];
    return count_find_command("wrk", path);
}

/* The line of figures in what wrk has printed. Times are in microseconds. */
static int read_figures(const char *path, const struct http_load *load,
                        struct http_load_result *out) {
    char line[256];
    uint64_t requests, duration_us, failures, p50_us, p99_us;
    FILE *file = fopen(path, "re");
    int found = 0;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        found = sscanf(line, "figures %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                       &requests, &duration_us, &failures, &p50_us, &p99_us) == 5;
    }
    if (file != NULL) fclose(file);
    if (!found || duration_us == 0) return -1;
    *out = (struct http_load_result){.requests = requests,
                                     .events = requests * load->events,
                                     .failures = failures,
                                     .seconds = (double)duration_us / 1e6,
                                     .p50_ms = (double)p50_us / 1e3,
                                     .p99_ms = (double)p99_us / 1e3};
    return 0;
}

int wrk_run(const struct http_load *load, const char *folder, struct http_load_result *out) {
    char path[2 * COUNT_PATH_BYTES], printed[2 * COUNT_PATH_BYTES], address[64], connections[32],
        seconds[32];
    snprintf(path, sizeof path, "%s/events.lua", folder);
    snprintf(printed, sizeof printed, "%s/wrk.txt", folder);
    snprintf(address, sizeof address, "http://127.0.0.1:%u/v1/events", load->port);
    snprintf(connections, sizeof connections, "-c%zu", load->connections);
    snprintf(seconds, sizeof seconds, "-d%.0fs", ceil(load->seconds));
    FILE *file = fopen(path, "we");
    if (file == NULL) return -1;
    fprintf(file, script, load->first_id, load->events, load->keys);
    if (fclose(file) != 0) return -1;
    const char *const words[] = {"wrk", "-t1", connections, seconds, "-s", path, address, NULL};
    (void)count_run(words, printed);
    return read_figures(printed, load, out);
}

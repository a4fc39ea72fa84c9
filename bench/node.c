/* bench/node.c - packages for Node.js; see node.h. */
#include "node.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "count_process.h"

/* Whether a command ends with 0. */
static bool succeeds(const char *const *words) {
    int status;
    pid_t child = count_start(words, NULL);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is_there(const struct node_package *package) {
    const char *const ask[] = {"node", "-e", package->check, NULL};
    return succeeds(ask);
}

static bool leave_out(const struct node_package *package, const char *why) {
    fprintf(stderr, "lethe-bench: %s is left out: %s\n", package->peer, why);
    return false;
}

bool node_prepare(const struct node_package *package, const char *folder, bool quick) {
    char path[COUNT_PATH_BYTES], modules[2 * COUNT_PATH_BYTES], prefix[2 * COUNT_PATH_BYTES];
    if (!count_find_command("node", path)) return leave_out(package, "there is no node");
    if (is_there(package)) return true;
    if (quick)
        return leave_out(package, "its package is not here, and nothing is fetched with --quick");
    if (!count_find_command("npm", path))
        return leave_out(package, "its package is not here, and there is no npm to fetch it with");
    snprintf(prefix, sizeof prefix, "--prefix=%s/npm", folder);
    snprintf(modules, sizeof modules, "%s/npm/node_modules", folder);
    fprintf(stderr, "lethe-bench: npm fetches %s, and may have to compile it\n", package->name);
    const char *const fetch[] = {"timeout",    "1200",      "npm",      "install",     prefix,
                                 "--no-audit", "--no-fund", "--silent", package->name, NULL};
    if (!succeeds(fetch) || setenv("NODE_PATH", modules, 1) != 0 || !is_there(package))
        return leave_out(package, "npm could not fetch or compile its package");
    return true;
}

/* list.c - `lethe claim list`: the claims of a store, open ones or all. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "claim/claim.h"
#include "frame/commands.h"
#include "output/output.h"
#include "say/escape.h"
#include "say/json.h"
#include "store/store.h"

struct listing {
    bool json, all;
    int code;
};

static const char *const state_names[] = {"none", "running", "lapsed", "done"};

static void print_json(const lethe_claim *claim) {
    struct json json = json_begin(stdout);
    json_bytes(&json, "id", claim->id);
    json_string(&json, "state", state_names[claim->state]);
    json_integer(&json, "left_ms", claim->left_ms);
    json_bytes(&json, "token", claim->token);
    json_bytes(&json, "fingerprint", claim->fingerprint);
    if (claim->state == LETHE_CLAIM_IS_DONE) {
        json_integer(&json, "reply_bytes", claim->reply_bytes);
        json_boolean(&json, "reply_gone", claim->reply_gone);
    }
    json_end(&json);
}

/* A lethe_claim_visit. */
static bool print_claim(void *context, const lethe_claim *claim) {
    struct listing *listing = context;
    if (claim->state == LETHE_CLAIM_IS_DONE && !listing->all) return true;
    if (listing->json) {
        print_json(claim);
        return true;
    }
    char line[ESCAPE_FACTOR * (LETHE_ID_LIMIT_BYTES + LETHE_TOKEN_LIMIT_BYTES) + 100];
    size_t length = escape_write(claim->id, line);
    length += (size_t)snprintf(line + length, 60, "\t%s\t%" PRIu64 "\t", state_names[claim->state],
                               claim->left_ms);
    length += escape_write(claim->token, line + length);
    line[length++] = '\n';
    listing->code = output_write(line, length);
    return listing->code == EXIT_DONE;
}

int run_claim_list(const struct arguments *arguments) {
    struct listing listing = {.json = arguments_has(arguments, "json"),
                              .all = arguments_has(arguments, "all")};
    lethe_store *store;
    int code = store_open_reader(arguments, &store);
    if (code != EXIT_DONE) return code;
    const char *folder = arguments_text(arguments, "db");
    lethe_status status = lethe_claims_each(store, (lethe_bytes){0}, print_claim, &listing);
    code = status == LETHE_OK ? listing.code
                              : store_fail_call(status, "read the store", folder, store);
    return store_close(folder, store, code);
}

/* list.c - `lethe hold list`: the holds of a store, open ones or all. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frame/commands.h"
#include "input/decimal.h"
#include "lethe/holds.h"
#include "output/output.h"
#include "say/escape.h"
#include "say/json.h"
#include "store/store.h"

struct listing {
    bool json, all;
    unsigned scale;
    lethe_store_stats stats;
    int code;
};

/* The name of the resolution that a hold's limit is on: one of "1h,1d"; empty for the total. */
static lethe_bytes period_of(const struct listing *listing, const lethe_hold *hold) {
    const char *from = listing->stats.per;
    if ((hold->flags & LETHE_CHANGE_BUCKET) == 0) return (lethe_bytes){.data = "", .size = 0};
    for (uint32_t i = 0; i < hold->resolution && strchr(from, ',') != NULL; i++)
        from = strchr(from, ',') + 1;
    return (lethe_bytes){.data = from, .size = strcspn(from, ",")};
}

static void print_json(const struct listing *listing, const lethe_hold *hold) {
    struct decimal_text text;
    lethe_bytes period = period_of(listing, hold);
    struct json json = json_begin(stdout);
    json_bytes(&json, "id", hold->id);
    json_string(&json, "state", lethe_hold_state_name(hold->state));
    json_bytes(&json, "key", hold->key);
    json_number(&json, "amount", decimal_show(hold->amount, listing->scale, &text));
    json_number(&json, "limit", decimal_show(hold->max, listing->scale, &text));
    if (period.size > 0)
        json_bytes(&json, "period", period);
    else
        json_null(&json, "period");
    if (hold->state == LETHE_HOLD_IS_SETTLED)
        json_number(&json, "actual", decimal_show(hold->actual, listing->scale, &text));
    json_integer(&json, "wall_ms", hold->wall_ms);
    json_integer(&json, "left_ms", hold->left_ms);
    json_end(&json);
}

/* A lethe_hold_visit. */
static bool print_hold(void *context, const lethe_hold *hold) {
    struct listing *listing = context;
    bool is_unsettled = hold->state == LETHE_HOLD_IS_OPEN || hold->state == LETHE_HOLD_IS_LAPSED;
    if (!is_unsettled && !listing->all) return true;
    if (listing->json) {
        print_json(listing, hold);
        return true;
    }
    char line[ESCAPE_FACTOR * (LETHE_ID_LIMIT_BYTES + LETHE_KEY_LIMIT_BYTES) + 200];
    struct decimal_text amount, max;
    lethe_bytes period = period_of(listing, hold);
    decimal_show(hold->amount, listing->scale, &amount);
    decimal_show(hold->max, listing->scale, &max);
    size_t length = escape_write(hold->id, line);
    length += (size_t)snprintf(line + length, 20, "\t%s\t", lethe_hold_state_name(hold->state));
    length += escape_write(hold->key, line + length);
    length += (size_t)snprintf(line + length, 160, "\t%s\t%s%s%.*s\t%" PRIu64 "\n", amount.text,
                               max.text, period.size > 0 ? "/" : "", (int)period.size,
                               (const char *)period.data, hold->left_ms);
    listing->code = output_write(line, length);
    return listing->code == EXIT_DONE;
}

int run_hold_list(const struct arguments *arguments) {
    static struct listing listing;
    lethe_store *store;
    listing = (struct listing){.json = arguments_has(arguments, "json"),
                               .all = arguments_has(arguments, "all"),
                               .stats = LETHE_INIT(lethe_store_stats)};
    int code = store_open_reader(arguments, &store);
    if (code != EXIT_DONE) return code;
    const char *folder = arguments_text(arguments, "db");
    listing.scale = lethe_store_scale(store);
    lethe_status status = lethe_store_info(store, &listing.stats);
    if (status == LETHE_OK)
        status = lethe_holds_each(store, (lethe_bytes){0}, print_hold, &listing);
    code = status == LETHE_OK ? listing.code
                              : store_fail_call(status, "read the store", folder, store);
    return store_close(folder, store, code);
}

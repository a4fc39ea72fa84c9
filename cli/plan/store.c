/* store.c - plans a store: lethe_store_plan, and what was measured of its speed. */
#include "lethe/store.h"

#include <string.h>

#include "plan/costs.h"
#include "plan/plan.h"
#include "say/message.h"

/* What `lethe count` waits for events to be committed together (--sync). */
enum { COMMIT_INTERVAL_MS = 50 };

int plan_store(const struct plan_wants *wants, lethe_store_needs *out) {
    lethe_store_options options = LETHE_OPTIONS(
        lethe_store_options, .window_ms = wants->window_ms, .error = wants->error,
        .commit_interval_ms = COMMIT_INTERVAL_MS, .per = wants->per, .keep = wants->keep,
        .exact = wants->exact ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP,
        .forever = wants->forever ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP);
    lethe_store_load load = LETHE_OPTIONS(lethe_store_load, .events_per_s = wants->events_per_s,
                                          .counters = wants->keys, .key_bytes = wants->key_bytes,
                                          .after_ms = wants->after_ms);
    /* A ledger is made for as many ids as there will be, or as by default. */
    double ids = wants->events_per_s / 1000 * (double)wants->after_ms;
    if (wants->forever && ids > 0x1p30 && ids <= 0x1p44) options.ledger_capacity = (uint64_t)ids;
    lethe_detail detail = {""};
    *out = (lethe_store_needs){.size = sizeof *out};
    lethe_status status = lethe_store_plan(&options, &load, out, &detail);
    if (status == LETHE_OK) return EXIT_DONE;
    return message_fail(EXIT_USAGE, "%s",
                        detail.text[0] != '\0' ? detail.text : lethe_strerror(status));
}

double plan_opening_s(const struct plan_wants *wants, const lethe_store_needs *needs) {
    double each = COST_OPEN_ID_S + (wants->exact ? COST_OPEN_INDEX_S : 0);
    return (double)needs->log_ids * each + (double)wants->keys * COST_OPEN_COUNTER_S;
}

double plan_counting_s(const struct plan_wants *wants) {
    double each = wants->exact     ? COST_COUNT_EXACT_S
                  : wants->forever ? COST_COUNT_FOREVER_S
                                   : COST_COUNT_S;
    if (wants->per == NULL) return each;
    double meters = 1;
    for (const char *at = strchr(wants->per, ','); at != NULL; at = strchr(at + 1, ','))
        meters++;
    return each + COST_COUNT_S * COST_COUNT_METER * meters;
}

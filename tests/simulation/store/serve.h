/* simulation/store/serve.h - the server's layer between a parsed request and the store.
 *
 * A call is written as a request of `lethe serve`, directed by its table of routes, answered by the
 * function of its route, and its answer is read: what HTTP would carry. One at a time, in the
 * writer's process. */
#ifndef LETHE_SIMULATION_STORE_SERVE_H
#define LETHE_SIMULATION_STORE_SERVE_H

#include "lethe/holds.h"

/* How many operations fit into one batch of the server. */
enum { SERVE_MOST = 4096 };

/* POST /v1/events. What comes back is what lethe_store_submit gives; values may be NULL. The
 * operations have neither flags nor bounds, and there are SERVE_MOST at most. */
lethe_status serve_events(lethe_store *store, bool event_time, const lethe_operation *operations,
                          size_t count, uint8_t *outcomes, int64_t *values, uint64_t *ticket);

/* Forgets the answers of earlier calls. To be called before serve_events is: that call may be
 * killed before its first line. */
void serve_expect(void);

/* What the store had said of the operations of the last such call when it failed or was killed; 255
 * for those that it had not come to. */
void serve_decided(uint8_t *outcomes, size_t count);

/* POST /v1/take with an upper limit. */
lethe_status serve_take(lethe_store *store, lethe_bytes id, lethe_bytes key, int64_t amount,
                        int64_t max, uint8_t *outcome);

/* POST /v1/claims/ID/VERB. lease_ms 0 and an empty reply are left out. *told: the reply that it was
 * answered with, empty if there is none; valid until the next call. */
lethe_status serve_claim(lethe_store *store, const char *verb, lethe_bytes id, lethe_bytes token,
                         uint64_t lease_ms, lethe_bytes reply, lethe_claim_answer *answer,
                         lethe_bytes *told);

/* POST /v1/holds/ID/... */
lethe_status serve_hold_place(lethe_store *store, const lethe_hold *hold,
                              lethe_hold_answer *answer);
lethe_status serve_hold_settle(lethe_store *store, lethe_bytes id, int64_t actual, bool force,
                               lethe_hold_answer *answer);
lethe_status serve_hold_release(lethe_store *store, lethe_bytes id, lethe_hold_answer *answer);

#endif

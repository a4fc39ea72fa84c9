/* engine/failure.c - what went wrong, kept until it is asked for.
 *
 * I1      After the first failure of a commit or a fold the store accepts nothing more. What is on
 *         disk stays a prefix of what was decided; opening the store again shows how much.
 * I2      A thread that asks is given the words of its own call, whatever calls of others fail or
 *         succeed in between: each thread keeps the last words that it caused. */
#include "core/detail.h"
#include "engine/store.h"

/* I2. Of which opening of a store the words are; 0: there are none. */
static _Thread_local struct {
    uint64_t opening;
    lethe_detail detail;
} own;

void lethe_engine_remark(lethe_store *store, const lethe_detail *detail) {
    own.opening = store->opening;
    own.detail = *detail;
    if (store->failed == LETHE_OK) store->failure = *detail;
}

void lethe_engine_forget_remark(lethe_store *store) {
    lethe_detail_clear(&store->failure);
    if (own.opening == store->opening) own.opening = 0;
}

void lethe_engine_remark_late(lethe_store *store, lethe_status status, const lethe_detail *detail) {
    if (status == LETHE_OK) return;
    lethe_engine_enter(store);
    lethe_engine_remark(store, detail);
    lethe_engine_leave(store);
}

lethe_status lethe_engine_refuse(lethe_store *store, const char *why) {
    lethe_detail detail;
    lethe_status status = lethe_detail_fill(&detail, LETHE_EINVAL, "%s", why);
    if (store != NULL) lethe_engine_remark_late(store, status, &detail);
    return status;
}

lethe_status lethe_engine_refuse_reader(lethe_store *store) {
    return lethe_engine_refuse(store, "the store was opened to read only; open it to write");
}

void lethe_engine_fail(lethe_store *store, lethe_status status, const lethe_detail *detail) {
    if (store->failed != LETHE_OK) return;
    store->failed = status;
    if (detail != NULL) store->failure = *detail;
    if (store->failure.text[0] == '\0') {
        (void)lethe_detail_fill(&store->failure, status, "%s", lethe_strerror(status));
    }
    lethe_os_condition_wake_all(&store->log.done);
    lethe_os_condition_wake_all(&store->log.work);
    lethe_os_condition_wake_all(&store->fold.wake);
}

void lethe_store_explain(const lethe_store *store, lethe_detail *detail) {
    if (detail == NULL) return;
    *detail = (lethe_detail){""};
    if (store == NULL) return;
    lethe_store *shared = (lethe_store *)(uintptr_t)store; /* only its lock changes */
    lethe_engine_enter(shared);
    bool is_own = store->failed == LETHE_OK && own.opening == store->opening;
    *detail = is_own ? own.detail : store->failure;
    lethe_engine_leave(shared);
}

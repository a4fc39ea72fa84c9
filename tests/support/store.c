/* tests/support/store.c - see store.h. */
#include "support/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

enum { MOST_EVENTS = 4096 };

lethe_bytes test_text(const char *string) {
    return (lethe_bytes){string, strlen(string)};
}

/* Fails the test with what the store says about an error. */
static void check(lethe_status status, const lethe_detail *detail) {
    if (status != LETHE_OK) print_error("%s\n", detail->text);
    assert_ok(status);
}

lethe_status test_store_try_open(const char *path, lethe_store_options options, lethe_store **out,
                                 lethe_detail *detail) {
    options.size = sizeof options;
    return lethe_store_open(path, &options, out, detail);
}

lethe_store *test_store_open_noting(const char *path, lethe_store_options options,
                                    lethe_detail *detail) {
    lethe_store *store;
    check(test_store_try_open(path, options, &store, detail), detail);
    return store;
}

lethe_store *test_store_open(const char *path, lethe_store_options options) {
    lethe_detail detail = {""};
    lethe_store *store = test_store_open_noting(path, options, &detail);
    assert_string_equal(detail.text, "");
    return store;
}

lethe_store *test_store_open_reader(const char *path) {
    return test_store_open(path, (lethe_store_options){.read_only = true});
}

void test_store_close(lethe_store *store) {
    lethe_detail detail = {""};
    check(lethe_store_close(store, &detail), &detail);
}

lethe_status test_store_try_apply(lethe_store *store, const char *id, const char *key,
                                  int64_t delta, uint64_t time_ms, uint8_t *outcome) {
    lethe_change change = {.key = test_text(key), .delta = delta};
    lethe_operation operation = {
        .id = test_text(id), .changes = &change, .change_count = 1, .time_ms = time_ms};
    return lethe_store_apply(store, &operation, 1, outcome, NULL);
}

lethe_outcome test_store_apply(lethe_store *store, const char *id, const char *key, int64_t delta,
                               uint64_t time_ms) {
    uint8_t outcome = UINT8_MAX;
    assert_ok(test_store_try_apply(store, id, key, delta, time_ms, &outcome));
    return (lethe_outcome)outcome;
}

lethe_outcome test_store_add(lethe_store *store, const char *id, uint64_t time_ms) {
    return test_store_apply(store, id, "k", 1, time_ms);
}

void test_store_submit(lethe_store *store, const struct test_event *events, size_t count,
                       uint8_t *outcomes) {
    static lethe_operation operations[MOST_EVENTS];
    static lethe_change changes[MOST_EVENTS];
    uint64_t ticket;
    assert_true(count <= MOST_EVENTS);
    for (size_t i = 0; i < count; i++) {
        changes[i] = (lethe_change){.key = test_text(events[i].key), .delta = events[i].delta};
        operations[i] = (lethe_operation){.id = test_text(events[i].id),
                                          .changes = &changes[i],
                                          .change_count = 1,
                                          .time_ms = events[i].time_ms};
    }
    assert_ok(lethe_store_submit(store, operations, count, NULL, 0, outcomes, NULL, &ticket));
}

void test_store_submit_either(lethe_store *store, const lethe_operation *operations, size_t count,
                              uint8_t *outcomes, uint64_t *ticket) {
    if (count % 2 == 0) {
        assert_ok(lethe_store_submit(store, operations, count, NULL, 0, outcomes, NULL, ticket));
        return;
    }
    lethe_prepared *prepared;
    assert_ok(lethe_prepared_new(count, NULL, &prepared));
    assert_ok(lethe_store_prepare(store, operations, count, prepared));
    assert_ok(lethe_store_submit_prepared(store, prepared, NULL, 0, outcomes, NULL, NULL, ticket));
    lethe_prepared_free(prepared);
}

lethe_outcome test_store_submit_one(lethe_store *store, const char *id, const char *key,
                                    int64_t delta, uint64_t time_ms) {
    uint8_t outcome = UINT8_MAX;
    test_store_submit(store, &(struct test_event){id, key, delta, time_ms}, 1, &outcome);
    return (lethe_outcome)outcome;
}

int64_t test_store_value(lethe_store *store, const char *key) {
    lethe_bytes bytes = test_text(key);
    int64_t value;
    bool found;
    assert_ok(lethe_store_get(store, &bytes, 1, &value, &found));
    return value;
}

lethe_store_stats test_store_stats(lethe_store *store) {
    lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    assert_ok(lethe_store_info(store, &stats));
    return stats;
}

void test_store_explains(lethe_store *store, const char *words) {
    lethe_detail detail;
    lethe_store_explain(store, &detail);
    if (strstr(detail.text, words) == NULL) fail_msg("%s", detail.text);
}

/* The database removes files in a thread of its own. A copy is of one moment if nothing in the
 * folder has changed while it was made; otherwise it is made again. */
void test_store_kill(const struct test_folder *from, struct test_folder *to) {
    char command[4096];
    test_folder_make(to);
    (void)snprintf(command, sizeof command,
                   "for i in $(seq 200); do before=$(ls -lR --full-time '%s') && "
                   "rm -rf '%s' && mkdir '%s' && cp -r '%s/.' '%s' 2>/dev/null && "
                   "[ \"$before\" = \"$(ls -lR --full-time '%s')\" ] && exit 0; sleep 0.02; "
                   "done; exit 1",
                   from->path, to->path, to->path, from->path, to->path, from->path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

/* Goal:   records are found by their ids, and come in the order in which they are due, whatever is
 *         added, moved and removed.
 * Method: random steps beside an array of what should be there; the server's functions are those
 *         of C. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "once/records.h"
#include "support/random.h"
#include "support/server_functions.h"

struct redis_api redis;

enum { IDS = 300, STEPS = 200000 };

static struct test_random chance = {7};

static void random_bytes(unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)test_random_next(&chance);
}

struct thing {
    struct record head;
    unsigned number;
};

static struct thing *known[IDS];

static size_t name_of(unsigned number, char out[16]) {
    return (size_t)snprintf(out, 16, "id-%u", number);
}

/* The earliest time of all, or UINT64_MAX. */
static uint64_t earliest(void) {
    uint64_t found = UINT64_MAX;
    for (unsigned i = 0; i < IDS; i++) {
        if (known[i] != NULL && known[i]->head.due_ms < found) found = known[i]->head.due_ms;
    }
    return found;
}

static void check_due(const struct records *records) {
    uint64_t first = earliest();
    const struct record *due = records_due(records, first);
    if (first == UINT64_MAX) {
        assert_null(records_due(records, UINT64_MAX));
        return;
    }
    assert_non_null(due);
    assert_int_equal(due->due_ms, first);
    if (first > 0) assert_null(records_due(records, first - 1));
}

static void step(struct records *records) {
    unsigned number = (unsigned)(test_random_next(&chance) % IDS);
    uint64_t due_ms = test_random_next(&chance) % 50, kind = test_random_next(&chance) % 3;
    char name[16];
    size_t size = name_of(number, name);
    struct thing *thing = known[number];
    assert_ptr_equal(records_find(records, name, size), thing);
    if (thing == NULL) {
        thing = malloc(sizeof *thing);
        assert_non_null(thing);
        *thing = (struct thing){.head.due_ms = due_ms, .number = number};
        records_add(records, name, size, &thing->head);
        known[number] = thing;
    } else if (kind == 0) {
        records_move(records, &thing->head, due_ms);
    } else if (kind == 1) {
        records_remove(records, &thing->head);
        free(thing);
        known[number] = NULL;
    }
}

static void mark(void *context, struct record *record) {
    const struct thing *thing = (const struct thing *)record;
    assert_ptr_equal(known[thing->number], thing);
    assert_int_equal(record->entry->size, name_of(thing->number, (char[16]){0}));
    ((unsigned *)context)[thing->number]++;
}

static void check_all(const struct records *records) {
    unsigned each[IDS] = {0}, scanned[IDS] = {0}, count = 0;
    records_each(records, mark, each);
    uint64_t cursor = 0;
    do {
        cursor = records_scan(records, cursor, mark, scanned);
    } while (cursor != 0);
    for (unsigned i = 0; i < IDS; i++) {
        assert_int_equal(each[i], known[i] != NULL);
        assert_int_equal(scanned[i], known[i] != NULL);
        count += known[i] != NULL;
    }
    assert_int_equal(records_count(records), count);
}

static void release(void *context, struct record *record) {
    (void)context;
    free(record);
}

static void records_come_in_the_order_of_time(void **state) {
    (void)state;
    struct records records;
    records_init(&records, 4711);
    assert_int_equal(records_memory(&records), 0);
    for (unsigned i = 0; i < STEPS; i++) {
        step(&records);
        if (i % 16 == 0) check_due(&records);
        if (i % 4096 == 0) check_all(&records);
    }
    uint64_t before = 0;
    for (unsigned i = 0; i < 20; i++) {
        struct record *due = records_due(&records, UINT64_MAX);
        assert_true(due->due_ms >= before);
        before = due->due_ms;
        known[((struct thing *)due)->number] = NULL;
        records_remove(&records, due);
        free(due);
    }
    check_all(&records);
    records_drop(&records, release, NULL);
    assert_int_equal(records_count(&records), 0);
    assert_null(records_due(&records, UINT64_MAX));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(records_come_in_the_order_of_time)};
    use_functions_of_c(random_bytes);
    return cmocka_run_group_tests_name("module_records", tests, NULL, NULL);
}

/* Goal:   a group that begins anew knows none of the ids that it had, however many those were and
 *         wherever they lie in its table; before that it knows each, also when its segment is
 *         ended.
 * Method: few and many ids, apart and all at one place, at the table's end too. */
#include "support/test.h"

#include "engine/log/group.h"

enum { SLOTS = LETHE_PENDING_SLOTS };

static lethe_log_id id_of(uint32_t number, bool collide) {
    uint64_t low = collide ? (uint64_t)number * SLOTS + SLOTS - 2 : number * UINT64_C(2654435761);
    return (lethe_log_id){.low = low, .high = 7};
}

static void a_group_begins_empty(void **state) {
    (void)state;
    const uint32_t counts[] = {1, 2, 500, SLOTS / 64, SLOTS / 64 + 1, 5000};
    lethe_group group = {0};
    assert_ok(lethe_group_prepare(&group, NULL, true));
    uint64_t number = 1;
    for (unsigned i = 0; i < 2 * sizeof counts / sizeof counts[0]; i++) {
        uint32_t count = counts[i / 2];
        bool collide = i % 2 == 1;
        assert_ok(lethe_group_begin(&group, number++));
        for (uint32_t each = 0; each < count; each++) {
            /* Asked each time at first, and then for many at once. */
            if (each < count / 2) assert_false(lethe_group_has_id(&group, id_of(each, collide)));
            assert_ok(lethe_group_add_id(&group, id_of(each, collide), each / 3));
        }
        for (unsigned ended = 0; ended < 2; ended++) {
            for (uint32_t each = 0; each < count; each++)
                assert_true(lethe_group_has_id(&group, id_of(each, collide)));
            assert_false(lethe_group_has_id(&group, id_of(count, collide)));
            lethe_log_id other = id_of(count - 1, collide);
            other.high++;
            assert_false(lethe_group_has_id(&group, other));
            if (ended == 0) assert_ok(lethe_group_end_ids(&group));
        }
        assert_ok(lethe_group_begin(&group, number++));
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            if (group.pending.slots[slot] != 0) fail_msg("slot %u is not empty", slot);
        }
    }
    lethe_group_drop(&group);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_group_begins_empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

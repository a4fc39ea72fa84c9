/* Goal:   a program and a library that were compiled against different versions of a struct
 *         understand each other, or the library says LETHE_EINVAL; and it never touches a byte that
 *         the caller does not have.
 * Method: three versions of one struct. The library is the second; callers have each of them. What
 *         lies after a caller's struct is filled with a pattern that would be noticed. */
#include <string.h>

#include "core/sized.h"
#include "support/test.h"

struct first {
    size_t size;
    uint64_t a;
};

struct second {
    size_t size;
    uint64_t a;
    uint64_t b;
};

struct third {
    size_t size;
    uint64_t a;
    uint64_t b;
    uint64_t c;
};

static lethe_status take(const void *theirs, struct second *ours) {
    memset(ours, 0xee, sizeof *ours);
    return LETHE_TAKE(theirs, ours, a);
}

static void missing_fields_are_zero(void **state) {
    (void)state;
    struct third memory = {.size = sizeof(struct first), .a = 7, .b = 8, .c = 9};
    struct second ours;
    assert_int_equal(take(&memory, &ours), LETHE_OK);
    assert_int_equal(ours.size, sizeof ours);
    assert_int_equal(ours.a, 7);
    assert_int_equal(ours.b, 0);
}

static void an_equal_struct_is_taken(void **state) {
    (void)state;
    struct third memory = {.size = sizeof(struct second), .a = 7, .b = 8, .c = 9};
    struct second ours;
    assert_int_equal(take(&memory, &ours), LETHE_OK);
    assert_int_equal(ours.size, sizeof ours);
    assert_int_equal(ours.a, 7);
    assert_int_equal(ours.b, 8);
}

static void a_larger_struct_is_taken_if_its_rest_is_zero(void **state) {
    (void)state;
    struct third memory = LETHE_OPTIONS(struct third, .a = 7, .b = 8);
    struct second ours;
    assert_int_equal(take(&memory, &ours), LETHE_OK);
    assert_int_equal(ours.size, sizeof ours);
    assert_int_equal(ours.a, 7);
    assert_int_equal(ours.b, 8);
    /* Any bit of the rest, the last one too. */
    for (unsigned bit = 0; bit < 64; bit++) {
        memory.c = UINT64_C(1) << bit;
        assert_int_equal(take(&memory, &ours), LETHE_EINVAL);
        assert_int_equal(ours.size | ours.a | ours.b, 0);
    }
}

static void sizes_below_the_first_version_are_refused(void **state) {
    (void)state;
    for (size_t size = 0; size < sizeof(struct first); size++) {
        struct third memory = {.size = size, .a = 7};
        struct second ours;
        assert_int_equal(take(&memory, &ours), LETHE_EINVAL);
        assert_int_equal(ours.size | ours.a | ours.b, 0);
        assert_int_equal(lethe_sized_check(&memory, sizeof(struct first)), LETHE_EINVAL);
        struct second results = {.size = sizeof results, .a = 1, .b = 2};
        assert_int_equal(LETHE_GIVE(&results, &memory, a), LETHE_EINVAL);
        assert_int_equal(memory.a, 7);
    }
}

static void null_is_all_defaults(void **state) {
    (void)state;
    struct second ours;
    assert_int_equal(take(NULL, &ours), LETHE_OK);
    assert_int_equal(ours.size, sizeof ours);
    assert_int_equal(ours.a | ours.b, 0);
}

static void results_are_written_as_far_as_both_go(void **state) {
    (void)state;
    const struct second ours = {.size = sizeof ours, .a = 1, .b = 2};
    const size_t sizes[] = {sizeof(struct first), sizeof(struct second), sizeof(struct third)};
    for (size_t i = 0; i < 3; i++) {
        struct third memory = {.size = sizes[i], .a = 7, .b = 8, .c = 9};
        assert_int_equal(LETHE_GIVE(&ours, &memory, a), LETHE_OK);
        assert_int_equal(memory.size, sizes[i]);
        assert_int_equal(memory.a, 1);
        assert_int_equal(memory.b, i == 0 ? 8 : 2);
        assert_int_equal(memory.c, 9);
    }
    assert_int_equal(LETHE_GIVE(&ours, NULL, a), LETHE_EINVAL);
    assert_int_equal(lethe_sized_check(NULL, sizeof(struct first)), LETHE_EINVAL);
}

static void the_macros_fill_in_the_size(void **state) {
    (void)state;
    struct third made = LETHE_INIT(struct third);
    assert_int_equal(made.size, sizeof made);
    assert_int_equal(made.a | made.b | made.c, 0);
    const struct third *given = &LETHE_OPTIONS(struct third, .c = 3);
    assert_int_equal(given->size, sizeof *given);
    assert_int_equal(given->c, 3);
    assert_int_equal(LETHE_SIZE_WITH(given, a), sizeof(struct first));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_fields_are_zero),
        cmocka_unit_test(an_equal_struct_is_taken),
        cmocka_unit_test(a_larger_struct_is_taken_if_its_rest_is_zero),
        cmocka_unit_test(sizes_below_the_first_version_are_refused),
        cmocka_unit_test(null_is_all_defaults),
        cmocka_unit_test(results_are_written_as_far_as_both_go),
        cmocka_unit_test(the_macros_fill_in_the_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

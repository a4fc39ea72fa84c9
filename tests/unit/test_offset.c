/* Goal:   texts of offsets from UTC are read as they are documented, and nothing else is.
 * Method: the forms at their limits, and near misses. */
#include "support/test.h"

#include <string.h>

#include "lethe/offset.h"

static void offsets_are_read(void **state) {
    (void)state;
    const struct {
        const char *text;
        bool is_one;
        int32_t offset_s;
    } cases[] = {
        {"+00:00", true, 0},      {"-00:00", true, 0},   {"+05:45", true, 20700},
        {"-0530", true, -19800},  {"+09", true, 32400},  {"+23:59", true, 86340},
        {"-23:59", true, -86340}, {"+24:00", false, 0},  {"+00:60", false, 0},
        {"05:45", false, 0},      {"+5:45", false, 0},   {"+05-45", false, 0},
        {"+05:4", false, 0},      {"+05:455", false, 0}, {"", false, 0},
        {"Z", false, 0},          {"+", false, 0},       {"+a9", false, 0},
        {" +09", false, 0},       {"+09 ", false, 0},    {"+0945:", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t offset_s = 77;
        lethe_bytes text = {cases[i].text, strlen(cases[i].text)};
        assert_int_equal(lethe_offset_parse(text, &offset_s), cases[i].is_one);
        assert_int_equal(offset_s, cases[i].offset_s);
    }
    int32_t offset_s;
    assert_false(lethe_offset_parse((lethe_bytes){0}, &offset_s));
    assert_false(lethe_offset_parse((lethe_bytes){"+09", 3}, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(offsets_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

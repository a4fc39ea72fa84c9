/* tests/support/test.h - what every cmocka test includes, in the order cmocka wants it. */
#ifndef LETHE_TESTS_SUPPORT_TEST_H
#define LETHE_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_ok(expression) assert_int_equal((expression), LETHE_OK)

#endif

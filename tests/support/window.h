/* tests/support/window.h - making windows in tests, saving and comparing them. */
#ifndef LETHE_TESTS_SUPPORT_WINDOW_H
#define LETHE_TESTS_SUPPORT_WINDOW_H

#include "lethe/window.h"

/* Makes a window; fails the test on an error. */
lethe_window *test_window_make(const lethe_window_options *options);
/* Replaces a window by what is loaded of what it saves. */
void test_window_reload(lethe_window **window);
/* Both windows are saved as the same bytes. */
void test_window_assert_same(const lethe_window *one, const lethe_window *other);

#endif

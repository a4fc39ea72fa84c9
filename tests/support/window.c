/* tests/support/window.c - see window.h. */
#include "support/window.h"

#include "support/test.h"

lethe_window *test_window_make(const lethe_window_options *options) {
    lethe_window *window;
    assert_ok(lethe_window_new(options, &window));
    return window;
}

void test_window_reload(lethe_window **window) {
    lethe_memory_writer writer = {0};
    assert_ok(lethe_window_save(*window, lethe_sink_to_memory(&writer)));
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    lethe_window_free(*window);
    assert_ok(lethe_window_load(lethe_source_from_memory(&reader), NULL, window));
    lethe_memory_writer_free(&writer);
}

void test_window_assert_same(const lethe_window *one, const lethe_window *other) {
    lethe_memory_writer writers[2] = {{0}, {0}};
    assert_ok(lethe_window_save(one, lethe_sink_to_memory(&writers[0])));
    assert_ok(lethe_window_save(other, lethe_sink_to_memory(&writers[1])));
    assert_int_equal(writers[0].size, writers[1].size);
    assert_memory_equal(writers[0].data, writers[1].data, writers[0].size);
    lethe_memory_writer_free(&writers[0]);
    lethe_memory_writer_free(&writers[1]);
}

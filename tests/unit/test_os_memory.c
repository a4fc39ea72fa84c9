/* Goal:   memory that is populated is backed, and keeps what it has; ends within a page, and
 *         stretches without a whole page, do no harm.
 * Method: mincore says which pages of a mapping are backed. Where the kernel has no
 *         MADV_POPULATE_WRITE, only contents are looked at. */
#include "support/test.h"

#include <string.h>
#include <sys/mman.h>

#include "os/memory.h"

enum { PAGE_BYTES = 4096, PAGES = 2048, BYTES = PAGES * PAGE_BYTES };

static unsigned char backed[PAGES];

/* Small pages, so that touching one backs no other. */
static char *map(void) {
    char *memory = lethe_os_map(BYTES);
    assert_non_null(memory);
    assert_int_equal(madvise(memory, BYTES, MADV_NOHUGEPAGE), 0);
    return memory;
}

static unsigned count_backed(char *memory, size_t from, size_t to) {
    unsigned count = 0;
    assert_int_equal(mincore(memory, BYTES, backed), 0);
    for (size_t page = from; page < to; page++)
        count += backed[page] & 1;
    return count;
}

static bool system_can(char *memory) {
#ifdef MADV_POPULATE_WRITE
    return madvise(memory + BYTES - PAGE_BYTES, PAGE_BYTES, MADV_POPULATE_WRITE) == 0;
#else
    (void)memory;
    return false;
#endif
}

static void memory_is_backed_and_kept(void **state) {
    (void)state;
    char *memory = map();
    memset(memory + 700 * PAGE_BYTES, 'x', 10);
    lethe_os_populate(memory + 300 * PAGE_BYTES + 5, 900 * (size_t)PAGE_BYTES);
    assert_memory_equal(memory + 700 * PAGE_BYTES, "xxxxxxxxxx", 10);
    for (size_t i = 301 * PAGE_BYTES; i < 700 * PAGE_BYTES; i += PAGE_BYTES / 4)
        assert_int_equal(memory[i], 0);
    lethe_os_unmap(memory, BYTES);

    memory = map();
    if (!system_can(memory)) {
        lethe_os_unmap(memory, BYTES);
        skip();
    }
    lethe_os_populate(memory + 300 * PAGE_BYTES + 5, 900 * (size_t)PAGE_BYTES);
    assert_int_equal(count_backed(memory, 0, 301), 0);
    assert_int_equal(count_backed(memory, 301, 1200), 899);
    assert_int_equal(count_backed(memory, 1200, PAGES - 1), 0);
    lethe_os_unmap(memory, BYTES);
}

static void parts_of_pages_are_left(void **state) {
    (void)state;
    char *memory = map();
    lethe_os_populate(memory, 0);
    lethe_os_populate(memory, PAGE_BYTES - 1);
    lethe_os_populate(memory + 1, PAGE_BYTES);
    lethe_os_populate(memory + PAGE_BYTES - 1, PAGE_BYTES);
    assert_int_equal(count_backed(memory, 0, PAGES), 0);
    lethe_os_unmap(memory, BYTES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_backed_and_kept),
        cmocka_unit_test(parts_of_pages_are_left),
    };
    return cmocka_run_group_tests_name("os_memory", tests, NULL, NULL);
}

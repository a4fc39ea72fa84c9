/* tests/support/life.c - see life.h. */
#include "support/life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

struct test_machine test_machine;

uint64_t __wrap_lethe_os_boot_ms(void);
uint64_t __wrap_lethe_os_wall_ms(void);
void __wrap_lethe_os_boot_id(unsigned char out[16]);

uint64_t __wrap_lethe_os_boot_ms(void) {
    return test_machine.boot_ms;
}

uint64_t __wrap_lethe_os_wall_ms(void) {
    return test_machine.wall_ms;
}

void __wrap_lethe_os_boot_id(unsigned char out[16]) {
    memset(out, (int)test_machine.boots, 16);
}

static void open_store(struct test_life *life) {
    life->store = test_store_open(life->folder.path, life->options);
}

void test_life_begin(struct test_life *life, lethe_store_options options, uint64_t seed,
                     uint64_t wall_ms) {
    *life = (struct test_life){.random = {seed}, .options = options};
    life->options.create = true;
    test_folder_make(&life->folder);
    test_machine = (struct test_machine){.boot_ms = 1000000, .wall_ms = wall_ms, .boots = 1};
    open_store(life);
}

void test_life_end(struct test_life *life) {
    test_store_close(life->store);
    life->store = NULL;
}

void test_life_pass(struct test_life *life, uint64_t ms) {
    test_machine.boot_ms += ms;
    test_machine.wall_ms += ms;
    life->true_ms += ms;
    life->clock_ms += ms;
}

void test_life_reopen(struct test_life *life, uint64_t most_ms) {
    test_store_close(life->store);
    test_life_pass(life, test_life_below(life, most_ms));
    open_store(life);
}

void test_life_reboot(struct test_life *life, void (*step_wall)(struct test_life *life)) {
    const uint64_t window_ms = life->options.window_ms, stamped_wall_ms = test_machine.wall_ms;
    test_store_close(life->store);
    uint64_t down_ms = test_life_below(life, 3 * window_ms);
    uint64_t up_ms = test_life_below(life, window_ms / 4);
    test_machine.wall_ms += down_ms + up_ms;
    step_wall(life);
    test_machine.boots++;
    test_machine.boot_ms = up_ms;
    life->true_ms += down_ms + up_ms;
    uint64_t now_ms = test_machine.wall_ms;
    uint64_t by_wall_ms = now_ms > stamped_wall_ms ? now_ms - stamped_wall_ms : 0;
    life->clock_ms += up_ms < by_wall_ms ? up_ms : by_wall_ms;
    open_store(life);
}

void test_life_go_on_from_backup(struct test_life *life) {
    struct test_folder backups, copy;
    test_folder_make(&backups);
    test_folder_make(&copy);
    assert_ok(lethe_store_backup(life->folder.path, backups.path, NULL, NULL));
    test_store_close(life->store);
    assert_ok(lethe_store_restore(backups.path, 0, copy.path, NULL, NULL));
    test_folder_remove(&life->folder);
    test_folder_remove(&backups);
    life->folder = copy;
    test_life_pass(life, test_life_below(life, 100));
    open_store(life);
}

lethe_bytes test_name(char out[20], const char *kind, unsigned number) {
    return (lethe_bytes){out, (size_t)sprintf(out, "%s-%u", kind, number)};
}

unsigned test_number_of(lethe_bytes name, const char *kind) {
    char text[20] = "";
    size_t prefix = strlen(kind);
    assert_true(name.size < sizeof text && name.size > prefix + 1);
    memcpy(text, name.data, name.size);
    assert_memory_equal(text, kind, prefix);
    assert_int_equal(text[prefix], '-');
    return (unsigned)strtoul(text + prefix + 1, NULL, 10);
}

/* Goal:   what every public function of a structure owes its caller: NULL where an object or a
 *         result is needed, and arguments that are half filled, are LETHE_EINVAL, change nothing
 *         and leave no result; structs with a size follow the rules of lethe/status.h.
 * Method: every function of every row of structures/structure.h, with each argument missing in
 *         turn. Options, shapes and stats of all sizes around their own, followed by bytes that
 *         are zero, or not, or must not be written. */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "support/structures.h"

/* A call that must be refused, by its name. */
static void check_refused(const struct structure *row, const char *call, lethe_status status) {
    if (status != LETHE_EINVAL) fail_msg("%s: %s: %s", row->name, call, lethe_strerror(status));
}

#define REFUSED(call) check_refused(row, #call, (call))

/* Something that is not NULL where a function must set a result to NULL. */
static char anything;
#define ANYTHING ((void *)&anything)

static void *no_memory(void *context, size_t size) {
    (void)context, (void)size;
    return NULL;
}

/* Makes the structure, in a folder where it needs one. */
static lethe_status make(const struct structure *row, const char *folder, const void *options,
                         void **out) {
    return row->lives_in_folder ? row->open(folder, options, out, NULL) : row->make(options, out);
}

/* Options in more room than they take, all zero except for their size. */
struct roomy {
    _Alignas(max_align_t) unsigned char bytes[STRUCTURE_REPORT_BYTES + 64];
};

static struct roomy roomy_of(size_t size) {
    struct roomy roomy = {{0}};
    memcpy(roomy.bytes, &size, sizeof size);
    return roomy;
}

static void making_refuses_what_is_missing(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    EACH_STRUCTURE(row) {
        void *made = ANYTHING;
        REFUSED(make(row, folder.path, NULL, NULL));
        if (row->lives_in_folder) {
            REFUSED(make(row, NULL, NULL, &made));
            assert_null(made);
        }
        if (row->plan != NULL) {
            struct roomy shape = roomy_of(row->shape_bytes), small = roomy_of(8), no_size = {{0}};
            REFUSED(row->plan(NULL, NULL));
            REFUSED(row->plan(NULL, &small));
            REFUSED(row->plan(&no_size, &shape));
            assert_ok(row->plan(NULL, &shape));
        }
        /* An allocator that cannot release. */
        const lethe_allocator half = {.allocate_zeroed = no_memory};
        made = ANYTHING;
        REFUSED(sample_try(row, &folder, &half, &made));
        assert_null(made);
        row->free(NULL);
    }
    test_folder_remove(&folder);
}

static void options_follow_the_rules_of_sizes(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    EACH_STRUCTURE(row) {
        size_t own = row->options_bytes;
        size_t first = row->first_options_bytes != 0 ? row->first_options_bytes : own;
        void *made = ANYTHING;
        for (size_t size = 0; size < first; size++) {
            struct roomy options = roomy_of(size);
            made = ANYTHING;
            check_refused(row, "options that are too small",
                          make(row, folder.path, &options, &made));
            assert_null(made);
        }
        for (size_t size = first; size <= own + 64; size += 8) {
            struct roomy options = roomy_of(size);
            char path[300];
            assert_true(snprintf(path, sizeof path, "%s/%s-%zu", folder.path, row->name, size) > 0);
            assert_ok(make(row, path, &options, &made));
            row->free(made);
            /* What comes after them is none of its business; what they contain and it does not
             * know is. */
            options.bytes[size] = 1;
            assert_ok(make(row, path, &options, &made));
            row->free(made);
            if (size <= own) continue;
            options.bytes[size - 1] = 1;
            made = ANYTHING;
            check_refused(row, "options with an unknown field", make(row, path, &options, &made));
            assert_null(made);
        }
    }
    test_folder_remove(&folder);
}

/* Asks for a report of so many bytes into memory that must be left alone after them. first is the
 * size of its first version, own that of now. */
static void check_report(const struct structure *row, const void *object, size_t first, size_t own,
                         bool is_shape, size_t size) {
    struct roomy report, before;
    memset(report.bytes, 0x5a, sizeof report.bytes);
    memcpy(report.bytes, &size, sizeof size);
    before = report;
    lethe_status status = is_shape ? row->get_shape(object, report.bytes)
                                   : row->info(object, SAMPLE_NOW_MS, report.bytes);
    if (size < first) {
        check_refused(row, is_shape ? "a shape that is too small" : "stats that are too small",
                      status);
        assert_memory_equal(report.bytes, before.bytes, sizeof report.bytes);
        return;
    }
    assert_ok(status);
    assert_memory_equal(report.bytes, &size, sizeof size);
    size_t filled = size < own ? size : own;
    assert_memory_equal(report.bytes + filled, before.bytes + filled, sizeof report.bytes - filled);
    assert_true(memcmp(report.bytes, before.bytes, filled) != 0);
}

static void reports_follow_the_rules_of_sizes(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    EACH_STRUCTURE(row) {
        void *object = sample_make(row, &folder);
        size_t shape = row->shape_bytes, stats = row->stats_bytes;
        size_t first = row->first_shape_bytes != 0 ? row->first_shape_bytes : shape;
        for (size_t size = 0; row->get_shape != NULL && size <= shape + 64; size++)
            check_report(row, object, first, shape, true, size);
        for (size_t size = 0; row->info != NULL && size <= stats + 64; size++)
            check_report(row, object, stats, stats, false, size);
        struct roomy shape_report = roomy_of(shape), stats_report = roomy_of(stats);
        if (row->get_shape != NULL) {
            REFUSED(row->get_shape(NULL, &shape_report));
            REFUSED(row->get_shape(object, NULL));
        }
        if (row->info != NULL) {
            REFUSED(row->info(NULL, 0, &stats_report));
            REFUSED(row->info(object, 0, NULL));
        }
        row->free(object);
    }
    test_folder_remove(&folder);
}

static void keys_refuse_what_is_missing(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    EACH_STRUCTURE(row) {
        if (row->test == NULL) continue;
        void *object = sample_make(row, &folder);
        const lethe_hash hash = sample_hash(row, object, 0);
        uint8_t answer = 7;
        uint64_t count = 7;
        if (row->add != NULL) {
            REFUSED(row->add(NULL, &hash, 1, SAMPLE_NOW_MS));
            REFUSED(row->add(object, NULL, 1, SAMPLE_NOW_MS));
            assert_ok(row->add(object, NULL, 0, SAMPLE_NOW_MS));
        }
        REFUSED(row->test(NULL, &hash, 1, SAMPLE_NOW_MS, &answer));
        REFUSED(row->test(object, NULL, 1, SAMPLE_NOW_MS, &answer));
        REFUSED(row->test(object, &hash, 1, SAMPLE_NOW_MS, NULL));
        assert_ok(row->test(object, NULL, 0, SAMPLE_NOW_MS, NULL));
        if (row->remove != NULL) REFUSED(row->remove(NULL, &hash, 1, SAMPLE_NOW_MS, &answer));
        if (row->count != NULL) {
            REFUSED(row->count(NULL, &hash, 1, SAMPLE_NOW_MS, &count));
            REFUSED(row->count(object, NULL, 1, SAMPLE_NOW_MS, &count));
            REFUSED(row->count(object, &hash, 1, SAMPLE_NOW_MS, NULL));
            assert_ok(row->count(object, NULL, 0, SAMPLE_NOW_MS, NULL));
        }
        bool more;
        if (row->work != NULL) {
            REFUSED(row->work(NULL, SAMPLE_NOW_MS, 1, &more));
            REFUSED(row->work(object, SAMPLE_NOW_MS, 1, NULL));
        }
        assert_int_equal(answer, 7);
        assert_int_equal(count, 7);
        assert_int_equal(row->seed(NULL), 0);
        row->free(object);
    }
    test_folder_remove(&folder);
}

static void saving_refuses_what_is_missing(void **state) {
    (void)state;
    const lethe_sink no_sink = {0};
    const lethe_source no_source = {.size_bytes = 1000};
    EACH_STRUCTURE(row) {
        if (row->save == NULL) continue;
        void *object = sample_make(row, NULL), *made = ANYTHING;
        lethe_memory_writer writer = {0}, before;
        lethe_memory_reader reader = {.data = "", .size = 0};
        sample_save(row, object, &before);
        REFUSED(row->save(NULL, lethe_sink_to_memory(&writer)));
        REFUSED(row->save(object, no_sink));
        assert_int_equal(writer.size, 0);
        REFUSED(row->load(no_source, NULL, &made));
        assert_null(made);
        REFUSED(row->load(lethe_source_from_memory(&reader), NULL, NULL));
        if (row->save_file != NULL) {
            made = ANYTHING;
            REFUSED(row->save_file(NULL, "/dev/null/no", NULL));
            REFUSED(row->save_file(object, NULL, NULL));
            REFUSED(row->load_file(NULL, NULL, &made, NULL));
            assert_null(made);
            REFUSED(row->load_file("/dev/null/no", NULL, NULL, NULL));
        }
        if (row->copy != NULL) {
            made = ANYTHING;
            REFUSED(row->copy(NULL, &made));
            assert_null(made);
            REFUSED(row->copy(object, NULL));
        }
        if (row->merge != NULL) {
            REFUSED(row->merge(NULL, object));
            REFUSED(row->merge(object, NULL));
        }
        lethe_memory_writer after;
        sample_save(row, object, &after);
        assert_int_equal(before.size, after.size);
        assert_memory_equal(before.data, after.data, before.size);
        lethe_memory_writer_free(&before);
        lethe_memory_writer_free(&after);
        row->free(object);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(making_refuses_what_is_missing),
        cmocka_unit_test(options_follow_the_rules_of_sizes),
        cmocka_unit_test(reports_follow_the_rules_of_sizes),
        cmocka_unit_test(keys_refuse_what_is_missing),
        cmocka_unit_test(saving_refuses_what_is_missing),
    };
    return cmocka_run_group_tests_name("structures_arguments", tests, NULL, NULL);
}

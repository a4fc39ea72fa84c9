/* Goal:   what every structure is saved as is read back as it was, and nothing else is read as it.
 * Method: a sample of every row of structures/structure.h that can be saved: through memory and
 *         through files, with each bit flipped, cut off at each byte, under the names of all other
 *         types and under other versions. The golden files of all types, which must load and be
 *         written again as they are. */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "support/structures.h"

static void assert_same_bytes(const struct structure *row, const lethe_memory_writer *one,
                              const lethe_memory_writer *other) {
    if (one->size != other->size || memcmp(one->data, other->data, one->size) != 0)
        fail_msg("%s: other bytes", row->name);
}

/* Saved again, an object has the bytes that another was saved as. */
static void assert_saves_as(const struct structure *row, const void *object,
                            const lethe_memory_writer *expected) {
    lethe_memory_writer writer;
    sample_save(row, object, &writer);
    assert_same_bytes(row, expected, &writer);
    lethe_memory_writer_free(&writer);
}

static void assert_answers_alike(const struct structure *row, const void *one, const void *other) {
    assert_true(row->seed(one) == row->seed(other));
    for (uint64_t n = 0; n < 4 * SAMPLE_KEYS; n++) {
        lethe_hash hash = sample_hash(row, one, n);
        uint8_t first = 2, second = 3;
        assert_ok(row->test(one, &hash, 1, SAMPLE_NOW_MS, &first));
        assert_ok(row->test(other, &hash, 1, SAMPLE_NOW_MS, &second));
        assert_int_equal(first, second);
        if (n < SAMPLE_KEYS && row->add != NULL && !row->may_miss && !first)
            fail_msg("%s: lost a key", row->name);
        if (row->count == NULL) continue;
        uint64_t counts[2] = {1, 2};
        assert_ok(row->count(one, &hash, 1, SAMPLE_NOW_MS, &counts[0]));
        assert_ok(row->count(other, &hash, 1, SAMPLE_NOW_MS, &counts[1]));
        assert_int_equal(counts[0], counts[1]);
    }
}

static void what_is_loaded_is_what_was_saved(void **state) {
    (void)state;
    EACH_STRUCTURE(row) {
        if (row->save == NULL) continue;
        void *object = sample_make(row, NULL), *loaded;
        lethe_memory_writer writer;
        sample_save(row, object, &writer);
        assert_ok(sample_load(row, writer.data, writer.size, NULL, &loaded));
        assert_ptr_equal(structure_of_object(row, loaded), row);
        assert_answers_alike(row, object, loaded);
        assert_saves_as(row, loaded, &writer);
        /* And they go on alike. */
        if (row->add != NULL) {
            for (uint64_t n = 1000; n < 1040; n++) {
                lethe_hash hash = sample_hash(row, object, n);
                assert_int_equal(row->add(object, &hash, 1, SAMPLE_NOW_MS + n),
                                 row->add(loaded, &hash, 1, SAMPLE_NOW_MS + n));
            }
            lethe_memory_writer later;
            sample_save(row, object, &later);
            assert_saves_as(row, loaded, &later);
            lethe_memory_writer_free(&later);
        }
        row->free(object);
        row->free(loaded);
        lethe_memory_writer_free(&writer);
    }
}

static void files_keep_it_all(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    char path[300], missing[300];
    (void)snprintf(path, sizeof path, "%s/saved", folder.path);
    (void)snprintf(missing, sizeof missing, "%s/missing", folder.path);
    EACH_STRUCTURE(row) {
        if (row->save_file == NULL) continue;
        void *object = sample_make(row, NULL), *loaded;
        lethe_memory_writer writer;
        lethe_detail detail = {""};
        sample_save(row, object, &writer);
        assert_ok(row->save_file(object, path, &detail));
        assert_ok(row->load_file(path, NULL, &loaded, &detail));
        assert_string_equal(detail.text, "");
        assert_saves_as(row, loaded, &writer);
        row->free(loaded);
        loaded = object;
        assert_int_equal(row->load_file(missing, NULL, &loaded, &detail), LETHE_ENOTFOUND);
        assert_null(loaded);
        assert_non_null(strstr(detail.text, missing));
        row->free(object);
        lethe_memory_writer_free(&writer);
    }
    test_folder_remove(&folder);
}

/* Each bit flipped, and cut off at each byte. */
static void any_damage_is_noticed(void **state) {
    (void)state;
    struct specimens specimens = specimens_gather();
    for (size_t i = 0; i < specimens.count; i++) {
        const struct specimen *specimen = &specimens.all[i];
        for (size_t bit = 0; bit < 8 * specimen->size; bit++) {
            specimen->data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            void *loaded = &specimens;
            lethe_status status =
                sample_load(specimen->row, specimen->data, specimen->size, NULL, &loaded);
            if (status != LETHE_ECORRUPT || loaded != NULL)
                fail_msg("%s: bit %zu: %s", specimen->name, bit, lethe_strerror(status));
            specimen->data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        for (size_t size = 0; size < specimen->size; size++) {
            void *loaded = &specimens;
            lethe_status status = sample_load(specimen->row, specimen->data, size, NULL, &loaded);
            if (status != LETHE_ECORRUPT || loaded != NULL)
                fail_msg("%s: %zu bytes: %s", specimen->name, size, lethe_strerror(status));
        }
    }
    specimens_free(&specimens);
}

static void assert_refused(const struct structure *row, const char *type, uint16_t version,
                           lethe_status expected) {
    lethe_memory_writer writer;
    forge_frame(type, version, "", 0, &writer);
    void *loaded = &writer;
    lethe_status status = sample_load(row, writer.data, writer.size, NULL, &loaded);
    if (status != expected || loaded != NULL)
        fail_msg("%s: %s version %u: %s", row->name, type, version, lethe_strerror(status));
    lethe_memory_writer_free(&writer);
}

static void other_types_and_versions_are_told_apart(void **state) {
    (void)state;
    EACH_STRUCTURE(row) {
        if (row->load == NULL) continue;
        assert_refused(row, "ELSE", row->version, LETHE_ETYPE);
        EACH_STRUCTURE(other) {
            if (other->type != NULL && strcmp(other->type, row->type) != 0)
                assert_refused(row, other->type, other->version, LETHE_ETYPE);
        }
        uint16_t newest = row->newest_version != 0 ? row->newest_version : row->version;
        assert_refused(row, row->type, newest + 1, LETHE_EVERSION);
        /* A version that is known, without a payload. */
        for (unsigned version = row->oldest_version; version <= newest; version++)
            assert_refused(row, row->type, (uint16_t)version, LETHE_ECORRUPT);
    }
}

/* What was written once is read for ever, and is written again as it was, if that version still is
 * written. Every structure has such a file. */
static void golden_files_are_read(void **state) {
    (void)state;
    struct specimens specimens = specimens_gather();
    EACH_STRUCTURE(row) {
        unsigned golden = 0;
        for (size_t i = 0; i < specimens.count; i++) {
            const struct specimen *specimen = &specimens.all[i];
            if (specimen->row != row || strcmp(specimen->name, row->name) == 0) continue;
            void *loaded;
            assert_ok(sample_load(row, specimen->data, specimen->size, NULL, &loaded));
            const lethe_memory_writer written = {.data = specimen->data, .size = specimen->size};
            if (specimen->version >= row->version) assert_saves_as(row, loaded, &written);
            row->free(loaded);
            golden++;
        }
        if (row->save != NULL && golden == 0)
            fail_msg("%s: no golden file in tests/golden", row->name);
    }
    specimens_free(&specimens);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_loaded_is_what_was_saved),
        cmocka_unit_test(files_keep_it_all),
        cmocka_unit_test(any_damage_is_noticed),
        cmocka_unit_test(other_types_and_versions_are_told_apart),
        cmocka_unit_test(golden_files_are_read),
    };
    return cmocka_run_group_tests_name("structures_format", tests, NULL, NULL);
}

/* Goal:   the list of a backup has the bytes that are documented, and no other bytes are believed;
 *         a set of files is of one moment, whatever changes while it is taken.
 * Method: a golden file; every bit of a list flipped, every length; a gatherer that changes the
 *         folder behind its own back. */
#include "support/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backup/list.h"
#include "backup/set.h"
#include "os/file.h"
#include "support/folder.h"
#include "support/golden.h"

static void write_text(const char *folder, const char *name, const char *text, const char *mode) {
    char path[400];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static size_t read_list(const char *folder, unsigned char *out, size_t room) {
    char path[400];
    (void)snprintf(path, sizeof path, "%s/backup-7", folder);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(out, 1, room, file);
    fclose(file);
    return size;
}

static void write_list(const char *folder, const unsigned char *data, size_t size) {
    char path[400];
    (void)snprintf(path, sizeof path, "%s/backup-7", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void make_contents(lethe_backup_contents *out) {
    static const char *const names[] = {"acknowledged", "data/CURRENT", "data/000012.sst"};
    *out = (lethe_backup_contents){.backup = {.size = sizeof out->backup,
                                              .number = 7,
                                              .time_ms = 1600000000000,
                                              .copied_bytes = 5,
                                              .records = 1000,
                                              .kind = "store"},
                                   .owner = 99};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        lethe_backup_file *file = lethe_backup_contents_append(out);
        assert_non_null(file);
        (void)snprintf(file->name, sizeof file->name, "%s", names[i]);
        file->size_bytes = 16 + i;
        file->hash = lethe_hash_bytes(99, names[i], strlen(names[i]));
    }
}

static void the_bytes_are_golden(void **state) {
    (void)state;
    static unsigned char bytes[4096];
    struct test_folder folder;
    lethe_backup_contents contents, loaded;
    test_folder_make(&folder);
    make_contents(&contents);
    assert_ok(lethe_backup_write(folder.path, &contents));
    size_t size = read_list(folder.path, bytes, sizeof bytes);
    golden_check("backup-list-v1.bin", bytes, size);
    assert_ok(lethe_backup_read(folder.path, 7, &loaded));
    assert_int_equal(loaded.count, contents.count);
    assert_int_equal(loaded.owner, 99);
    assert_int_equal(loaded.backup.records, 1000);
    assert_int_equal(loaded.backup.bytes, 16 + 17 + 18);
    assert_string_equal(loaded.files[2].name, "data/000012.sst");
    assert_memory_equal(&loaded.files[2].hash, &contents.files[2].hash, sizeof(lethe_hash));
    lethe_backup_contents_free(&loaded);
    for (size_t i = 0; i < size * 8; i++) {
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        write_list(folder.path, bytes, size);
        assert_int_not_equal(lethe_backup_read(folder.path, 7, &loaded), LETHE_OK);
        lethe_backup_contents_free(&loaded);
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    for (size_t cut = 0; cut < size; cut++) {
        write_list(folder.path, bytes, cut);
        assert_int_not_equal(lethe_backup_read(folder.path, 7, &loaded), LETHE_OK);
        lethe_backup_contents_free(&loaded);
    }
    lethe_backup_contents_free(&contents);
    test_folder_remove(&folder);
}

static void names_do_not_lead_out(void **state) {
    (void)state;
    static const char *const good[] = {"manifest", "data/CURRENT", "run-00ff", "a_b.c", "d/e"};
    static const char *const bad[] = {"",     "/a",   "../a", "a/../b", "a/b/c",
                                      ".a",   "a/.b", "a//b", "a/",     "a b",
                                      "a\nb", "a/..", ".",    "data/.", "\x80"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(lethe_backup_is_name(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(lethe_backup_is_name(bad[i]));
}

/* What happens in the folder while a set is gathered for the first time. */
static enum { NOTHING, PIVOT_GROWS, PIVOT_REPLACED, FILE_GONE, FILE_GROWS } change;
static unsigned gathered;

static void change_folder(const char *folder) {
    char path[400], other[400];
    (void)snprintf(path, sizeof path, "%s/pivot", folder);
    (void)snprintf(other, sizeof other, "%s/other", folder);
    if (change == PIVOT_GROWS) write_text(folder, "pivot", "more", "a");
    if (change == PIVOT_REPLACED) {
        write_text(folder, "other", "pivot", "w");
        assert_int_equal(rename(other, path), 0);
    }
    if (change == FILE_GROWS) write_text(folder, "log-2", "later", "a");
    (void)snprintf(path, sizeof path, "%s/log-1", folder);
    if (change == FILE_GONE) assert_int_equal(unlink(path), 0);
}

static lethe_status gather(lethe_set *set, lethe_detail *detail) {
    (void)detail;
    lethe_status status = lethe_set_add(set, "pivot", LETHE_SET_PIVOT);
    if (status == LETHE_OK) status = lethe_set_add_all(set, "", "log-", "", LETHE_SET_PLAIN);
    if (gathered++ == 0) change_folder(set->folder);
    return status;
}

static void a_set_is_of_one_moment(void **state) {
    (void)state;
    static const struct {
        int change;
        unsigned attempts, files;
    } cases[] = {{NOTHING, 1, 3},
                 {PIVOT_GROWS, 2, 3},
                 {PIVOT_REPLACED, 2, 3},
                 {FILE_GONE, 2, 2},
                 {FILE_GROWS, 1, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_folder folder;
        lethe_set set;
        char data[8] = "";
        test_folder_make(&folder);
        write_text(folder.path, "pivot", "pivot", "w");
        write_text(folder.path, "log-1", "first", "w");
        write_text(folder.path, "log-2", "next", "w");
        change = cases[i].change;
        gathered = 0;
        assert_ok(lethe_set_take(&set, folder.path, gather, NULL));
        assert_int_equal(gathered, cases[i].attempts);
        assert_int_equal(set.count, cases[i].files);
        /* The last log first, and as long as it was then. */
        assert_string_equal(set.files[1].name, "log-2");
        assert_int_equal(set.files[1].size_bytes, 4);
        test_folder_remove(&folder);
        /* What is held can be read when its name is gone. */
        assert_ok(lethe_set_read(&set.files[1], 0, data, 4));
        assert_string_equal(data, "next");
        assert_false(lethe_set_is_current(&set));
        lethe_set_drop(&set);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(names_do_not_lead_out),
        cmocka_unit_test(a_set_is_of_one_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* tests/support/golden.c - see golden.h. */
#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

static FILE *open_golden(const char *name, const char *mode) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TEST_GOLDEN_DIR, name);
    return fopen(path, mode);
}

void *golden_read(const char *name, size_t *size) {
    FILE *file = open_golden(name, "rb");
    if (file == NULL) fail_msg("no golden file %s; LETHE_GOLDEN_WRITE=1 writes it", name);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    void *data = malloc(*size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, file), *size);
    fclose(file);
    return data;
}

void golden_check(const char *name, const void *data, size_t size) {
    FILE *existing = open_golden(name, "rb");
    if (existing == NULL && getenv("LETHE_GOLDEN_WRITE") != NULL) {
        FILE *file = open_golden(name, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(data, 1, size, file), size);
        fclose(file);
        return;
    }
    if (existing != NULL) fclose(existing);
    size_t golden_size;
    void *golden = golden_read(name, &golden_size);
    assert_int_equal(size, golden_size);
    assert_memory_equal(data, golden, size);
    free(golden);
}

/* Goal:   no file makes a loader crash, leak or allocate out of proportion, whoever wrote it, and
 *         what loads works.
 * Method: samples of every row of structures/structure.h and all golden files, their payloads
 *         changed byte by byte, field by field and in length, under checksums that are right. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "support/structures.h"

/* So many changed payloads must be refused at least: the test is known to reach the checks. */
enum { LEAST_REFUSED = 40, HEAD_BYTES = 320, KEYS = 40, KEYS_IN_TIME = 200 };

static const struct structure *used;

/* Whatever it is, it must work. */
static void use(void *object) {
    struct structure_facts facts;
    assert_ok(structure_report(used, object, 0, &facts));
    uint64_t now_ms = structure_number(&facts, "clock_ms");
    /* A sketch that keeps its most frequent keys takes keys only. */
    uint64_t keys = structure_fact(&facts, "clock_ms") != NULL ? KEYS_IN_TIME : KEYS;
    bool takes_hashes = used->add != NULL && structure_number(&facts, "top") == 0, more;
    for (uint64_t n = 0; n < keys; n++, now_ms += 100) {
        lethe_hash hash = sample_hash(used, object, n);
        uint8_t present = 0;
        lethe_status added =
            used->add != NULL ? used->add(object, &hash, 1, now_ms) : LETHE_ENOTFOUND;
        if (takes_hashes && added != LETHE_OK && added != LETHE_EFULL)
            fail_msg("%s: adding: %s", used->name, lethe_strerror(added));
        assert_ok(used->test(object, &hash, 1, now_ms, &present));
        if (added == LETHE_OK && used->count == NULL && !present)
            fail_msg("%s: lost a key", used->name);
        uint64_t count;
        if (used->count != NULL) assert_ok(used->count(object, &hash, 1, now_ms, &count));
        if (used->remove != NULL && n % 2 == 0)
            (void)!used->remove(object, &hash, 1, now_ms, &present);
    }
    assert_ok(structure_report(used, object, now_ms, &facts));
    if (used->work != NULL) assert_ok(used->work(object, 2 * now_ms, 8, &more));
    lethe_memory_writer writer;
    sample_save(used, object, &writer);
    lethe_memory_writer_free(&writer);
}

/* Loads a changed payload; returns whether it was refused. */
static bool try_payload(const struct specimen *specimen, const unsigned char *payload,
                        size_t size) {
    size_t peak_bytes;
    used = specimen->row;
    lethe_status status = forge_load(used, specimen->version, payload, size, &peak_bytes, use);
    if (status != LETHE_OK && status != LETHE_ECORRUPT)
        fail_msg("%s: %s", specimen->name, lethe_strerror(status));
    if (peak_bytes >= 3 * size + 65536)
        fail_msg("%s: %zu bytes allocated for %zu", specimen->name, peak_bytes, size);
    return status == LETHE_ECORRUPT;
}

static unsigned char *payload_of(const struct specimen *specimen) {
    return specimen->data + LETHE_FRAME_HEADER_BYTES;
}

static size_t payload_size(const struct specimen *specimen) {
    return specimen->size - LETHE_FRAME_OVERHEAD_BYTES;
}

static void any_byte_may_be_another(void **state) {
    (void)state;
    static const unsigned char masks[] = {0xff, 0x80, 0x01, 0x10};
    struct specimens specimens = specimens_gather();
    for (size_t n = 0; n < specimens.count; n++) {
        const struct specimen *specimen = &specimens.all[n];
        unsigned char *payload = payload_of(specimen);
        size_t size = payload_size(specimen), refused = 0;
        assert_false(try_payload(specimen, payload, size));
        for (size_t at = 0; at < size; at += TEST_SIZED(1, 2)) {
            for (size_t i = 0; i < TEST_SIZED(sizeof masks, 2); i++) {
                payload[at] ^= masks[i];
                refused += try_payload(specimen, payload, size);
                payload[at] ^= masks[i];
            }
        }
        if (refused < TEST_SIZED(LEAST_REFUSED, LEAST_REFUSED / 4))
            fail_msg("%s: only %zu refused", specimen->name, refused);
    }
    specimens_free(&specimens);
}

/* Extreme values in each field of the head. */
static void any_field_may_lie(void **state) {
    (void)state;
    static const uint64_t lies[] = {0,
                                    1,
                                    2,
                                    UINT64_MAX,
                                    UINT64_C(1) << 63,
                                    UINT64_C(0x7ff8000000000000), /* not a number */
                                    UINT64_C(0x7fefffffffffffff), /* the largest double */
                                    UINT64_C(1) << 46};
    struct specimens specimens = specimens_gather();
    for (size_t n = 0; n < specimens.count; n++) {
        const struct specimen *specimen = &specimens.all[n];
        unsigned char *payload = payload_of(specimen), kept[8];
        size_t size = payload_size(specimen);
        for (size_t at = 0; at + 8 <= size && at < HEAD_BYTES; at += 4) {
            memcpy(kept, payload + at, 8);
            for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
                memcpy(payload + at, &lies[i], 8);
                (void)try_payload(specimen, payload, size);
            }
            memcpy(payload + at, kept, 8);
        }
    }
    specimens_free(&specimens);
}

/* A payload that is shorter than it should be, or has more after it. */
static void any_length_may_lie(void **state) {
    (void)state;
    struct specimens specimens = specimens_gather();
    for (size_t n = 0; n < specimens.count; n++) {
        const struct specimen *specimen = &specimens.all[n];
        size_t size = payload_size(specimen);
        unsigned char *longer = calloc(1, size + 64);
        assert_non_null(longer);
        memcpy(longer, payload_of(specimen), size);
        for (size_t length = 0; length <= size + 64; length += TEST_SIZED(1, 3))
            if (!try_payload(specimen, longer, length) && length != size)
                fail_msg("%s: %zu bytes of %zu", specimen->name, length, size);
        free(longer);
    }
    specimens_free(&specimens);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_byte_may_be_another),
        cmocka_unit_test(any_field_may_lie),
        cmocka_unit_test(any_length_may_lie),
    };
    return cmocka_run_group_tests_name("structures_hostile", tests, NULL, NULL);
}

/* Fuzzes what reads a cascade's files: the manifest, a page, a record of the log. The first byte
 * chooses. Checksums are made right, so that what is behind them is reached: whoever writes
 * hostile files can do that too. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "filter/cascade/log.h"
#include "filter/cascade/manifest.h"
#include "filter/cascade/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What loads makes sense, and saves to the same bytes. */
static void try_manifest(const uint8_t *data, size_t size) {
    lethe_memory_writer frame = {0}, again = {0};
    lethe_encoder *encoder;
    if (lethe_encoder_begin(lethe_sink_to_memory(&frame), "CASC", 1, size, NULL, &encoder) !=
        LETHE_OK) {
        abort();
    }
    lethe_encoder_put_bytes(encoder, data, size);
    if (lethe_encoder_end(encoder) != LETHE_OK) abort();
    struct lethe_cascade_manifest *manifest = malloc(sizeof *manifest);
    if (manifest == NULL) abort();
    lethe_memory_reader reader = {.data = frame.data, .size = frame.size};
    if (lethe_cascade_manifest_load(lethe_source_from_memory(&reader), manifest) == LETHE_OK) {
        assert(lethe_cascade_manifest_save(manifest, lethe_sink_to_memory(&again)) == LETHE_OK);
        assert(again.size == frame.size && memcmp(again.data, frame.data, frame.size) == 0);
    }
    free(manifest);
    lethe_memory_writer_free(&frame);
    lethe_memory_writer_free(&again);
}

/* What reads is in order, and is found. */
static void try_page(const uint8_t *data, size_t size) {
    enum { PAGE = LETHE_CASCADE_PAGE_BYTES };
    static uint64_t numbers[LETHE_CASCADE_PAGE_ENTRIES];
    static uint16_t which[LETHE_CASCADE_PAGE_ENTRIES];
    static struct lethe_cascade_value values[LETHE_CASCADE_PAGE_ENTRIES];
    unsigned char *bytes = calloc(1, PAGE); /* of its own, so that reading past its end is seen */
    if (bytes == NULL) abort();
    memcpy(bytes, data, size < PAGE ? size : PAGE);
    uint64_t check = lethe_checksum(7, bytes + 8, PAGE - 8), number;
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(check >> 8 * i);
    struct lethe_cascade_page page;
    struct lethe_cascade_value value;
    if (lethe_cascade_page_open(bytes, 7, &page) == LETHE_OK) {
        struct lethe_cascade_page_place place = {0}, from = {0};
        (void)lethe_cascade_page_find(&page, &place, page.base ^ (check >> 40), &number, &value);
        place = (struct lethe_cascade_page_place){0};
        (void)lethe_cascade_page_find(&page, &place, check, &number, &value);
        if (lethe_cascade_page_read(&page, numbers, which, values) == LETHE_OK) {
            for (unsigned i = 0; i < page.count; i++) {
                assert(lethe_cascade_page_find(&page, &from, numbers[i], &number, &value));
                assert(number == numbers[i]);
            }
        }
    }
    free(bytes);
}

static void try_record(const uint8_t *data, size_t size) {
    static struct lethe_cascade_record record;
    enum { HEADER = 32, LARGEST = HEADER + LETHE_CASCADE_RECORD_KEYS * 8 };
    if (size < HEADER || size > LARGEST) return;
    unsigned char *bytes = malloc(size), *again = malloc(LARGEST + 8);
    if (bytes == NULL || again == NULL) abort();
    memcpy(bytes, data, size);
    unsigned width = 1 + data[8] % 8;
    uint64_t check = lethe_checksum(7, bytes + 8, size - 8);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(check >> 8 * i);
    size_t used = lethe_cascade_record_decode(bytes, size, width, 7, &record);
    if (used != 0) {
        assert(used <= size && record.count >= 1 && record.count <= LETHE_CASCADE_RECORD_KEYS);
        assert(lethe_cascade_record_encode(&record, width, 7, again) == used);
        assert(memcmp(bytes, again, used) == 0);
    }
    free(bytes);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    if (data[0] % 3 == 0) try_manifest(data + 1, size - 1);
    if (data[0] % 3 == 1) try_page(data + 1, size - 1);
    if (data[0] % 3 == 2) try_record(data + 1, size - 1);
    return 0;
}

/* unpack.c - four decompressors behind one call.
 *
 * IDEA    Each format has a row of functions, struct packing. unpack() calls one step of the
 *         library's decompressor; what differs is how a library reports the end of a member and how
 *         the next member is begun.
 * I1      is_between is set exactly when a member has ended, all of it is written, and nothing of
 *         another was taken. The data may end there and nowhere else.
 * I2      After the last member of gzip there may be zeros, which tapes and block devices leave and
 *         gzip(1) ignores. After zeros comes nothing else.
 * WHY     Ten bytes are compared for bzip2, whose magic "BZh" could be the first word of a text.
 *         Where an input is cut off before that, a few of them say too little, and its name
 *         decides. */
#define ZLIB_CONST /* the input of a z_stream is const */
#include "input/unpack.h"

#include <assert.h>
#include <bzlib.h>
#include <limits.h>
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define XZ_MEMORY_BYTES (UINT64_C(256) << 20)

struct unpacker {
    const struct packing *packing;
    bool is_between;
    /* Of gzip: zeros have followed a member. */
    bool is_padded;
    union {
        z_stream gzip;
        ZSTD_DStream *zstd;
        bz_stream bzip2;
        lzma_stream xz;
    };
};

struct packing {
    const char *name, *tool, *ending;
    bool (*begin)(struct unpacker *unpacker);
    enum unpack_result (*step)(struct unpacker *unpacker, struct unpack_step *step);
    void (*end)(struct unpacker *unpacker);
};

/* --- gzip */

static bool begin_gzip(struct unpacker *unpacker) {
    return inflateInit2(&unpacker->gzip, MAX_WBITS + 16) == Z_OK;
}

/* Takes the zeros after the last member (I2). */
static enum unpack_result skip_zeros(struct unpacker *unpacker, struct unpack_step *step) {
    unpacker->is_padded = true;
    while (step->taken < step->size && step->from[step->taken] == 0)
        step->taken++;
    if (step->taken == step->size) return UNPACK_FINE;
    step->reason = "there is data after the zeros that follow its end";
    return UNPACK_DAMAGED;
}

static enum unpack_result step_gzip(struct unpacker *unpacker, struct unpack_step *step) {
    z_stream *gzip = &unpacker->gzip;
    if (unpacker->is_between && (unpacker->is_padded || step->from[0] == 0))
        return skip_zeros(unpacker, step);
    if (unpacker->is_between) inflateReset(gzip);
    gzip->next_in = step->from;
    gzip->avail_in = (uInt)step->size;
    gzip->next_out = (unsigned char *)step->to;
    gzip->avail_out = (uInt)step->room;
    int result = inflate(gzip, Z_NO_FLUSH);
    step->taken = step->size - gzip->avail_in;
    step->made = step->room - gzip->avail_out;
    unpacker->is_between = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_BUF_ERROR || result == Z_STREAM_END) return UNPACK_FINE;
    step->reason = gzip->msg;
    return result == Z_MEM_ERROR ? UNPACK_NO_MEMORY : UNPACK_DAMAGED;
}

static void end_gzip(struct unpacker *unpacker) {
    inflateEnd(&unpacker->gzip);
}

/* --- zstd */

static bool begin_zstd(struct unpacker *unpacker) {
    unpacker->zstd = ZSTD_createDStream();
    return unpacker->zstd != NULL;
}

static enum unpack_result step_zstd(struct unpacker *unpacker, struct unpack_step *step) {
    ZSTD_inBuffer from = {step->from, step->size, 0};
    ZSTD_outBuffer to = {step->to, step->room, 0};
    size_t result = ZSTD_decompressStream(unpacker->zstd, &to, &from);
    step->taken = from.pos;
    step->made = to.pos;
    unpacker->is_between = result == 0;
    if (!ZSTD_isError(result)) return UNPACK_FINE;
    step->reason = ZSTD_getErrorName(result);
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_frameParameter_windowTooLarge:
        return UNPACK_TOO_LARGE;
    case ZSTD_error_memory_allocation:
        return UNPACK_NO_MEMORY;
    default:
        return UNPACK_DAMAGED;
    }
}

static void end_zstd(struct unpacker *unpacker) {
    ZSTD_freeDStream(unpacker->zstd);
}

/* --- bzip2 */

static bool begin_bzip2(struct unpacker *unpacker) {
    memset(&unpacker->bzip2, 0, sizeof unpacker->bzip2);
    return BZ2_bzDecompressInit(&unpacker->bzip2, 0, 0) == BZ_OK;
}

static void end_bzip2(struct unpacker *unpacker) {
    BZ2_bzDecompressEnd(&unpacker->bzip2);
}

static enum unpack_result step_bzip2(struct unpacker *unpacker, struct unpack_step *step) {
    bz_stream *bzip2 = &unpacker->bzip2;
    if (unpacker->is_between) {
        end_bzip2(unpacker);
        if (!begin_bzip2(unpacker)) return UNPACK_NO_MEMORY;
    }
    bzip2->next_in = (char *)(uintptr_t)step->from; /* the library only reads it */
    bzip2->avail_in = (unsigned)step->size;
    bzip2->next_out = step->to;
    bzip2->avail_out = (unsigned)step->room;
    int result = BZ2_bzDecompress(bzip2);
    step->taken = step->size - bzip2->avail_in;
    step->made = step->room - bzip2->avail_out;
    unpacker->is_between = result == BZ_STREAM_END;
    if (result == BZ_OK || result == BZ_STREAM_END) return UNPACK_FINE;
    return result == BZ_MEM_ERROR ? UNPACK_NO_MEMORY : UNPACK_DAMAGED;
}

/* --- xz */

static bool begin_xz(struct unpacker *unpacker) {
    unpacker->xz = (lzma_stream)LZMA_STREAM_INIT;
    return lzma_stream_decoder(&unpacker->xz, XZ_MEMORY_BYTES, LZMA_CONCATENATED) == LZMA_OK;
}

/* The decoder takes the next stream by itself, and reports an end only when it knows that no more
 * input comes. */
static enum unpack_result step_xz(struct unpacker *unpacker, struct unpack_step *step) {
    lzma_stream *xz = &unpacker->xz;
    xz->next_in = step->from;
    xz->avail_in = step->size;
    xz->next_out = (unsigned char *)step->to;
    xz->avail_out = step->room;
    lzma_ret result = lzma_code(xz, step->is_last ? LZMA_FINISH : LZMA_RUN);
    step->taken = step->size - xz->avail_in;
    step->made = step->room - xz->avail_out;
    unpacker->is_between = result == LZMA_STREAM_END;
    switch (result) {
    case LZMA_OK:
    case LZMA_BUF_ERROR:
    case LZMA_STREAM_END:
        return UNPACK_FINE;
    case LZMA_MEM_ERROR:
        return UNPACK_NO_MEMORY;
    case LZMA_MEMLIMIT_ERROR:
        return UNPACK_TOO_LARGE;
    case LZMA_OPTIONS_ERROR:
        step->reason = "it has options that are not supported";
        return UNPACK_DAMAGED;
    default:
        return UNPACK_DAMAGED;
    }
}

static void end_xz(struct unpacker *unpacker) {
    lzma_end(&unpacker->xz);
}

/* --- All formats */

static const struct packing gzip_packing = {"gzip",     "gzip -dc", ".gz",
                                            begin_gzip, step_gzip,  end_gzip};
static const struct packing zstd_packing = {
    "zstd", "zstd -dc --long=31", ".zst", begin_zstd, step_zstd, end_zstd};
static const struct packing bzip2_packing = {"bzip2",     "bzip2 -dc", ".bz2",
                                             begin_bzip2, step_bzip2,  end_bzip2};
static const struct packing xz_packing = {"xz", "xz -dc", ".xz", begin_xz, step_xz, end_xz};

/* How files begin. Bits that are 0 in the mask of the byte at `loose` may be anything. The first
 * `untextual` bytes are not the beginning of any text in UTF-8. */
static const struct {
    const struct packing *packing;
    size_t size, untextual, loose;
    unsigned char mask;
    unsigned char bytes[PACKING_MAGIC_BYTES];
} magics[] = {
    {&gzip_packing, 3, 2, 0, 0xff, {0x1f, 0x8b, 8}},
    {&zstd_packing, 4, 2, 0, 0xff, {0x28, 0xb5, 0x2f, 0xfd}},
    /* A frame that holds no data: pzstd puts one before each other. */
    {&zstd_packing, 4, 4, 0, 0xf0, {0x50, 0x2a, 0x4d, 0x18}},
    /* A block, or none; after "BZh" comes a digit, the size of blocks. */
    {&bzip2_packing, 10, 10, 3, 0xf0, {'B', 'Z', 'h', 0x30, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59}},
    {&bzip2_packing, 10, 10, 3, 0xf0, {'B', 'Z', 'h', 0x30, 0x17, 0x72, 0x45, 0x38, 0x50, 0x90}},
    {&xz_packing, 6, 1, 0, 0xff, {0xfd, '7', 'z', 'X', 'Z', 0}},
};

enum { MAGICS = sizeof magics / sizeof magics[0] };

/* Whether the bytes are those of a magic, as far as both go. */
static bool agrees(const unsigned char *data, size_t size, size_t magic) {
    for (size_t i = 0; i < size && i < magics[magic].size; i++) {
        unsigned char mask = i == magics[magic].loose ? magics[magic].mask : 0xff;
        if ((data[i] & mask) != magics[magic].bytes[i]) return false;
    }
    return true;
}

const struct packing *packing_recognise(const void *data, size_t size, bool is_all, bool *is_open) {
    *is_open = false;
    for (size_t i = 0; i < MAGICS; i++) {
        if (!agrees(data, size, i)) continue;
        if (size >= magics[i].size) return magics[i].packing;
        *is_open = !is_all;
    }
    return NULL;
}

static bool ends_in(const char *name, const char *ending) {
    size_t size = name != NULL ? strlen(name) : 0, tail = strlen(ending);
    return size > tail && strcmp(name + size - tail, ending) == 0;
}

const struct packing *packing_cut_short(const void *data, size_t size, const char *name) {
    for (size_t i = 0; i < MAGICS; i++) {
        const struct packing *packing = magics[i].packing;
        if (size >= magics[i].size || !agrees(data, size, i)) continue;
        if (size >= magics[i].untextual || ends_in(name, packing->ending)) return packing;
    }
    return NULL;
}

bool packing_lacks_checksum(const unsigned char *data, size_t size, size_t *skip) {
    enum { ZSTD_CHECKSUM = 4, XZ_CHECK = 0x0f };
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    static const unsigned char zstd_skipped[] = {0x2a, 0x4d, 0x18};
    static const unsigned char xz[] = {0xfd, '7', 'z', 'X', 'Z', 0, 0};
    *skip = 0;
    if (size < 8) return false;
    if (memcmp(data, zstd, sizeof zstd) == 0) return (data[4] & ZSTD_CHECKSUM) == 0;
    if ((data[0] & 0xf0) == 0x50 && memcmp(data + 1, zstd_skipped, sizeof zstd_skipped) == 0) {
        *skip = 8 + ((size_t)data[4] | (size_t)data[5] << 8 | (size_t)data[6] << 16 |
                     (size_t)data[7] << 24);
    }
    return memcmp(data, xz, sizeof xz) == 0 && (data[7] & XZ_CHECK) == 0;
}

const char *packing_name(const struct packing *packing) {
    return packing->name;
}

const char *packing_tool(const struct packing *packing) {
    return packing->tool;
}

struct unpacker *unpack_new(const struct packing *packing) {
    struct unpacker *unpacker = calloc(1, sizeof *unpacker);
    if (unpacker == NULL) return NULL;
    unpacker->packing = packing;
    if (packing->begin(unpacker)) return unpacker;
    free(unpacker);
    return NULL;
}

void unpack_free(struct unpacker *unpacker) {
    if (unpacker == NULL) return;
    unpacker->packing->end(unpacker);
    free(unpacker);
}

enum unpack_result unpack(struct unpacker *unpacker, struct unpack_step *step) {
    assert(step->size <= INT_MAX && step->room <= INT_MAX);
    enum unpack_result result = UNPACK_FINE;
    step->taken = step->made = 0;
    step->is_end = false;
    step->reason = NULL;
    if (!unpacker->is_between || step->size > 0) result = unpacker->packing->step(unpacker, step);
    bool is_all = step->is_last && step->taken == step->size && step->made < step->room;
    if (result != UNPACK_FINE || !is_all) return result;
    step->is_end = unpacker->is_between;
    return step->is_end ? UNPACK_FINE : UNPACK_CUT_SHORT;
}

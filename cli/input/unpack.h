/* unpack.h - decompresses gzip, zstd, bzip2 and xz, chosen by the first bytes.
 *
 * Members (frames, streams) that follow each other are one sequence of bytes, as the tools of these
 * formats have it.
 *
 * Memory   Up to 256 MiB, as the data asks for. What asks for more is refused.
 * Threads  An unpacker belongs to one thread. */
#ifndef LETHE_CLI_INPUT_UNPACK_H
#define LETHE_CLI_INPUT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

/* A compression format. */
struct packing;

/* How many first bytes settle the format. */
enum { PACKING_MAGIC_BYTES = 10 };

/* The format that data begins with; NULL for plain bytes. is_all says that no more than size bytes
 * will come. Otherwise *is_open is set if more bytes could still make it a format. */
const struct packing *packing_recognise(const void *data, size_t size, bool is_all, bool *is_open);

/* The format of an input that ends within the bytes that settle it; NULL if there is none. All that
 * there is of it are size bytes, none perhaps. They are taken for the beginning of a format if they
 * cannot be text in UTF-8, or if the file's name ends as is usual for the format; name may be
 * NULL. */
const struct packing *packing_cut_short(const void *data, size_t size, const char *name);

/* Whether a member that begins with data has no checksum, so that damage goes unnoticed: zstd may
 * have none (--no-check), and xz (--check=none). *skip becomes the size of a member that holds no
 * data, after which another may begin; 0 of all others. */
bool packing_lacks_checksum(const unsigned char *data, size_t size, size_t *skip);

/* "gzip", "zstd", "bzip2" or "xz". */
const char *packing_name(const struct packing *packing);

/* The command that decompresses to standard output, for messages. */
const char *packing_tool(const struct packing *packing);

struct unpacker;

/* Returns NULL when memory is short. The caller frees the unpacker. */
struct unpacker *unpack_new(const struct packing *packing);
void unpack_free(struct unpacker *unpacker); /* takes NULL */

enum unpack_result {
    UNPACK_FINE = 0,
    /* is_last was set, and the data ends inside a member. */
    UNPACK_CUT_SHORT,
    UNPACK_DAMAGED,
    /* Decompression would need more memory than the limit. */
    UNPACK_TOO_LARGE,
    UNPACK_NO_MEMORY
};

/* One step: the caller sets the first five fields, the step the others. */
struct unpack_step {
    const unsigned char *from;
    size_t size;
    char *to;
    size_t room;
    /* Nothing comes after these bytes. */
    bool is_last;

    size_t taken, made;
    /* All of the data is decompressed and written; set only with is_last. */
    bool is_end;
    /* What the decompressor says of damage; may be NULL. */
    const char *reason;
};

/* Decompresses some. At least one of taken and made grows, unless the step needs more input or
 * fails. */
enum unpack_result unpack(struct unpacker *unpacker, struct unpack_step *step);

#endif

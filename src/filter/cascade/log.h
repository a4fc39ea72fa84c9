/* filter/cascade/log.h - the log: what is in memory, in the order in which it came.
 *
 * Keys are numbered as they come. A record holds some that are inserted or removed together; files
 * hold records, and are named by the number of their first key. */
#ifndef LETHE_CASCADE_LOG_H
#define LETHE_CASCADE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/status.h"
#include "os/block_file.h"
#include "os/path.h"

enum { LETHE_CASCADE_RECORD_KEYS = 4096, LETHE_CASCADE_LOG_FILES = 256 };

struct lethe_cascade_record {
    uint64_t first_key;
    uint64_t now_ms; /* the cascade's clock */
    uint32_t count;
    bool removes;
    uint64_t fingerprints[LETHE_CASCADE_RECORD_KEYS];
};

struct lethe_cascade_log_file {
    uint64_t first_key;
    uint64_t bytes;
    lethe_os_block_file file;
    bool is_synced;
};

/* The list of files is under the cascade's lock; the tail belongs to the thread that appends. */
struct lethe_cascade_log {
    const char *folder;
    const lethe_allocator *allocator;
    uint64_t identity;
    unsigned width;      /* bytes of a fingerprint */
    uint64_t file_bytes; /* after which a new file begins */
    struct lethe_cascade_log_file files[LETHE_CASCADE_LOG_FILES]; /* the last one is written to */
    unsigned file_count;
    struct lethe_cascade_log_file
        superfluous[LETHE_CASCADE_LOG_FILES]; /* a commit's, on their way out */
    bool folder_is_synced;
    bool changes_nothing; /* replay leaves the files as they are, and nothing can be appended */
    /* The tail. */
    lethe_os_block_file tail; /* the last file */
    uint64_t tail_bytes;
    uint64_t sent_bytes;    /* of these, on their way to the disk */
    uint64_t record_offset; /* where the last record begins in it */
    uint64_t next_key;
    unsigned char *buffer;
};

/* Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_cascade_log_init(struct lethe_cascade_log *log,
                                                     const char *folder, uint64_t identity,
                                                     unsigned fingerprint_bits, uint64_t file_bytes,
                                                     const lethe_allocator *allocator);
void lethe_cascade_log_drop(struct lethe_cascade_log *log);

/* Whether the next record should begin a new file. */
bool lethe_cascade_log_is_long(const struct lethe_cascade_log *log);
/* Makes a new file for what comes. Errors: LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_cascade_log_make(struct lethe_cascade_log *log,
                                                     lethe_os_block_file *out);
/* Appends to it from now on; the cascade's lock is held. */
void lethe_cascade_log_take(struct lethe_cascade_log *log, lethe_os_block_file file);
/* Records in the list how long the last file is; the cascade's lock is held. */
void lethe_cascade_log_note(struct lethe_cascade_log *log);

/* Appends the record, whose first_key is log->next_key. On error the log is as it was.
 * Errors: LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_cascade_log_append(struct lethe_cascade_log *log,
                                                       const struct lethe_cascade_record *record);
/* Has the system begin to write what was appended, where that is enough by now: the next sync then
 * waits for less. An error counts as a failed sync. */
LETHE_MUST_CHECK lethe_status lethe_cascade_log_send(struct lethe_cascade_log *log);
/* Takes back the keys of the last record from its place count on. Errors: LETHE_ENOSPACE,
 * LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_cascade_log_shorten(struct lethe_cascade_log *log,
                                                        struct lethe_cascade_record *record,
                                                        uint32_t count);

/* Reads the log from the file that has first_key on, and shows every record, until what is left
 * makes no sense, or begins at or after end_key where is_exact. Everything up to end_key must be
 * there: else LETHE_ECORRUPT. What is not read is cut off, and files from before are removed,
 * unless the log changes nothing. Errors: LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOMEM, visit's. */
LETHE_MUST_CHECK lethe_status lethe_cascade_log_replay(
    struct lethe_cascade_log *log, uint64_t first_key, uint64_t end_key, bool is_exact,
    lethe_status (*visit)(void *context, struct lethe_cascade_record *record), void *context);

/* The bytes of a record; for the format's tests. Returns its size; 0 when data is no record. */
size_t lethe_cascade_record_encode(const struct lethe_cascade_record *record, unsigned width,
                                   uint64_t identity, unsigned char *out);
size_t lethe_cascade_record_decode(const unsigned char *data, size_t size, unsigned width,
                                   uint64_t identity, struct lethe_cascade_record *out);

uint64_t lethe_cascade_log_bytes(const struct lethe_cascade_log *log);
/* Where the log's file that begins with a key is. */
void lethe_cascade_log_path(const char *folder, uint64_t first_key, char path[LETHE_OS_PATH_BYTES]);

#endif

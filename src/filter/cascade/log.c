/* filter/cascade/log.c - records of keys, in a sequence of files.
 *
 * LAYOUT  A record:
 *         0   check      u64, XXH3-64 of the rest, seeded with the cascade's identity
 *         8   first key  u64, the number of its first key
 *         16  clock      u64, milliseconds
 *         24  count      u32, keys: 1..4096
 *         28  removes    u8, 1 or 0
 *         29  width      u8, bytes of a fingerprint
 *         30  zero       u16
 *         32  fingerprints, count x width
 * I1      Records of a file follow each other without a gap in bytes or in numbers, and so do
 *         files, except that after a file's last record there may be part of one that did not fit
 *         on a full disk. So the log continues if there is a file with the next number.
 * I2      Up to the end that the manifest records, the log was synced before the manifest was: an
 *         error there is damage. After it, a bad record was cut off by a crash.
 * I3      What replay finds after that end is written again, into a file that takes the place of
 *         those that had it, and synced. The first sync of these records may have failed. Then they
 *         can be read until the system restarts although they are not on disk, and no later sync of
 *         the old file reports that.
 * WHY     There are several files, so that the space of records whose keys are in runs can be given
 *         back.
 * WHY     A new file rather than the same bytes in place: nobody knows what the file system has
 *         recorded about a block that it could not write, and other blocks may be sound. */
#include "filter/cascade/log.h"

#include <stdlib.h>
#include <string.h>

#include "core/allocator.h"
#include "core/bytes.h"
#include "core/codec.h"
#include "filter/cascade/run.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/sync.h"

enum { HEADER = 32, LARGEST = HEADER + LETHE_CASCADE_RECORD_KEYS * 8, BUFFER_BYTES = LARGEST + 8 };
enum { SENDS_PER_FILE = 8 };

void lethe_cascade_log_path(const char *folder, uint64_t first_key,
                            char path[LETHE_OS_PATH_BYTES]) {
    (void)lethe_os_path(path, "%s/log-%016llx", folder, (unsigned long long)first_key);
}

lethe_status lethe_cascade_log_init(struct lethe_cascade_log *log, const char *folder,
                                    uint64_t identity, unsigned fingerprint_bits,
                                    uint64_t file_bytes, const lethe_allocator *allocator) {
    *log = (struct lethe_cascade_log){.folder = folder,
                                      .allocator = allocator,
                                      .identity = identity,
                                      .width = (fingerprint_bits + 7) / 8,
                                      .file_bytes = file_bytes,
                                      .tail = {.descriptor = -1}};
    log->buffer = lethe_alloc_zeroed(allocator, BUFFER_BYTES);
    return log->buffer == NULL ? LETHE_ENOMEM : LETHE_OK;
}

void lethe_cascade_log_drop(struct lethe_cascade_log *log) {
    for (unsigned i = 0; i < log->file_count; i++)
        lethe_os_block_close(&log->files[i].file);
    log->file_count = 0;
    lethe_release(log->allocator, log->buffer, BUFFER_BYTES);
    log->buffer = NULL;
}

uint64_t lethe_cascade_log_bytes(const struct lethe_cascade_log *log) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < log->file_count; i++)
        bytes += log->files[i].bytes;
    return bytes;
}

bool lethe_cascade_log_is_long(const struct lethe_cascade_log *log) {
    return log->tail.descriptor < 0 || log->tail_bytes >= log->file_bytes;
}

lethe_status lethe_cascade_log_make(struct lethe_cascade_log *log, lethe_os_block_file *out) {
    char path[LETHE_OS_PATH_BYTES];
    lethe_cascade_log_path(log->folder, log->next_key, path);
    return lethe_os_block_create(path, false, out);
}

void lethe_cascade_log_take(struct lethe_cascade_log *log, lethe_os_block_file file) {
    log->files[log->file_count++] =
        (struct lethe_cascade_log_file){.first_key = log->next_key, .file = file};
    log->folder_is_synced = false;
    log->tail = file;
    log->tail_bytes = log->sent_bytes = 0;
}

void lethe_cascade_log_note(struct lethe_cascade_log *log) {
    struct lethe_cascade_log_file *last = &log->files[log->file_count - 1];
    last->bytes = log->tail_bytes;
    last->is_synced = false;
}

size_t lethe_cascade_record_encode(const struct lethe_cascade_record *record, unsigned width,
                                   uint64_t identity, unsigned char *out) {
    size_t size = HEADER + (size_t)record->count * width;
    lethe_put_u64(out + 8, record->first_key);
    lethe_put_u64(out + 16, record->now_ms);
    lethe_put_u64(out + 24,
                  record->count | (uint64_t)record->removes << 32 | (uint64_t)width << 40);
    unsigned char *at = out + HEADER;
    for (uint32_t i = 0; i < record->count; i++, at += width)
        lethe_put_u64(at, record->fingerprints[i]); /* the next one overwrites what is too much */
    lethe_put_u64(out, lethe_checksum(identity, out + 8, size - 8));
    return size;
}

size_t lethe_cascade_record_decode(const unsigned char *data, size_t size, unsigned width,
                                   uint64_t identity, struct lethe_cascade_record *out) {
    if (size < HEADER) return 0;
    uint64_t word = lethe_get_u64(data + 24);
    uint32_t count = (uint32_t)word;
    uint64_t removes = word >> 32 & 0xff;
    if (count == 0 || count > LETHE_CASCADE_RECORD_KEYS || removes > 1) return 0;
    if ((word >> 40 & 0xff) != width || word >> 48 != 0) return 0;
    size_t whole = HEADER + (size_t)count * width;
    if (whole > size || lethe_get_u64(data) != lethe_checksum(identity, data + 8, whole - 8))
        return 0;
    out->first_key = lethe_get_u64(data + 8);
    out->now_ms = lethe_get_u64(data + 16);
    out->count = count;
    out->removes = removes == 1;
    const unsigned char *at = data + HEADER;
    for (uint32_t i = 0; i < count; i++, at += width) {
        unsigned char bytes[8] = {0};
        memcpy(bytes, at, width);
        out->fingerprints[i] = lethe_get_u64(bytes);
    }
    return whole;
}

lethe_status lethe_cascade_log_append(struct lethe_cascade_log *log,
                                      const struct lethe_cascade_record *record) {
    size_t size = lethe_cascade_record_encode(record, log->width, log->identity, log->buffer);
    lethe_status status = lethe_os_block_write(&log->tail, log->tail_bytes, log->buffer, size);
    if (status != LETHE_OK) return status;
    log->record_offset = log->tail_bytes;
    log->tail_bytes += size;
    log->next_key += record->count;
    return LETHE_OK;
}

lethe_status lethe_cascade_log_send(struct lethe_cascade_log *log) {
    uint64_t from = log->sent_bytes, size = log->tail_bytes - from;
    if (size < log->file_bytes / SENDS_PER_FILE) return LETHE_OK;
    log->sent_bytes = log->tail_bytes;
    return lethe_os_block_send(&log->tail, from, size);
}

lethe_status lethe_cascade_log_shorten(struct lethe_cascade_log *log,
                                       struct lethe_cascade_record *record, uint32_t count) {
    log->tail_bytes = log->record_offset;
    if (log->sent_bytes > log->tail_bytes) log->sent_bytes = log->tail_bytes;
    log->next_key -= record->count;
    record->count = count;
    lethe_status status = lethe_os_block_truncate(&log->tail, log->tail_bytes);
    if (status != LETHE_OK || count == 0) return status;
    return lethe_cascade_log_append(log, record);
}

/* The log files in the folder. There may be more than are in use: some that a crash kept from being
 * removed. */
struct found {
    const lethe_allocator *allocator;
    uint64_t *first_keys; /* ascending */
    size_t count, room;
    bool is_short_of_memory;
};

static bool make_room(struct found *found) {
    if (found->count < found->room) return true;
    size_t room = found->room == 0 ? LETHE_CASCADE_LOG_FILES : 2 * found->room;
    uint64_t *grown = lethe_alloc_zeroed(found->allocator, room * sizeof *grown);
    if (grown == NULL) return false;
    if (found->count > 0) memcpy(grown, found->first_keys, found->count * sizeof *grown);
    lethe_release(found->allocator, found->first_keys, found->room * sizeof *grown);
    found->first_keys = grown;
    found->room = room;
    return true;
}

static void find_file(void *context, const char *name) {
    struct found *found = context;
    char *end;
    if (strncmp(name, "log-", 4) != 0 || strlen(name) != 20) return;
    uint64_t first_key = strtoull(name + 4, &end, 16);
    if (*end != '\0') return;
    if (make_room(found)) {
        found->first_keys[found->count++] = first_key;
    } else {
        found->is_short_of_memory = true;
    }
}

static int compare_keys(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Errors: LETHE_ENOMEM, LETHE_EIO; the list is the caller's in any case. */
static lethe_status find_files(const struct lethe_cascade_log *log, struct found *found) {
    *found = (struct found){.allocator = log->allocator};
    lethe_status status = lethe_os_folder_each(log->folder, find_file, found);
    if (status != LETHE_OK) return status;
    if (found->is_short_of_memory) return LETHE_ENOMEM;
    if (found->count > 0)
        qsort(found->first_keys, found->count, sizeof *found->first_keys, compare_keys);
    return LETHE_OK;
}

static bool remove_file(const struct lethe_cascade_log *log, uint64_t first_key) {
    char path[LETHE_OS_PATH_BYTES];
    lethe_cascade_log_path(log->folder, first_key, path);
    lethe_os_remove(path);
    return !lethe_os_exists(path);
}

struct replay {
    uint64_t end_key;
    bool is_exact;
    lethe_status (*visit)(void *context, struct lethe_cascade_record *record);
    void *context;
    struct lethe_cascade_record record;
    /* What is after end_key once more, in place of the files from this one on: see I3. */
    lethe_os_replacement *renewed; /* NULL: there is nothing, so far */
    unsigned first_renewed;
    uint64_t renewed_bytes;
};

static bool is_at_end(const struct lethe_cascade_log *log, const struct replay *replay) {
    return replay->is_exact && log->next_key >= replay->end_key;
}

/* Begins the file that takes the place of the last one: with what comes before the end in it. */
static lethe_status begin_renewal(const struct lethe_cascade_log *log, struct replay *replay) {
    const struct lethe_cascade_log_file *file = &log->files[log->file_count - 1];
    char path[LETHE_OS_PATH_BYTES];
    lethe_cascade_log_path(log->folder, file->first_key, path);
    unsigned char *buffer = lethe_alloc_zeroed(log->allocator, BUFFER_BYTES);
    if (buffer == NULL) return LETHE_ENOMEM;
    lethe_status status = lethe_os_replace_begin(path, &replay->renewed);
    replay->first_renewed = log->file_count - 1;
    for (uint64_t done = 0, size; done < file->bytes && status == LETHE_OK; done += size) {
        size = file->bytes - done < BUFFER_BYTES ? file->bytes - done : BUFFER_BYTES;
        status = lethe_os_block_read(&file->file, done, buffer, (size_t)size);
        if (status == LETHE_OK)
            status = lethe_os_replace_write(replay->renewed, buffer, (size_t)size);
    }
    replay->renewed_bytes = file->bytes;
    lethe_release(log->allocator, buffer, BUFFER_BYTES);
    return status;
}

/* Writes the record in the buffer again, if it is after the end that is known to be on disk. */
static lethe_status renew(const struct lethe_cascade_log *log, struct replay *replay, size_t size) {
    if (log->changes_nothing || replay->record.first_key < replay->end_key) return LETHE_OK;
    lethe_status status = replay->renewed == NULL ? begin_renewal(log, replay) : LETHE_OK;
    if (status == LETHE_OK) status = lethe_os_replace_write(replay->renewed, log->buffer, size);
    replay->renewed_bytes += size;
    return status;
}

/* Shows the records of the last file of the list, as far as they make sense. */
static lethe_status replay_file(struct lethe_cascade_log *log, struct replay *replay) {
    struct lethe_cascade_log_file *file = &log->files[log->file_count - 1];
    while (file->bytes < file->file.size_bytes && !is_at_end(log, replay)) {
        uint64_t left = file->file.size_bytes - file->bytes;
        size_t size = left < LARGEST ? (size_t)left : LARGEST;
        lethe_status status = lethe_os_block_read(&file->file, file->bytes, log->buffer, size);
        if (status != LETHE_OK) return status;
        size_t used = lethe_cascade_record_decode(log->buffer, size, log->width, log->identity,
                                                  &replay->record);
        if (used == 0 || replay->record.first_key != log->next_key) return LETHE_OK;
        status = renew(log, replay, used);
        if (status == LETHE_OK) status = replay->visit(replay->context, &replay->record);
        if (status != LETHE_OK) return status;
        file->bytes += used;
        log->tail_bytes = file->bytes;
        log->next_key += replay->record.count;
    }
    return LETHE_OK;
}

/* Replays file after file, as long as each begins where the one before it ended. One that begins
 * before that is what a renewal took the place of. */
static lethe_status replay_files(struct lethe_cascade_log *log, const struct found *found,
                                 size_t first, struct replay *replay) {
    for (size_t i = first; i < found->count; i++) {
        if (i > first && (found->first_keys[i] > log->next_key || is_at_end(log, replay))) break;
        if (i > first && found->first_keys[i] < log->next_key) continue;
        if (log->file_count == LETHE_CASCADE_LOG_FILES) return LETHE_ECORRUPT;
        char path[LETHE_OS_PATH_BYTES];
        lethe_cascade_log_path(log->folder, found->first_keys[i], path);
        lethe_os_block_file file;
        lethe_status status = lethe_os_block_open(path, false, !log->changes_nothing, &file);
        if (status != LETHE_OK) return status == LETHE_EINVAL ? LETHE_ECORRUPT : status;
        lethe_cascade_log_take(log, file);
        status = replay_file(log, replay);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

/* Puts the renewed file in the place of those that had its records. The folder is synced before
 * they go. */
static lethe_status finish_renewal(struct lethe_cascade_log *log, struct replay *replay) {
    if (replay->renewed == NULL) return LETHE_OK;
    bool is_in_place;
    lethe_status status = lethe_os_replace_commit(replay->renewed, &is_in_place);
    replay->renewed = NULL;
    if (status != LETHE_OK) return status;
    for (unsigned i = replay->first_renewed; i < log->file_count; i++)
        lethe_os_block_close(&log->files[i].file);
    log->file_count = replay->first_renewed + 1;
    struct lethe_cascade_log_file *file = &log->files[replay->first_renewed];
    char path[LETHE_OS_PATH_BYTES];
    lethe_cascade_log_path(log->folder, file->first_key, path);
    status = lethe_os_block_open(path, false, true, &file->file);
    file->bytes = log->tail_bytes = replay->renewed_bytes;
    log->tail = file->file;
    return status;
}

static bool is_in_use(const struct lethe_cascade_log *log, uint64_t first_key) {
    for (unsigned i = 0; i < log->file_count; i++) {
        if (log->files[i].first_key == first_key) return true;
    }
    return false;
}

/* Cuts off what is after the end, and removes files that are not in use. Both must last: a record
 * that a power cut brought back would be taken for what follows, as soon as the new ones before it
 * have as many keys as the lost ones had. An earlier process may have cut off something, and ended
 * before it was synced. */
static lethe_status tidy(struct lethe_cascade_log *log, const struct found *found) {
    if (log->file_count > 0) {
        const struct lethe_cascade_log_file *last = &log->files[log->file_count - 1];
        lethe_status status = LETHE_OK;
        if (last->bytes < last->file.size_bytes)
            status = lethe_os_block_truncate(&last->file, last->bytes);
        if (status == LETHE_OK) status = lethe_os_block_sync(&last->file);
        if (status != LETHE_OK) return status;
    }
    bool any = false;
    for (size_t i = 0; i < found->count; i++) {
        if (is_in_use(log, found->first_keys[i])) continue;
        any = true;
        if (!remove_file(log, found->first_keys[i]) && found->first_keys[i] >= log->next_key)
            return LETHE_EIO;
    }
    return any ? lethe_os_sync_folder(log->folder) : LETHE_OK;
}

static lethe_status replay_found(struct lethe_cascade_log *log, const struct found *found,
                                 uint64_t first_key, struct replay *replay) {
    size_t first = 0;
    while (first + 1 < found->count && found->first_keys[first + 1] <= first_key)
        first++;
    lethe_status status = LETHE_OK;
    log->next_key = replay->end_key;
    if (found->count > 0 && found->first_keys[first] <= first_key) {
        log->next_key = found->first_keys[first];
        status = replay_files(log, found, first, replay);
    } else if (first_key < replay->end_key) {
        status = LETHE_ECORRUPT;
    }
    if (status == LETHE_OK && log->next_key < replay->end_key) status = LETHE_ECORRUPT;
    if (status != LETHE_OK || log->changes_nothing) return status;
    /* From here on the folder is changed. */
    status = finish_renewal(log, replay);
    return status == LETHE_OK ? tidy(log, found) : status;
}

lethe_status lethe_cascade_log_replay(
    struct lethe_cascade_log *log, uint64_t first_key, uint64_t end_key, bool is_exact,
    lethe_status (*visit)(void *context, struct lethe_cascade_record *record), void *context) {
    struct replay *replay = lethe_alloc_zeroed(log->allocator, sizeof *replay);
    if (replay == NULL) return LETHE_ENOMEM;
    replay->end_key = end_key;
    replay->is_exact = is_exact;
    replay->visit = visit;
    replay->context = context;
    struct found found;
    lethe_status status = find_files(log, &found);
    if (status == LETHE_OK) status = replay_found(log, &found, first_key, replay);
    if (replay->renewed != NULL) lethe_os_replace_abort(replay->renewed);
    lethe_release(log->allocator, found.first_keys, found.room * sizeof *found.first_keys);
    lethe_release(log->allocator, replay, sizeof *replay);
    return status;
}

/* backup/contents.c - the content of files in a folder of backups, each kept once.
 *
 * LAYOUT  BACKUPS/contents/HASH-SIZE   the hash of the content, 32 hexadecimal digits, and its
 *                                      length, hexadecimal
 * I1      Content is written under another name, synced, and then gets its name. So a name stands
 *         for the whole content.
 * I2      A file is removed only when every list was read and none names it.
 * WHY     The hash is keyed by a number that only the store knows, so that nobody can prepare
 *         counters that make two files share a name. */
#include "backup/contents.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/detail.h"
#include "core/hash_stream.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/sync.h"

enum { PIECE_BYTES = 1 << 18, HASH_DIGITS = 32 };

static bool folder_of(const char *backups, char out[LETHE_OS_PATH_BYTES]) {
    return lethe_os_path(out, "%s/contents", backups);
}

lethe_status lethe_contents_prepare(const char *backups) {
    char path[LETHE_OS_PATH_BYTES];
    return folder_of(backups, path) ? lethe_os_folder_make(path) : LETHE_EIO;
}

lethe_status lethe_contents_sync(const char *backups) {
    char path[LETHE_OS_PATH_BYTES];
    return folder_of(backups, path) ? lethe_os_sync_folder(path) : LETHE_EIO;
}

/* Bytes that are read, hashed, and perhaps written. */
struct passing {
    const lethe_set_file *from;
    lethe_os_replacement *to; /* NULL: only the hash matters */
    uint64_t owner;
    lethe_hash hash;
};

static lethe_status pass(struct passing *passing) {
    char *piece = malloc(PIECE_BYTES);
    lethe_hash_stream *stream = lethe_hash_stream_new(passing->owner);
    lethe_status status = piece == NULL || stream == NULL ? LETHE_ENOMEM : LETHE_OK;
    uint64_t left = passing->from->size_bytes;
    for (uint64_t offset = 0; left > 0 && status == LETHE_OK;) {
        size_t size = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        status = lethe_set_read(passing->from, offset, piece, size);
        if (status == LETHE_OK && passing->to != NULL)
            status = lethe_os_replace_write(passing->to, piece, size);
        if (status == LETHE_OK) lethe_hash_stream_add(stream, piece, size);
        offset += size;
        left -= size;
    }
    if (stream != NULL) passing->hash = lethe_hash_stream_end(stream);
    free(piece);
    return status;
}

static bool is_equal(lethe_hash a, lethe_hash b) {
    return a.low == b.low && a.high == b.high;
}

/* Reads the content at path, and writes it to `to`, unless that is NULL. LETHE_ECORRUPT: it is not
 * that of the list. */
static lethe_status read_content(const char *path, const lethe_backup_file *file, uint64_t owner,
                                 bool has_hash, lethe_os_replacement *to) {
    lethe_set_file content = {.file = {.descriptor = -1}};
    lethe_status status = lethe_os_block_open(path, false, false, &content.file);
    if (status == LETHE_ENOTFOUND || status == LETHE_EINVAL) return LETHE_ECORRUPT;
    if (status != LETHE_OK) return status;
    content.size_bytes = content.file.size_bytes;
    struct passing passing = {.from = &content, .to = to, .owner = owner};
    status = content.size_bytes == file->size_bytes ? pass(&passing) : LETHE_ECORRUPT;
    lethe_os_block_close(&content.file);
    if (status == LETHE_OK && has_hash && !is_equal(passing.hash, file->hash))
        status = LETHE_ECORRUPT;
    return status;
}

static lethe_status write_content(const char *path, const lethe_set_file *file, uint64_t owner,
                                  lethe_hash expected) {
    lethe_os_replacement *replacement;
    bool is_in_place;
    lethe_os_remove(path); /* it is damaged, or not there */
    lethe_status status = lethe_os_replace_begin(path, &replacement);
    if (status != LETHE_OK) return status;
    struct passing passing = {.from = file, .to = replacement, .owner = owner};
    status = pass(&passing);
    if (status == LETHE_OK && !is_equal(passing.hash, expected)) status = LETHE_ECORRUPT;
    if (status == LETHE_OK) return lethe_os_replace_commit(replacement, &is_in_place);
    lethe_os_replace_abort(replacement);
    return status;
}

lethe_status lethe_contents_keep(const char *backups, uint64_t owner, const lethe_set_file *file,
                                 lethe_backup_file *out, uint64_t *copied_bytes) {
    char path[LETHE_OS_PATH_BYTES];
    struct passing passing = {.from = file, .owner = owner};
    lethe_status status = pass(&passing);
    if (status != LETHE_OK) return status;
    memcpy(out->name, file->name, sizeof out->name);
    out->size_bytes = file->size_bytes;
    out->hash = passing.hash;
    if (!lethe_backup_file_path(backups, out, path)) return LETHE_EIO;
    if (lethe_os_exists(path) && read_content(path, out, owner, true, NULL) == LETHE_OK)
        return LETHE_OK;
    status = write_content(path, file, owner, out->hash);
    if (status == LETHE_OK) *copied_bytes += out->size_bytes;
    return status;
}

static lethe_status explain(lethe_status status, const lethe_backup_contents *contents,
                            const lethe_backup_file *file, lethe_detail *detail) {
    if (status == LETHE_OK) return LETHE_OK;
    return lethe_detail_fill(detail, status, "the file %s of backup %llu %s", file->name,
                             (unsigned long long)contents->backup.number,
                             status == LETHE_ECORRUPT ? "is damaged or missing"
                                                      : "cannot be read or written");
}

lethe_status lethe_contents_verify(const char *backups, const lethe_backup_contents *contents,
                                   lethe_detail *detail) {
    char path[LETHE_OS_PATH_BYTES];
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i < contents->count && status == LETHE_OK; i++) {
        const lethe_backup_file *file = &contents->files[i];
        if (!lethe_backup_file_path(backups, file, path)) {
            status = LETHE_EIO;
        } else if (contents->is_earlier) {
            status = lethe_os_exists(path) ? LETHE_OK : LETHE_ECORRUPT;
        } else {
            status = read_content(path, file, contents->owner, true, NULL);
        }
        (void)explain(status, contents, file, detail);
    }
    return status;
}

lethe_status lethe_contents_copy(const char *backups, const lethe_backup_contents *contents,
                                 const lethe_backup_file *file, const char *path,
                                 lethe_detail *detail) {
    char from[LETHE_OS_PATH_BYTES];
    lethe_os_replacement *replacement;
    bool is_in_place;
    lethe_status status = lethe_backup_file_path(backups, file, from) ? LETHE_OK : LETHE_EIO;
    if (status == LETHE_OK) status = lethe_os_replace_begin(path, &replacement);
    if (status != LETHE_OK) return explain(status, contents, file, detail);
    status = read_content(from, file, contents->owner, !contents->is_earlier, replacement);
    if (status == LETHE_OK) {
        status = lethe_os_replace_commit(replacement, &is_in_place);
    } else {
        lethe_os_replace_abort(replacement);
    }
    return explain(status, contents, file, detail);
}

/* Paths in the folder of backups that are needed. */
struct needed {
    char (*all)[2 * LETHE_SET_NAME_BYTES];
    size_t count, room;
    bool has_earlier;
};

static int by_name(const void *left, const void *right) {
    return strcmp(left, right);
}

static bool need(struct needed *needed, const char *backups, const lethe_backup_file *file) {
    char path[LETHE_OS_PATH_BYTES];
    if (!lethe_backup_file_path(backups, file, path)) return false;
    const char *name = path + strlen(backups) + 1;
    if (strlen(name) >= sizeof *needed->all) return false;
    if (needed->count == needed->room) {
        size_t room = 2 * needed->room + 64;
        void *larger = realloc(needed->all, room * sizeof *needed->all);
        if (larger == NULL) return false;
        needed->all = larger;
        needed->room = room;
    }
    memcpy(needed->all[needed->count++], name, strlen(name) + 1);
    return true;
}

/* Collects what all backups need; false: it is not known. */
static bool collect(const char *backups, struct needed *needed) {
    lethe_backup_numbers numbers;
    lethe_status status = lethe_backup_find(backups, &numbers);
    bool is_known = status == LETHE_OK || status == LETHE_ENOTFOUND;
    for (size_t i = 0; i < numbers.count && is_known; i++) {
        lethe_backup_contents contents;
        is_known = lethe_backup_read(backups, numbers.all[i], &contents) == LETHE_OK;
        for (size_t j = 0; j < contents.count && is_known; j++)
            is_known = need(needed, backups, &contents.files[j]);
        needed->has_earlier = needed->has_earlier || contents.is_earlier;
        lethe_backup_contents_free(&contents);
    }
    free(numbers.all);
    if (needed->count > 0) qsort(needed->all, needed->count, sizeof *needed->all, by_name);
    return is_known;
}

struct sweeping {
    const char *backups, *inner;
    const struct needed *needed;
    uint64_t freed_bytes;
};

static void sweep_file(void *context, const char *name) {
    struct sweeping *sweeping = context;
    char path[LETHE_OS_PATH_BYTES], key[2 * LETHE_SET_NAME_BYTES];
    size_t inner = strlen(sweeping->inner), size = strlen(name);
    if (inner + size + 2 > sizeof key) return;
    memcpy(key, sweeping->inner, inner);
    key[inner] = '/';
    memcpy(key + inner + 1, name, size + 1);
    const struct needed *needed = sweeping->needed;
    if (needed->count > 0 &&
        bsearch(key, needed->all, needed->count, sizeof *needed->all, by_name) != NULL) {
        return;
    }
    lethe_os_block_file file;
    if (!lethe_os_path(path, "%s/%s", sweeping->backups, key)) return;
    if (lethe_os_block_open(path, false, false, &file) != LETHE_OK) return;
    uint64_t size_bytes = file.size_bytes;
    lethe_os_block_close(&file);
    if (lethe_os_remove(path)) sweeping->freed_bytes += size_bytes;
}

/* Names of contents, and of contents that were being written; anything else is somebody else's. */
static void sweep_content(void *context, const char *name) {
    for (size_t i = 0; i < HASH_DIGITS; i++)
        if (!isxdigit((unsigned char)name[i])) return;
    if (name[HASH_DIGITS] == '-') sweep_file(context, name);
}

/* A list that was never completed: backup-N.XXXXXX.tmp (os/file.c). */
static void sweep_list(void *context, const char *name) {
    const struct sweeping *sweeping = context;
    char path[LETHE_OS_PATH_BYTES];
    if (strncmp(name, "backup-", 7) != 0) return;
    size_t digits = strspn(name + 7, "0123456789");
    const char *rest = name + 7 + digits;
    if (digits == 0 || *rest != '.' || strlen(rest) != 11 || strcmp(rest + 7, ".tmp") != 0) return;
    if (lethe_os_path(path, "%s/%s", sweeping->backups, name)) lethe_os_remove(path);
}

/* The ledger of a backup of an earlier version: ledger-N-M, where M has 16
 * hexadecimal digits. */
static void sweep_ledger(void *context, const char *name) {
    const struct sweeping *sweeping = context;
    char path[LETHE_OS_PATH_BYTES];
    if (strncmp(name, "ledger-", 7) != 0) return;
    size_t commit = strspn(name + 7, "0123456789");
    if (commit == 0 || name[7 + commit] != '-') return;
    size_t number = strspn(name + 8 + commit, "0123456789abcdef");
    if (number != 16 || name[8 + commit + number] != '\0') return;
    if (lethe_os_path(path, "%s/%s", sweeping->backups, name)) lethe_os_folder_remove(path);
}

/* What backups of earlier versions had for themselves, and shared. Where there never was one, files
 * of these names are somebody else's. */
static void sweep_earlier(struct sweeping *sweeping) {
    char path[LETHE_OS_PATH_BYTES];
    if (!lethe_os_path(path, "%s/meta", sweeping->backups) || !lethe_os_exists(path)) return;
    sweeping->inner = "shared_checksum";
    lethe_status status = LETHE_OK; /* there need not be one of these */
    if (lethe_os_path(path, "%s/shared_checksum", sweeping->backups))
        status = lethe_os_folder_each(path, sweep_file, sweeping);
    if (!sweeping->needed->has_earlier)
        status = lethe_os_folder_each(sweeping->backups, sweep_ledger, sweeping);
    (void)status;
}

uint64_t lethe_contents_sweep(const char *backups) {
    char path[LETHE_OS_PATH_BYTES];
    struct needed needed = {.count = 0};
    struct sweeping sweeping = {.backups = backups, .inner = "contents", .needed = &needed};
    if (collect(backups, &needed) && folder_of(backups, path)) {
        lethe_status status = lethe_os_folder_each(path, sweep_content, &sweeping);
        if (status == LETHE_OK) status = lethe_os_folder_each(backups, sweep_list, &sweeping);
        (void)status; /* what stays is in nobody's way */
        sweep_earlier(&sweeping);
    }
    free(needed.all);
    return sweeping.freed_bytes;
}

/* backup/list.c - the list of a backup's files: docs/format/backups.md.
 *
 * LAYOUT  BACKUPS/backup-N   a frame (core/codec.h) of type BKUP, version 1: number u64, time u64,
 *                            owner u64, records u64, copied bytes u64, type u32, name bytes u32,
 *                            kind 16 bytes, files u64, and for each file: size u64, hash low u64,
 *                            hash high u64, name bytes u64, name
 *         BACKUPS/contents/  the content of files, by hash and size: contents.c
 *         BACKUPS/meta/N     the list of a backup that an earlier version has made: earlier.c
 * I1      A list is written when everything that it names is on disk.
 * I2      No name in a list leads out of the folder that a backup is restored to. */
#include "backup/list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "core/io.h"
#include "os/file.h"
#include "os/folder.h"

enum { VERSION = 1, FIXED_BYTES = 5 * 8 + 2 * 4 + LETHE_BACKUP_KIND_BYTES + 8, FILE_BYTES = 4 * 8 };

static const char type[] = "BKUP";
static const char prefix[] = "backup-";

lethe_backup_file *lethe_backup_contents_append(lethe_backup_contents *contents) {
    if (contents->count == contents->room) {
        size_t room = 2 * contents->room + 16;
        lethe_backup_file *larger = realloc(contents->files, room * sizeof *larger);
        if (larger == NULL) return NULL;
        contents->files = larger;
        contents->room = room;
    }
    lethe_backup_file *file = &contents->files[contents->count++];
    *file = (lethe_backup_file){.size_bytes = 0};
    return file;
}

void lethe_backup_contents_free(lethe_backup_contents *contents) {
    free(contents->files);
    *contents = (lethe_backup_contents){.count = 0};
}

bool lethe_backup_is_name(const char *name) {
    size_t slashes = 0;
    if (name[0] == '\0' || name[0] == '/' || name[0] == '.') return false;
    for (const char *at = name; *at != '\0'; at++) {
        if (*at == '/') {
            slashes++;
            if (at[1] == '\0' || at[1] == '/' || at[1] == '.') return false;
        } else if (!isalnum((unsigned char)*at) && *at != '-' && *at != '_' && *at != '.') {
            return false;
        }
    }
    return slashes <= 1;
}

static lethe_status save(const void *object, lethe_sink sink) {
    const lethe_backup_contents *contents = object;
    const lethe_backup *backup = &contents->backup;
    uint64_t bytes = FIXED_BYTES;
    for (size_t i = 0; i < contents->count; i++)
        bytes += FILE_BYTES + strlen(contents->files[i].name);
    lethe_encoder *encoder;
    lethe_status status = lethe_encoder_begin(sink, type, VERSION, bytes, NULL, &encoder);
    if (status != LETHE_OK) return status;
    lethe_encoder_put_u64(encoder, backup->number);
    lethe_encoder_put_u64(encoder, backup->time_ms);
    lethe_encoder_put_u64(encoder, contents->owner);
    lethe_encoder_put_u64(encoder, backup->records);
    lethe_encoder_put_u64(encoder, backup->copied_bytes);
    lethe_encoder_put_u32(encoder, (uint32_t)contents->type);
    lethe_encoder_put_u32(encoder, (uint32_t)strlen(backup->kind));
    lethe_encoder_put_bytes(encoder, backup->kind, sizeof backup->kind);
    lethe_encoder_put_u64(encoder, contents->count);
    for (size_t i = 0; i < contents->count; i++) {
        const lethe_backup_file *file = &contents->files[i];
        lethe_encoder_put_u64(encoder, file->size_bytes);
        lethe_encoder_put_u64(encoder, file->hash.low);
        lethe_encoder_put_u64(encoder, file->hash.high);
        lethe_encoder_put_u64(encoder, strlen(file->name));
        lethe_encoder_put_bytes(encoder, file->name, strlen(file->name));
    }
    return lethe_encoder_end(encoder);
}

static lethe_status get_file(lethe_decoder *decoder, lethe_backup_contents *out) {
    lethe_backup_file *file = lethe_backup_contents_append(out);
    if (file == NULL) return LETHE_ENOMEM;
    file->size_bytes = lethe_decoder_get_u64(decoder);
    file->hash.low = lethe_decoder_get_u64(decoder);
    file->hash.high = lethe_decoder_get_u64(decoder);
    uint64_t size = lethe_decoder_get_u64(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);
    if (size == 0 || size >= sizeof file->name) return LETHE_ECORRUPT;
    lethe_decoder_get_bytes(decoder, file->name, (size_t)size);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);
    if (strlen(file->name) != size || !lethe_backup_is_name(file->name)) return LETHE_ECORRUPT;
    if (file->size_bytes > UINT64_MAX / 2 - out->backup.bytes) return LETHE_ECORRUPT;
    out->backup.bytes += file->size_bytes;
    return LETHE_OK;
}

static lethe_status get_all(lethe_decoder *decoder, lethe_backup_contents *out) {
    lethe_backup *backup = &out->backup;
    backup->number = lethe_decoder_get_u64(decoder);
    backup->time_ms = lethe_decoder_get_u64(decoder);
    out->owner = lethe_decoder_get_u64(decoder);
    backup->records = lethe_decoder_get_u64(decoder);
    backup->copied_bytes = lethe_decoder_get_u64(decoder);
    uint32_t of = lethe_decoder_get_u32(decoder), kind_bytes = lethe_decoder_get_u32(decoder);
    lethe_decoder_get_bytes(decoder, backup->kind, sizeof backup->kind);
    uint64_t count = lethe_decoder_get_u64(decoder);
    lethe_status status = lethe_decoder_status(decoder);
    if (status != LETHE_OK) return status;
    if (of > LETHE_BACKUP_OF_CASCADE || kind_bytes == 0 || kind_bytes >= sizeof backup->kind ||
        strnlen(backup->kind, sizeof backup->kind) != kind_bytes) {
        return LETHE_ECORRUPT;
    }
    if (count > lethe_decoder_left(decoder) / FILE_BYTES) return LETHE_ECORRUPT;
    out->type = (lethe_backup_type)of;
    for (uint64_t i = 0; i < count && status == LETHE_OK; i++)
        status = get_file(decoder, out);
    return status;
}

static lethe_status load(void *context, lethe_source source) {
    lethe_backup_contents *out = context;
    lethe_decoder *decoder;
    lethe_status status = lethe_decoder_begin(source, type, VERSION, NULL, &decoder);
    if (status != LETHE_OK) return status;
    return lethe_decoder_end_after(decoder, get_all(decoder, out));
}

bool lethe_backup_list_path(const char *backups, uint64_t number, char out[LETHE_OS_PATH_BYTES]) {
    return lethe_os_path(out, "%s/%s%llu", backups, prefix, (unsigned long long)number) &&
           lethe_os_exists(out);
}

bool lethe_backup_earlier_path(const char *backups, uint64_t number,
                               char out[LETHE_OS_PATH_BYTES]) {
    return lethe_os_path(out, "%s/meta/%llu", backups, (unsigned long long)number) &&
           lethe_os_exists(out);
}

lethe_status lethe_backup_write(const char *backups, const lethe_backup_contents *contents) {
    char path[LETHE_OS_PATH_BYTES];
    bool is_in_place;
    (void)lethe_backup_list_path(backups, contents->backup.number, path);
    return lethe_replace_file(path, save, contents, &is_in_place);
}

lethe_status lethe_backup_read(const char *backups, uint64_t number, lethe_backup_contents *out) {
    char path[LETHE_OS_PATH_BYTES];
    *out = (lethe_backup_contents){.backup.size = sizeof out->backup};
    if (!lethe_backup_list_path(backups, number, path))
        return lethe_backup_read_earlier(backups, number, out);
    lethe_status status = lethe_load_from_file(path, load, out, NULL);
    if (status == LETHE_EINVAL || status == LETHE_ETYPE) status = LETHE_ECORRUPT;
    if (status == LETHE_OK && out->backup.number != number) status = LETHE_ECORRUPT;
    return status;
}

bool lethe_backup_is_list(const char *backups, uint64_t number) {
    char path[LETHE_OS_PATH_BYTES];
    if (lethe_backup_list_path(backups, number, path)) {
        lethe_file_info info = LETHE_INIT(lethe_file_info);
        lethe_status status = lethe_file_peek(path, &info, NULL);
        return (status == LETHE_OK || status == LETHE_EVERSION) && strcmp(info.type, type) == 0;
    }
    lethe_backup_contents contents = {.backup.size = sizeof contents.backup};
    lethe_status status = lethe_backup_read_earlier(backups, number, &contents);
    bool has_files = contents.count > 0; /* not all of them may be there */
    lethe_backup_contents_free(&contents);
    return status == LETHE_OK || has_files;
}

bool lethe_backup_file_path(const char *backups, const lethe_backup_file *file,
                            char out[LETHE_OS_PATH_BYTES]) {
    if (file->place[0] != '\0') return lethe_os_path(out, "%s/%s", backups, file->place);
    return lethe_os_path(out, "%s/contents/%016llx%016llx-%llx", backups,
                         (unsigned long long)file->hash.high, (unsigned long long)file->hash.low,
                         (unsigned long long)file->size_bytes);
}

/* Names that are being looked through for numbers after a prefix. */
struct finding {
    lethe_backup_numbers *numbers;
    const char *prefix;
    bool is_short_of_memory;
};

static void find_number(void *context, const char *name) {
    struct finding *finding = context;
    lethe_backup_numbers *numbers = finding->numbers;
    size_t size = strlen(finding->prefix);
    if (strncmp(name, finding->prefix, size) != 0 || name[size] < '1' || name[size] > '9') return;
    char *end;
    uint64_t number = strtoull(name + size, &end, 10);
    if (*end != '\0' || number == UINT64_MAX) return;
    for (size_t i = 0; i < numbers->count; i++)
        if (numbers->all[i] == number) return;
    if (numbers->count == numbers->room) {
        size_t room = 2 * numbers->room + 16;
        uint64_t *larger = realloc(numbers->all, room * sizeof *larger);
        finding->is_short_of_memory = finding->is_short_of_memory || larger == NULL;
        if (larger == NULL) return;
        numbers->all = larger;
        numbers->room = room;
    }
    numbers->all[numbers->count++] = number;
}

static int ascending(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

lethe_status lethe_backup_find(const char *backups, lethe_backup_numbers *out) {
    char meta[LETHE_OS_PATH_BYTES];
    *out = (lethe_backup_numbers){.count = 0};
    struct finding finding = {.numbers = out, .prefix = prefix};
    if (!lethe_os_path(meta, "%s/meta", backups)) return LETHE_EIO;
    lethe_status status = lethe_os_folder_each(backups, find_number, &finding);
    if (status == LETHE_OK) {
        finding.prefix = "";
        status = lethe_os_folder_each(meta, find_number, &finding);
        if (status == LETHE_ENOTFOUND) status = LETHE_OK;
    }
    if (status == LETHE_OK && finding.is_short_of_memory) status = LETHE_ENOMEM;
    if (status == LETHE_OK && out->count == 0) status = LETHE_ENOTFOUND;
    if (out->count > 0) qsort(out->all, out->count, sizeof *out->all, ascending);
    return status;
}

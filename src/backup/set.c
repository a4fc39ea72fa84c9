/* backup/set.c - a consistent set of files, taken beside a process that writes.
 *
 * IDEA    Files are opened one after the other. Some of them say which others are needed: a
 *         manifest. Files that a manifest names are removed only after another one has taken its
 *         place or it has grown. So if all files are still in their places afterwards, and the
 *         manifests are as long as before, everything that they name is open. If not, it is done
 *         again.
 * I1      A log is in several files, each complete before the next one begins. They are opened from
 *         the last to the first, so that the lengths found are those of a beginning of the log.
 * I2      What is only made longer is read up to the length that was found. What is overwritten in
 *         place is read as a whole when it is opened.
 * WHY     Nothing is copied while others write, nobody is kept from writing, and nothing is written
 *         to the folder. The window in which a change means another attempt is as long as it takes
 *         to open the files, which is milliseconds.
 * LIMIT   One open file for each file of the folder. */
#include "backup/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/detail.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/folder.h"

/* An attempt may take long: a disk that stalls for a while is no reason to give up. So on a slow
 * disk, beside a busy writer, giving up may take as long as these attempts. */
enum {
    FIRST_PAUSE_MS = 1,
    LONGEST_PAUSE_MS = 50,
    PATIENCE_MS = 20000,
    FEWEST_ATTEMPTS = 8,
    PIECE_BYTES = 1 << 16
};

static bool path_of(const lethe_set *set, const char *name, char out[LETHE_OS_PATH_BYTES]) {
    return lethe_os_path(out, "%s/%s", set->folder, name);
}

/* Makes room for one more file, which has no content yet; NULL if there is none. */
static lethe_set_file *append(lethe_set *set, const char *name) {
    if (set->count == set->room) {
        size_t room = 2 * set->room + 16;
        lethe_set_file *larger = realloc(set->files, room * sizeof *larger);
        if (larger == NULL) return NULL;
        set->files = larger;
        set->room = room;
    }
    lethe_set_file *file = &set->files[set->count];
    *file = (lethe_set_file){.file = {.descriptor = -1}};
    memcpy(file->name, name, strlen(name) + 1);
    return file;
}

static lethe_status add(lethe_set *set, const char *name, lethe_set_role role) {
    char path[LETHE_OS_PATH_BYTES];
    if (strlen(name) >= LETHE_SET_NAME_BYTES || !path_of(set, name, path)) return LETHE_EINVAL;
    lethe_set_file *file = append(set, name);
    if (file == NULL) return LETHE_ENOMEM;
    lethe_status status = lethe_os_block_open(path, false, false, &file->file);
    if (status != LETHE_OK) return status;
    file->role = role;
    file->size_bytes = file->file.size_bytes;
    set->count++;
    return LETHE_OK;
}

lethe_status lethe_set_add(lethe_set *set, const char *name, lethe_set_role role) {
    lethe_status status = add(set, name, role);
    if (status != LETHE_ENOTFOUND) return status;
    set->is_torn = true;
    return LETHE_OK;
}

lethe_status lethe_set_add_named(lethe_set *set, const char *name) {
    lethe_status status = add(set, name, LETHE_SET_PLAIN);
    return status == LETHE_ENOTFOUND ? LETHE_OK : status;
}

lethe_status lethe_set_add_content(lethe_set *set, const char *name) {
    lethe_status status = add(set, name, LETHE_SET_PLAIN);
    if (status != LETHE_OK) return status == LETHE_ENOTFOUND ? LETHE_OK : status;
    lethe_set_file *file = &set->files[set->count - 1];
    file->bytes = malloc((size_t)file->size_bytes + 1);
    status = file->bytes == NULL
                 ? LETHE_ENOMEM
                 : lethe_os_block_read(&file->file, 0, file->bytes, (size_t)file->size_bytes);
    lethe_os_block_close(&file->file);
    return status;
}

/* Names of files, to be opened in their order. */
struct names {
    const char *prefix, *suffix;
    char (*all)[LETHE_SET_NAME_BYTES];
    size_t count, room;
    bool is_short_of_memory;
};

static bool begins_and_ends(const char *name, const char *prefix, const char *suffix) {
    size_t size = strlen(name), first = strlen(prefix), last = strlen(suffix);
    return size >= first + last && size < LETHE_SET_NAME_BYTES / 2 &&
           strncmp(name, prefix, first) == 0 && strcmp(name + size - last, suffix) == 0;
}

static void find_name(void *context, const char *name) {
    struct names *names = context;
    if (!begins_and_ends(name, names->prefix, names->suffix) || names->is_short_of_memory) return;
    if (names->count == names->room) {
        size_t room = 2 * names->room + 16;
        void *larger = realloc(names->all, room * sizeof *names->all);
        names->is_short_of_memory = larger == NULL;
        if (larger == NULL) return;
        names->all = larger;
        names->room = room;
    }
    memcpy(names->all[names->count++], name, strlen(name) + 1);
}

/* Numbers in names may have outgrown their zeros: a longer name is a larger one. */
static int largest_first(const void *left, const void *right) {
    const char *a = left, *b = right;
    size_t a_size = strlen(a), b_size = strlen(b);
    return a_size != b_size ? (a_size < b_size) - (a_size > b_size) : strcmp(b, a);
}

lethe_status lethe_set_add_all(lethe_set *set, const char *inner, const char *prefix,
                               const char *suffix, lethe_set_role role) {
    char path[LETHE_OS_PATH_BYTES], name[LETHE_SET_NAME_BYTES];
    struct names names = {.prefix = prefix, .suffix = suffix};
    if (!path_of(set, inner, path)) return LETHE_EINVAL;
    lethe_status status = lethe_os_folder_each(path, find_name, &names);
    if (status == LETHE_OK && names.is_short_of_memory) status = LETHE_ENOMEM;
    if (names.count > 0) qsort(names.all, names.count, sizeof *names.all, largest_first);
    for (size_t i = 0; i < names.count && status == LETHE_OK; i++) {
        memcpy(name, inner, strlen(inner) + 1);
        memcpy(name + strlen(inner), names.all[i], strlen(names.all[i]) + 1);
        status = lethe_set_add(set, name, role);
    }
    free(names.all);
    return status;
}

lethe_set_file *lethe_set_find(lethe_set *set, const char *name) {
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->files[i].name, name) == 0) return &set->files[i];
    return NULL;
}

bool lethe_set_is_current(const lethe_set *set) {
    char path[LETHE_OS_PATH_BYTES];
    uint64_t size_bytes;
    for (size_t i = 0; i < set->count; i++) {
        const lethe_set_file *file = &set->files[i];
        if (file->file.descriptor < 0 || file->is_unused) continue;
        if (!path_of(set, file->name, path)) return false;
        if (!lethe_os_block_is_at(&file->file, path, &size_bytes)) return false;
        if (size_bytes < file->size_bytes) return false;
        if (file->role == LETHE_SET_PIVOT && size_bytes != file->size_bytes) return false;
    }
    return true;
}

lethe_status lethe_set_read(const lethe_set_file *file, uint64_t offset, void *data, size_t size) {
    if (file->bytes == NULL) return lethe_os_block_read(&file->file, offset, data, size);
    memcpy(data, file->bytes + offset, size);
    return LETHE_OK;
}

static lethe_status show_copy(const lethe_set_file *file, const char *path) {
    lethe_os_block_file copy;
    char piece[PIECE_BYTES];
    lethe_status status = lethe_os_block_create(path, false, &copy);
    for (uint64_t done = 0, size; done < file->size_bytes && status == LETHE_OK; done += size) {
        size = file->size_bytes - done < sizeof piece ? file->size_bytes - done : sizeof piece;
        status = lethe_set_read(file, done, piece, (size_t)size);
        if (status == LETHE_OK) status = lethe_os_block_write(&copy, done, piece, (size_t)size);
    }
    lethe_os_block_close(&copy);
    return status;
}

lethe_status lethe_set_make_inner(const char *folder, const char *name) {
    char path[LETHE_OS_PATH_BYTES];
    const char *slash = strchr(name, '/');
    if (slash == NULL) return LETHE_OK;
    if (!lethe_os_path(path, "%s/%.*s", folder, (int)(slash - name), name)) return LETHE_EIO;
    return lethe_os_exists(path) ? LETHE_OK : lethe_os_folder_make(path);
}

/* Shows the set: what may change its meaning by growing as a copy, all else by links. */
static lethe_status show(lethe_set *set) {
    char path[LETHE_OS_PATH_BYTES], link[LETHE_OS_PATH_BYTES];
    lethe_status status = lethe_os_temporary_make(&set->shown);
    for (size_t i = 0; i < set->count && status == LETHE_OK; i++) {
        const lethe_set_file *file = &set->files[i];
        bool fits = path_of(set, file->name, path) &&
                    lethe_os_path(link, "%s/%s", set->shown.path, file->name);
        status = fits ? lethe_set_make_inner(set->shown.path, file->name) : LETHE_EINVAL;
        if (status != LETHE_OK) break;
        status = file->role == LETHE_SET_PIVOT || file->bytes != NULL
                     ? show_copy(file, link)
                     : lethe_os_block_link(&file->file, path, link);
        if (status == LETHE_ENOTFOUND) { /* it went before the link to its name was made */
            set->is_torn = true;
            status = LETHE_OK;
        }
    }
    return status;
}

void lethe_set_drop(lethe_set *set) {
    int error = errno;
    lethe_os_temporary_remove(&set->shown);
    for (size_t i = 0; i < set->count; i++) {
        lethe_os_block_close(&set->files[i].file);
        free(set->files[i].bytes);
    }
    free(set->files);
    *set = (lethe_set){.count = 0};
    errno = error;
}

/* One attempt. */
static lethe_status take(lethe_set *set, const char *folder, lethe_set_gather gather,
                         lethe_detail *detail) {
    *set = (lethe_set){.count = 0};
    if (!lethe_os_path(set->folder, "%s", folder))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    lethe_status status = gather(set, detail);
    if (status != LETHE_OK) return status;
    return lethe_detail_of_file(detail, show(set), "look into", folder);
}

lethe_status lethe_set_take(lethe_set *set, const char *folder, lethe_set_gather gather,
                            lethe_detail *detail) {
    uint64_t begun_ms = lethe_os_boot_ms(), pause_ms = FIRST_PAUSE_MS;
    for (unsigned attempts = 1;; attempts++) {
        lethe_status status = take(set, folder, gather, detail);
        if (status != LETHE_OK) return status;
        if (!set->is_torn && lethe_set_is_current(set)) return LETHE_OK;
        if (attempts >= FEWEST_ATTEMPTS && lethe_os_boot_ms() - begun_ms > PATIENCE_MS) {
            return lethe_detail_fill(detail, LETHE_EBUSY,
                                     "%s changes faster than it can be read; try again later",
                                     folder);
        }
        lethe_set_drop(set);
        lethe_os_pause_ms(pause_ms);
        if (pause_ms < LONGEST_PAUSE_MS) pause_ms *= 2;
    }
}

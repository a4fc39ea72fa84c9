/* simulation/store/files.c - whole files for the simulated database: read, written and synced,
 * with RocksDB's messages. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/store/database.h"
#include "simulation/store/machine.h"
#include "simulation/store/system.h"

char *message_of(const char *text) {
    char *message = machine_allocate(strlen(text) + 1);
    return strcpy(message, text);
}

char *file_message(const char *what, const char *path) {
    char text[512];
    const char *kind = errno == ENOSPC   ? "IO error: No space left on device"
                       : errno == ENOENT ? "IO error: No such file or directory"
                                         : "IO error: Input/output error";
    (void)snprintf(text, sizeof text, "%s: %s %.300s", kind, what, path);
    return message_of(text);
}

char *message_of_corruption(const char *what, const char *path) {
    char text[512];
    (void)snprintf(text, sizeof text, "Corruption: %s in %.300s", what, path);
    return message_of(text);
}

char *path_join(const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = machine_allocate(size);
    (void)snprintf(path, size, "%s/%s", folder, name);
    return path;
}

char *path_numbered(const char *folder, uint64_t number, const char *suffix) {
    char name[64];
    (void)snprintf(name, sizeof name, "%06llu.%s", (unsigned long long)number, suffix);
    return path_join(folder, name);
}

bool file_write_at(int descriptor, uint64_t offset, const unsigned char *data, size_t size) {
    while (size > 0) {
        ssize_t done = system_pwrite(descriptor, data, size, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        data += done;
        offset += (uint64_t)done;
        size -= (size_t)done;
    }
    return true;
}

char *file_write(const char *path, const struct bytes *bytes) {
    int descriptor = system_open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (descriptor < 0) return file_message("while opening", path);
    char *message = NULL;
    if (!file_write_at(descriptor, 0, bytes->data, bytes->size))
        message = file_message("while appending to", path);
    if (message == NULL && system_fsync(descriptor) != 0)
        message = file_message("while syncing", path);
    (void)system_close(descriptor);
    return message;
}

char *file_read_opened(int descriptor, const char *path, struct bytes *out) {
    unsigned char piece[16384];
    ssize_t got;
    while ((got = system_read(descriptor, piece, sizeof piece)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        bytes_put(out, piece, (size_t)got);
    }
    return got < 0 ? file_message("while reading", path) : NULL;
}

char *file_read(const char *path, struct bytes *out) {
    int descriptor = system_open(path, O_RDONLY);
    if (descriptor < 0) return file_message("while opening", path);
    char *message = file_read_opened(descriptor, path, out);
    (void)system_close(descriptor);
    return message;
}

char *file_sync_folder(const char *path) {
    int descriptor = system_open(path, O_RDONLY | O_DIRECTORY);
    if (descriptor < 0) return file_message("while opening", path);
    char *message = system_fsync(descriptor) != 0 ? file_message("while syncing", path) : NULL;
    (void)system_close(descriptor);
    return message;
}

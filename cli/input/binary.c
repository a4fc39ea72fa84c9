/* binary.c - recognises what is not text.
 *
 * WHY     Nearly every binary format has a NUL byte early. Those below may have none for long, and
 *         are worth a name: they can be unpacked. */
#include "input/binary.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *magic;
    size_t size;
    const char *what;
} formats[] = {
    {"PK\3\4", 4, "begins like a zip archive"},
    {"7z\xbc\xaf\x27\x1c", 6, "begins like a 7z archive"},
    {"Rar!\x1a\7", 6, "begins like a rar archive"},
    {"\4\"M\x18", 4, "begins like lz4 data"},
    {"PAR1\x15", 5, "begins like a Parquet file"},
    {"Obj\1", 4, "begins like an Avro file"},
    {"%PDF-", 5, "begins like a PDF document"},
};

const char *binary_name(const char *head, size_t size, size_t judged) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t length = formats[i].size;
        if (judged >= length || size < length) continue;
        if (memcmp(head, formats[i].magic, length) == 0) return formats[i].what;
    }
    bool is_wide =
        size >= 2 && (memcmp(head, "\xff\xfe", 2) == 0 || memcmp(head, "\xfe\xff", 2) == 0);
    if (is_wide) return NULL; /* text in UTF-16, of which stream.c says so */
    if (memchr(head + judged, '\0', size - judged) != NULL) return "has NUL bytes";
    return NULL;
}

bool binary_ends_by_return(const char *head, size_t size) {
    const char *found = memchr(head, '\r', size);
    /* A newline may still follow the last byte. */
    return found != NULL && found + 1 < head + size && memchr(head, '\n', size) == NULL;
}

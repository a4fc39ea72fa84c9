/* core/sized.c - structs that start with their size; core/sized.h has the rule.
 *
 * IDEA    A program and the library may be compiled against different versions of a struct. Fields
 *         are only ever added at its end, and zero in a field means "as before". So bytes that one
 *         side lacks count as zero for the other.
 * I1      No byte of theirs is read or written at or after theirs->size.
 * WHY     Nonzero bytes that the library does not know are an error: a newer program asks for
 *         something that this library would silently not do. */
#include "core/sized.h"

#include <string.h>

/* No struct of any version has more. A size that was never set is refused, not followed. */
enum { MOST_BYTES = 65536 };

/* Every sized struct starts with a size_t. */
static size_t size_of(const void *theirs) {
    size_t size;
    memcpy(&size, theirs, sizeof size);
    return size;
}

lethe_status lethe_sized_take(const void *theirs, void *ours, size_t ours_size, size_t first_size) {
    memset(ours, 0, ours_size);
    if (theirs != NULL) {
        size_t size = size_of(theirs);
        if (size < first_size || size > MOST_BYTES) return LETHE_EINVAL;
        const unsigned char *bytes = theirs;
        for (size_t i = ours_size; i < size; i++)
            if (bytes[i] != 0) return LETHE_EINVAL;
        memcpy(ours, theirs, size < ours_size ? size : ours_size);
    }
    memcpy(ours, &ours_size, sizeof ours_size);
    return LETHE_OK;
}

lethe_status lethe_sized_check(const void *theirs, size_t first_size) {
    return theirs != NULL && size_of(theirs) >= first_size ? LETHE_OK : LETHE_EINVAL;
}

lethe_status lethe_sized_give(const void *ours, void *theirs, size_t ours_size, size_t first_size) {
    lethe_status status = lethe_sized_check(theirs, first_size);
    if (status != LETHE_OK) return status;
    size_t size = size_of(theirs);
    memcpy((char *)theirs + sizeof size, (const char *)ours + sizeof size,
           (size < ours_size ? size : ours_size) - sizeof size);
    return LETHE_OK;
}

/* kept_header.c - a list of headers; see kept_header.h. Files of one kind have one header, so that
 * the list is short. */
#include "events/kept_header.h"

#include <stdlib.h>
#include <string.h>

struct event_kept_header {
    struct event_kept_header *next;
    size_t size;
    char text[];
};

bool event_header_keep(struct event_kept_headers *headers, lethe_bytes header, lethe_bytes *out) {
    struct event_kept_header *kept = headers->first;
    while (kept != NULL &&
           (kept->size != header.size || memcmp(kept->text, header.data, header.size) != 0)) {
        kept = kept->next;
    }
    if (kept == NULL) {
        kept = malloc(sizeof *kept + header.size);
        if (kept == NULL) return false;
        kept->next = headers->first;
        kept->size = header.size;
        memcpy(kept->text, header.data, header.size);
        headers->first = kept;
    }
    *out = (lethe_bytes){.data = kept->text, .size = kept->size};
    return true;
}

void event_headers_free(struct event_kept_headers *headers) {
    while (headers->first != NULL) {
        struct event_kept_header *next = headers->first->next;
        free(headers->first);
        headers->first = next;
    }
}

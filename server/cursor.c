/* cursor.c - where lists go on; see cursor.h. */
#include "server/cursor.h"

#include <string.h>

_Static_assert((int)CURSOR_BYTES >= (int)LETHE_KEY_LIMIT_BYTES &&
                   (int)CURSOR_BYTES >= (int)LETHE_ID_LIMIT_BYTES,
               "every key and id has room");

void cursor_set(struct cursor *cursor, lethe_bytes next) {
    memcpy(cursor->bytes, next.data, next.size);
    cursor->size = next.size;
    cursor->has_more = true;
}

void cursor_answer(struct request *request, const struct cursor *cursor) {
    struct text *out = &request->answer;
    text_put(out, cursor->has_more ? "],\"cursor\":\"" : "],\"cursor\":null");
    for (size_t i = 0; i < cursor->size; i++)
        text_format(out, "%02x", (unsigned char)cursor->bytes[i]);
    text_put(out, cursor->has_more ? "\"}\n" : "}\n");
    request_answer(request, 200, type_json);
}

bool cursor_read(struct request *request, char room[CURSOR_BYTES], lethe_bytes *out) {
    const char *text = request->argument(request->connection, "cursor");
    if (text == NULL || text[0] == '\0') return true;
    size_t size = strlen(text) / 2, used = 0;
    bool fine = strlen(text) % 2 == 0 && size <= CURSOR_BYTES;
    for (size_t i = 0; i < size && fine; i++) {
        char three[3] = {'%', text[2 * i], text[2 * i + 1]};
        fine = request_unescape(three, sizeof three, room + i, &used) && used == 1;
    }
    *out = (lethe_bytes){.data = room, .size = size};
    if (!fine) request_problem(request, 400, "Bad argument", "cursor is not one of this server");
    return fine;
}

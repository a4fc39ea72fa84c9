/* engine/marks.c - writing and listing marks. */
#include "engine/marks.h"

#include "engine/store.h"

static const char PREFIX = 'm';

bool lethe_marks_are_valid(const lethe_mark *marks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        lethe_bytes value = marks[i].value;
        if (!lethe_is_key(marks[i].name) || value.size > LETHE_KEY_LIMIT_BYTES) return false;
        if (value.data == NULL && value.size > 0) return false;
    }
    return count < LETHE_GROUP_LIMIT;
}

void lethe_marks_put(const lethe_mark *marks, size_t count, lethe_batch *batch, lethe_disk *disk) {
    for (size_t i = 0; i < count; i++) {
        char name[1 + LETHE_KEY_LIMIT_BYTES];
        name[0] = PREFIX;
        memcpy(name + 1, marks[i].name.data, marks[i].name.size);
        lethe_bytes key = {.data = name, .size = 1 + marks[i].name.size};
        if (marks[i].value.size == 0) {
            lethe_batch_delete(batch, disk, LETHE_FAMILY_STATE, key);
        } else {
            lethe_batch_put(batch, disk, LETHE_FAMILY_STATE, key, marks[i].value);
        }
    }
}

static bool has_prefix(lethe_bytes key) {
    return key.size > 1 && *(const char *)key.data == PREFIX;
}

bool lethe_marks_is_record(lethe_bytes key, lethe_bytes value) {
    return has_prefix(key) && key.size <= LETHE_KEY_LIMIT_BYTES + 1 && value.size > 0 &&
           value.size <= LETHE_KEY_LIMIT_BYTES;
}

lethe_status lethe_store_marks(lethe_store *store, lethe_mark_visit visit, void *context) {
    if (store == NULL || visit == NULL) return lethe_engine_refuse(store, "what visits is NULL");
    lethe_walk *walk;
    lethe_engine_enter(store);
    lethe_status status = lethe_walk_begin(store->disk, LETHE_FAMILY_STATE,
                                           (lethe_bytes){.data = &PREFIX, .size = 1}, &walk);
    lethe_engine_leave(store);
    if (status != LETHE_OK) return status;
    lethe_bytes key, value;
    bool goes_on = true;
    while (goes_on && lethe_walk_next(walk, &key, &value) && has_prefix(key)) {
        lethe_bytes name = {.data = (const char *)key.data + 1, .size = key.size - 1};
        goes_on = visit(context, &(lethe_mark){.name = name, .value = value});
    }
    lethe_detail detail = {""};
    status = lethe_walk_end(walk, &detail);
    lethe_engine_remark_late(store, status, &detail);
    return status;
}

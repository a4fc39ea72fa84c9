/* unreported.c - skipped events that no run has reported yet.
 *
 * WHY  The mark of a file passes events that were skipped. The next run does not see them, so if
 *      this one is killed, or cannot write, nobody would ever hear of them.
 * I1   The commit that passes a skipped event says in a mark of the store how many there are that
 *      no run has reported. A run that has reported them removes that mark. If it is killed before
 *      that, they are reported again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "count/count.h"
#include "frame/interrupt.h"
#include "input/little_endian.h"
#include "say/message.h"
#include "store/store.h"

enum { NUMBER_BYTES = 8 };

static const char mark_name[] = "unreported";

void count_unreported_load(struct count_unreported *unreported, const lethe_mark *mark) {
    const unsigned char *at = mark->value.data;
    if (mark->name.size != sizeof mark_name - 1 || mark->value.size < NUMBER_BYTES ||
        memcmp(mark->name.data, mark_name, mark->name.size) != 0) {
        return;
    }
    unreported->before = unreported->count = get_number(&at, NUMBER_BYTES);
    size_t size = mark->value.size - NUMBER_BYTES;
    if (size >= sizeof unreported->path) size = sizeof unreported->path - 1;
    memcpy(unreported->path, at, size);
    unreported->path[size] = '\0';
}

static void add(struct count_unreported *unreported, uint64_t count, const char *path) {
    if (unreported->count == 0) {
        snprintf(unreported->path, sizeof unreported->path, "%s", inputs_name(path));
    }
    unreported->count += count;
}

void count_unreported_note(struct count_unreported *unreported, const struct event_batch *batch,
                           const uint8_t *outcomes) {
    if (batch->unreadable > 0) {
        size_t share = batch->complaint_count > 0 ? batch->complaints[0].share : 0;
        add(unreported, batch->unreadable, batch->shares[share].path);
    }
    size_t taken = 0;
    for (size_t i = 0; i < batch->count; i++) {
        taken += count_is_taken(outcomes[i]);
    }
    for (size_t i = 0; i < batch->count && taken < batch->count; i++) {
        if (!count_is_taken(outcomes[i])) add(unreported, 1, event_share_of(batch, i)->path);
    }
}

lethe_mark count_unreported_mark(struct count_unreported *unreported) {
    unsigned char *at = put_number(unreported->value, unreported->count, NUMBER_BYTES);
    size_t size = strlen(unreported->path);
    memcpy(at, unreported->path, size);
    return (lethe_mark){.name = {.data = mark_name, .size = sizeof mark_name - 1},
                        .value = {.data = unreported->value,
                                  .size = unreported->count > 0 ? NUMBER_BYTES + size : 0}};
}

void count_unreported_tell(const struct counting *counting) {
    const struct count_unreported *unreported = &counting->unreported;
    bool is_one = unreported->before == 1, has_path = unreported->path[0] != '\0';
    if (unreported->before == 0) return;
    message_warn("%s: %" PRIu64 " event%s skipped, neither counted nor %s, by an earlier run that "
                 "was interrupted before it could report %s%s%s; correct the cause, then count the "
                 "input again within the window (files with --from-start)",
                 counting->folder, unreported->before, is_one ? " was" : "s were",
                 is_one ? "a duplicate" : "duplicates", is_one ? "it" : "them",
                 !has_path ? ""
                 : is_one  ? ", in "
                           : ", the first in ",
                 unreported->path);
}

bool count_unreported_is_over(const struct counting *counting, int code) {
    bool is_told = code == EXIT_SKIPPED || interrupt_requested() || counting->json ||
                   !counting->quiet; /* by the last message, or by the summary */
    return counting->has_reported && !counting->has_failed && is_told && fflush(stdout) == 0;
}

int count_unreported_end(struct counting *counting, int code) {
    uint64_t ticket;
    if (counting->unreported.count == 0 || !count_unreported_is_over(counting, code)) return code;
    counting->unreported.count = 0;
    lethe_mark mark = count_unreported_mark(&counting->unreported);
    lethe_status status =
        lethe_store_submit(counting->store, NULL, 0, &mark, 1, NULL, NULL, &ticket);
    if (status == LETHE_OK) status = lethe_store_wait(counting->store, ticket);
    if (status == LETHE_OK) return code;
    return store_fail_call(status, "write the store", counting->folder, counting->store);
}

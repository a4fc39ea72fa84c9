/* count.c - `lethe count`: events become counters, each exactly once. This file begins and ends a
 * run into a store. */
#include "count/count.h"

#include <stdlib.h>

#include "count/redis.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "say/message.h"
#include "store/store.h"

/* As the library has it. */
enum { MAX_FUTURE_MS = 60000 };

static bool load_mark(void *context, const lethe_mark *mark) {
    struct count_marks *marks = context;
    if (marks->late != NULL) count_late_load(marks->late, mark);
    count_unreported_load(&marks->unreported, mark);
    marks->is_short_of_memory = !resume_load(&marks->table, mark->name, mark->value);
    return !marks->is_short_of_memory;
}

int count_load_marks(struct counting *counting, struct count_marks *marks) {
    lethe_status status = lethe_store_marks(counting->store, load_mark, marks);
    if (marks->is_short_of_memory) status = LETHE_ENOMEM;
    if (status != LETHE_OK) {
        return store_fail_call(status, "read the marks of", counting->folder, counting->store);
    }
    return EXIT_DONE;
}

/* With the store open. */
static int count_into(struct counting *counting, const struct event_options *options,
                      const char *late_path) {
    struct count_marks marks = {0};
    int code = late_path != NULL ? count_late_open(late_path, &counting->late) : EXIT_DONE;
    marks.late = counting->late;
    counting->lists_late = late_path != NULL;
    size_t slots = counting->inputs->count > EVENT_SLOTS ? counting->inputs->count : EVENT_SLOTS;
    counting->taken = calloc(slots, sizeof *counting->taken);
    if (code == EXIT_DONE && counting->taken == NULL) code = message_fail_memory();
    if (code == EXIT_DONE) code = count_load_marks(counting, &marks);
    if (code == EXIT_DONE) count_warn_of_marks(marks.table.not_understood, counting->folder);
    counting->unreported = marks.unreported;
    if (code == EXIT_DONE && counting->late != NULL) {
        code = count_late_begin(counting->late, counting, options);
    }
    if (code == EXIT_DONE) code = count_prepare(counting);
    if (code == EXIT_DONE) code = count_begin(counting, &marks.table);
    if (code == EXIT_DONE) {
        code = count_all(counting);
        count_report(counting);
    }
    events_free(counting->reader);
    code = count_late_end(counting->late, counting, code);
    resume_free(&marks.table);
    free(counting->taken);
    return count_unreported_end(counting, count_end(counting, code));
}

int run_count(const struct arguments *arguments) {
    static struct counting counting;
    static lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    lethe_store_options store_options = LETHE_INIT(lethe_store_options);
    struct event_options event_options = {0};
    struct event_kept_headers headers = {0};
    struct inputs inputs;
    interrupt_begin();
    int code = count_check_place(arguments);
    if (code == EXIT_DONE && arguments_has(arguments, "redis")) return count_redis(arguments);
    if (code == EXIT_DONE) code = store_folder(arguments, &counting.folder);
    if (code == EXIT_DONE) code = count_read_store(arguments, &store_options);
    if (code == EXIT_DONE) code = count_read_events(arguments, &event_options);
    if (code == EXIT_DONE) code = count_read_limit(arguments, &counting.bounds);
    if (code == EXIT_DONE) code = count_read_follow(arguments, &counting, &event_options);
    if (code == EXIT_DONE) code = count_check_files(arguments, counting.folder, &inputs);
    if (code != EXIT_DONE) return code;
    bool has_time = event_format_has_time(&event_options.format);
    event_options.merges = has_time && inputs.count > 1 && !event_options.follows;
    event_options.max_future_ms =
        store_options.max_future_ms > 0 ? store_options.max_future_ms : MAX_FUTURE_MS;
    event_options.counts_late = event_options.counts_late && has_time;
    if (event_options.merges) code = count_check_merge(&inputs);
    if (code != EXIT_DONE) return code;
    /* A batch and its mark belong into one commit. */
    event_options.batch_limit = store_options.commit_operations;
    if (arguments_has(arguments, "late-out")) event_options.headers = &headers;
    counting.inputs = &inputs;
    count_read_reporting(arguments, &counting);
    store_options.event_time = has_time ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    store_options.capacity = count_expect(counting.folder, &inputs, &store_options);
    code = count_check_switch(&counting, &store_options, &event_options);
    if (code == EXIT_DONE) code = events_open(&inputs, &event_options, &counting.reader);
    if (code == EXIT_DONE) code = store_open(counting.folder, &store_options, &counting.store);
    if (code != EXIT_DONE) {
        events_free(counting.reader);
        event_headers_free(&headers);
        return code;
    }
    lethe_store_info(counting.store, &stats);
    counting.has_sketch = stats.sketch_bytes > 0;
    counting.has_periods = stats.per[0] != '\0';
    counting.degrades = store_options.policy == LETHE_POLICY_DEGRADE;
    counting.is_uncapped = store_options.max_memory_bytes == 0;
    counting.has_time = has_time;
    counting.lacks_time = stats.event_time && !has_time;
    counting.scale = stats.scale;
    code = count_set_scale(&event_options, counting.scale);
    if (code == EXIT_DONE) code = bounds_place(&counting.bounds, counting.store, counting.folder);
    if (code == EXIT_DONE) code = bounds_scale(&counting.bounds, counting.scale);
    if (code == EXIT_DONE) {
        code = count_into(&counting, &event_options, arguments_text(arguments, "late-out"));
    } else {
        events_free(counting.reader);
    }
    event_headers_free(&headers);
    return store_close(counting.folder, counting.store, code);
}

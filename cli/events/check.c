/* check.c - looks whether files can be read on, without reading events: whether they are there and
 * sound at their beginning, have the header that is asked for, and were read in the same manner
 * before. */
#include <stdlib.h>
#include <sys/stat.h>

#include "events/events.h"
#include "events/open.h"
#include "frame/exit_code.h"
#include "say/message.h"

/* What can be read only once is left alone. */
static bool can_be_opened_twice(const char *path) {
    struct stat status;
    return !inputs_is_standard(path) && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Whether the open file has bytes after its place. */
static bool has_more(struct event_gatherer *gatherer) {
    struct stream *stream = &gatherer->stream;
    return stream_size(stream) > 0 || stream_fill(stream, &gatherer->failure) == SOURCE_MORE;
}

static void check_all(struct event_gatherer *gatherer, struct event_batch *batch, bool *is_unread) {
    const struct inputs *inputs = gatherer->inputs;
    while (gatherer->next_input < inputs->count && gatherer->failure.code == EXIT_DONE) {
        size_t next = gatherer->next_input;
        if (!can_be_opened_twice(inputs->paths[next])) {
            gatherer->next_input++;
            continue;
        }
        event_batch_clear(batch);
        if (!event_open_next(gatherer, batch)) return;
        *is_unread = *is_unread || has_more(gatherer);
        stream_close(&gatherer->stream);
    }
}

int events_check(const struct inputs *inputs, const struct event_options *options,
                 struct resume_table *table, bool *is_unread) {
    *is_unread = false;
    struct event_gatherer *gatherer = calloc(1, sizeof *gatherer);
    struct event_batch batch = {0};
    int code = EXIT_ENVIRONMENT;
    if (gatherer != NULL && event_gatherer_init(gatherer, inputs, options, table, NULL) &&
        event_batch_init(&batch)) {
        check_all(gatherer, &batch, is_unread);
        input_failure_advise(&gatherer->failure, false);
        code = gatherer->failure.code;
        if (code != EXIT_DONE) message_fail(code, "%s", gatherer->failure.text);
    } else {
        code = message_fail_memory();
    }
    event_batch_free(&batch);
    if (gatherer != NULL) event_gatherer_free(gatherer);
    free(gatherer);
    return code;
}

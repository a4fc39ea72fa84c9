/* http_live.c - GET /v1/live: a line of JSON for each interval, until the client leaves.
 *
 * IDEA    Each stream has a text that is on its way. When it is sent the connection is suspended.
 *         One thread writes the next text when it is due, and resumes the connection.
 * I1      A stream is in the list as long as its answer exists, and its connection is resumed only
 *         while it is suspended: then the connection is there for certain.
 * I2      A stream ends with its token: when the tokens are read again, those streams end whose
 *         token is gone or may do something else. Whoever asks again is judged anew. */
#include <stdlib.h>
#include <string.h>

#include "frame/clock.h"
#include "server/caps.h"
#include "server/http_internal.h"
#include "server/rest.h"
#include "server/state.h"
#include "server/tables.h"

struct stream {
    struct live *live;
    struct MHD_Connection *connection;
    const struct token *token;
    uint64_t interval_ms, due_ms;
    /* Of a server over Redis: which table; empty: the first. */
    char table_room[REQUEST_PART_BYTES];
    lethe_bytes table;
    struct text text;
    size_t sent;
    bool is_suspended, ends;
    struct stream *next;
};

struct live {
    struct server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct stream *first;
    size_t count;
    bool stops, has_thread;
};

/* With the lock. */
static void wake(struct stream *stream) {
    if (!stream->is_suspended) return;
    stream->is_suspended = false;
    MHD_resume_connection(stream->connection);
}

/* Gives each stream that is due the text, or that of its table. A client that has not taken the
 * last one misses this. */
static void hand_out(struct live *live, const struct text *text, uint64_t now) {
    for (struct stream *stream = live->first; stream != NULL; stream = stream->next) {
        if (stream->due_ms > now) continue;
        stream->due_ms = now + stream->interval_ms;
        if (stream->sent < stream->text.size) continue;
        stream->text.size = stream->sent = 0;
        if (live->server->tables != NULL)
            tables_write(live->server->tables, stream->table, &stream->text);
        else
            text_add(&stream->text, text->data, text->size);
        wake(stream);
    }
}

/* With the lock. When the next stream is due; UINT64_MAX if there is none. */
static uint64_t next_due(const struct live *live) {
    uint64_t due = UINT64_MAX;
    for (const struct stream *stream = live->first; stream != NULL; stream = stream->next) {
        if (stream->due_ms < due) due = stream->due_ms;
    }
    return due;
}

static void *tick(void *context) {
    struct live *live = context;
    struct text text = {0};
    pthread_mutex_lock(&live->lock);
    while (!live->stops) {
        uint64_t now = clock_ms(), due = next_due(live);
        if (due > now) {
            uint64_t left = due - now;
            rest_ms(&live->changed, &live->lock, left < 1000 ? (unsigned)left : 1000);
            continue;
        }
        pthread_mutex_unlock(&live->lock);
        text.size = 0;
        if (live->server->tables == NULL) status_write(live->server, &text);
        pthread_mutex_lock(&live->lock);
        hand_out(live, &text, clock_ms());
    }
    pthread_mutex_unlock(&live->lock);
    text_free(&text);
    return NULL;
}

/* An MHD_ContentReaderCallback. */
static ssize_t read_stream(void *context, uint64_t position, char *out, size_t room) {
    struct stream *stream = context;
    struct live *live = stream->live;
    (void)position;
    ssize_t result = 0;
    pthread_mutex_lock(&live->lock);
    size_t left = stream->text.size - stream->sent;
    bool ends = stream->ends || links_is_retired(stream->connection) || (left == 0 && live->stops);
    /* What was given before has been sent: a reader has some time for each piece. */
    links_stage(stream->connection, left > 0 ? LINK_SENDS : LINK_ANSWERS, BODY_SECONDS);
    if (ends) {
        result = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (left > 0) {
        size_t size = left < room ? left : room;
        memcpy(out, stream->text.data + stream->sent, size);
        stream->sent += size;
        result = (ssize_t)size;
    } else {
        stream->is_suspended = true;
        MHD_suspend_connection(stream->connection);
    }
    pthread_mutex_unlock(&live->lock);
    return result;
}

/* An MHD_ContentReaderFreeCallback. */
static void free_stream(void *context) {
    struct stream *stream = context;
    struct live *live = stream->live;
    pthread_mutex_lock(&live->lock);
    struct stream **link = &live->first;
    while (*link != NULL && *link != stream) {
        link = &(*link)->next;
    }
    if (*link == stream) {
        *link = stream->next;
        live->count--;
    }
    pthread_mutex_unlock(&live->lock);
    text_free(&stream->text);
    free(stream);
}

static bool add_stream(struct live *live, struct stream *stream) {
    pthread_mutex_lock(&live->lock);
    bool fits = live->count < STREAMS_LIMIT && !live->stops;
    if (fits) {
        stream->ends = !access_still(&live->server->access, stream->token); /* read meanwhile */
        stream->next = live->first;
        live->first = stream;
        live->count++;
        pthread_cond_signal(&live->changed);
    }
    pthread_mutex_unlock(&live->lock);
    return fits;
}

enum MHD_Result live_answer(struct live *live, struct exchange *exchange) {
    struct request *request = &exchange->request;
    uint64_t interval = 1000;
    if (!request_argument_number(request, "interval", STREAM_LEAST_MS, STREAM_MOST_MS, &interval))
        return http_send(exchange);
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return MHD_NO;
    *stream = (struct stream){.live = live,
                              .connection = exchange->connection,
                              .token = request->token,
                              .interval_ms = interval};
    stream->due_ms = clock_ms();
    if (!request_argument_bytes(request, "table", stream->table_room, &stream->table)) {
        free(stream);
        return http_send(exchange);
    }
    if (!add_stream(live, stream)) {
        free(stream);
        request_problem(request, 503, "Too many streams",
                        "%d streams are open already; close one, or ask /v1/status", STREAMS_LIMIT);
        request->asks_again = true;
        return http_send(exchange);
    }
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, 32 << 10, read_stream, stream, free_stream);
    if (response == NULL) {
        free_stream(stream);
        return MHD_NO;
    }
    request_answer(request, 200, "application/x-ndjson");
    http_add_headers(exchange, response);
    enum MHD_Result result = MHD_queue_response(exchange->connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

struct live *live_begin(struct server *server) {
    struct live *live = calloc(1, sizeof *live);
    if (live == NULL) return NULL;
    live->server = server;
    pthread_mutex_init(&live->lock, NULL);
    rest_init(&live->changed);
    live->has_thread = pthread_create(&live->thread, NULL, tick, live) == 0;
    return live;
}

void live_check(struct live *live) {
    pthread_mutex_lock(&live->lock);
    for (struct stream *stream = live->first; stream != NULL; stream = stream->next) {
        if (access_still(&live->server->access, stream->token)) continue;
        stream->ends = true;
        wake(stream);
    }
    pthread_mutex_unlock(&live->lock);
}

void live_retire(struct live *live) {
    pthread_mutex_lock(&live->lock);
    for (struct stream *stream = live->first; stream != NULL; stream = stream->next) {
        wake(stream); /* it is suspended again unless its connection ends */
    }
    pthread_mutex_unlock(&live->lock);
}

void live_stop(struct live *live) {
    pthread_mutex_lock(&live->lock);
    live->stops = true;
    for (struct stream *stream = live->first; stream != NULL; stream = stream->next) {
        wake(stream);
    }
    pthread_cond_signal(&live->changed);
    pthread_mutex_unlock(&live->lock);
    if (live->has_thread) pthread_join(live->thread, NULL);
    live->has_thread = false;
}

void live_end(struct live *live) {
    pthread_cond_destroy(&live->changed);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

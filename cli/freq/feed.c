/* freq/feed.c - reads blocks of lines, counts their frequent keys in several threads, and adds what
 * comes of it to one sketch.
 *
 * IDEA    A sketch is written by one thread at a time. But most lines never reach it: each block of
 *         text is first digested (digest.h), which the threads do side by side. What leaves the
 *         tables meanwhile is added when all blocks before are in the sketch.
 * LAYOUT  The calling thread reads blocks into a ring, in which they are numbered. Threads take
 *         them by their numbers. There are a few tables, called lanes; block n is counted in lane n
 *         modulo their number, and what a lane has in the end is added lane by lane.
 * I1      Where a block ends depends on the text alone: it has as many whole lines as fit
 *         BLOCK_BYTES, or one line that is longer. Its lane has seen the same blocks before it,
 *         because the number of lanes depends on the kind of sketch alone; and it is added in its
 *         turn. So the sketch is the same for any number of threads, for all kinds, with the list
 *         of its most frequent keys.
 * I2      A block is in the ring from when it is read until it is added: filled - added is at most
 *         the size of the ring. Long keys point into it meanwhile.
 * I3      The first line that is wrong, in the order of the input, is the one that is reported:
 *         its thread waits for its turn too.
 * I4      A block is taken only after the block before it in its lane was added. So one thread at a
 *         time uses a lane.
 * WHY     A sketch for each thread, merged in the end, would spare the turns. But only two kinds
 *         merge without loss, lists of the most frequent keys do not, and memory would grow with
 *         the threads. Adding takes about a quarter of the time, so more threads than lanes would
 *         wait for their turns. Where adding is dear it takes half of the time, although tables are
 *         twice as large: then there are half as many of them.
 *         Blocks are short because tables stay: they and their lists are most of what a thread
 *         takes.
 * LIMIT   Where hardly a line repeats, nearly all go to the sketch one after the other. Threads
 *         then only spare the time of reading them. */
#include "freq/feed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "freq/digest.h"
#include "say/message.h"
#include "say/progress.h"

enum { AT_ONCE = 256, MOST_LANES = 4, LANE_SETS = 1 << 15 };

static const size_t BLOCK_BYTES = (size_t)1 << 19;

struct block {
    char *text;
    size_t size, capacity;
};

/* Why the work ended early. */
struct wrong {
    enum digest_result result;
    lethe_status status; /* of the sketch, if the digest was fine */
    uint64_t line;
    struct key_problem problem;
};

struct feed {
    const struct inputs *inputs;
    const struct key_fields *fields;
    struct digest_settings settings;
    lethe_sketch *sketch;

    struct line_reader *reader;
    lethe_bytes piece; /* of what was read last: lines that are not in a block yet */
    struct progress progress;

    struct block *blocks;
    unsigned block_count;
    struct digest_table *lanes[MOST_LANES];
    unsigned lane_count;
    unsigned started;

    /* Protects what follows; changed is signalled with every change. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t filled, taken, added; /* blocks */
    uint64_t lines;                /* of the blocks that were added */
    bool is_read, has_stopped;
    struct wrong wrong;
};

/* A thread at work on a block. */
struct work {
    struct feed *feed;
    struct digest *digest;
    uint64_t number;
    const char *text; /* of the block */
    lethe_bytes keys[AT_ONCE];
    uint64_t weights[AT_ONCE];
};

/* Waits until all blocks before this one are added; returns false when the work has stopped. */
static bool take_turn(const struct work *work) {
    struct feed *feed = work->feed;
    pthread_mutex_lock(&feed->lock);
    while (feed->added != work->number && !feed->has_stopped)
        pthread_cond_wait(&feed->changed, &feed->lock);
    bool has_turn = !feed->has_stopped;
    pthread_mutex_unlock(&feed->lock);
    return has_turn;
}

/* Ends all work; the caller has the turn. */
static void stop(struct feed *feed, const struct wrong *wrong) {
    pthread_mutex_lock(&feed->lock);
    feed->wrong = *wrong;
    feed->has_stopped = true;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
}

/* Adds a part of a list. */
static lethe_status add_some(struct work *work, const struct digest_key *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        work->keys[i] = digest_key_bytes(&list[i], work->text);
        work->weights[i] = list[i].weight;
    }
    return lethe_sketch_add_key_batch(work->feed->sketch, work->keys, count, work->weights, NULL);
}

/* A digest_visit. */
static bool add(void *context, const struct digest_key *list, size_t count) {
    struct work *work = context;
    if (!take_turn(work)) return false;
    for (size_t at = 0; at < count; at += AT_ONCE) {
        lethe_status status =
            add_some(work, list + at, count - at < AT_ONCE ? count - at : AT_ONCE);
        if (status == LETHE_OK) continue;
        stop(work->feed, &(struct wrong){.status = status});
        return false;
    }
    return true;
}

static void add_block(struct work *work) {
    struct feed *feed = work->feed;
    const struct block *block = &feed->blocks[work->number % feed->block_count];
    struct wrong wrong = {.status = LETHE_OK};
    uint64_t lines = 0;
    work->text = block->text;
    wrong.result =
        digest_text(work->digest, feed->lanes[work->number % feed->lane_count],
                    (lethe_bytes){block->text, block->size}, add, work, &lines, &wrong.problem);
    if (wrong.result == DIGEST_ENDED || !take_turn(work)) return;
    if (wrong.result != DIGEST_DONE) {
        wrong.line = feed->lines + lines; /* nobody else has the turn */
        stop(feed, &wrong);
        return;
    }
    pthread_mutex_lock(&feed->lock);
    feed->lines += lines;
    feed->added++;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
}

/* Whether there may be a block later, but none can be taken now: I4. */
static bool has_to_wait(const struct feed *feed) {
    if (feed->has_stopped) return false;
    if (feed->taken == feed->filled) return !feed->is_read;
    return feed->taken - feed->added == feed->lane_count;
}

/* Takes the next block; returns false when there is none and will be none. */
static bool next_block(struct work *work) {
    struct feed *feed = work->feed;
    pthread_mutex_lock(&feed->lock);
    while (has_to_wait(feed))
        pthread_cond_wait(&feed->changed, &feed->lock);
    bool has_block = feed->taken < feed->filled && !feed->has_stopped;
    if (has_block) work->number = feed->taken++;
    pthread_mutex_unlock(&feed->lock);
    return has_block;
}

static void *work_on_blocks(void *context) {
    struct work *work = context;
    while (next_block(work))
        add_block(work);
    return NULL;
}

/* How much of the piece goes into a block that has so much room: whole lines. All of the first one
 * if the block is empty. */
static size_t part_of(lethe_bytes piece, size_t room, bool is_empty) {
    if (piece.size <= room) return piece.size;
    const char *last = memrchr(piece.data, '\n', room);
    if (last == NULL && is_empty) last = memchr(piece.data, '\n', piece.size);
    return last == NULL ? 0 : (size_t)(last - (const char *)piece.data) + 1;
}

static int append(struct block *block, lethe_bytes text) {
    if (block->text == NULL || block->size + text.size + DIGEST_PADDING > block->capacity) {
        size_t capacity = block->size + text.size + DIGEST_PADDING;
        if (capacity < BLOCK_BYTES + DIGEST_PADDING) capacity = BLOCK_BYTES + DIGEST_PADDING;
        char *larger = realloc(block->text, capacity);
        if (larger == NULL)
            return message_fail(EXIT_ENVIRONMENT, "not enough memory to read lines; free some");
        block->text = larger;
        block->capacity = capacity;
    }
    memcpy(block->text + block->size, text.data, text.size);
    block->size += text.size;
    return EXIT_DONE;
}

/* Reads a block, which is empty at the end. */
static int read_block(struct feed *feed, struct block *block) {
    block->size = 0;
    for (;;) {
        lethe_bytes *piece = &feed->piece;
        int code = EXIT_DONE;
        if (piece->size == 0) code = lines_next_text(feed->reader, piece);
        if (code != EXIT_DONE || piece->size == 0) return code;
        size_t room = block->size < BLOCK_BYTES ? BLOCK_BYTES - block->size : 0;
        size_t part = part_of(*piece, room, block->size == 0);
        if (part == 0) break;
        code = append(block, (lethe_bytes){piece->data, part});
        if (code != EXIT_DONE) return code;
        *piece = (lethe_bytes){(const char *)piece->data + part, piece->size - part};
    }
    return EXIT_DONE;
}

/* Waits for a free place in the ring; returns false when the work has stopped. */
static bool wait_for_place(struct feed *feed) {
    pthread_mutex_lock(&feed->lock);
    while (feed->filled - feed->added == feed->block_count && !feed->has_stopped)
        pthread_cond_wait(&feed->changed, &feed->lock);
    bool goes_on = !feed->has_stopped;
    uint64_t lines = feed->lines;
    pthread_mutex_unlock(&feed->lock);
    progress_update(&feed->progress, lines, lines_bytes(feed->reader));
    return goes_on;
}

static void hand_over(struct feed *feed, bool is_last, bool has_failed) {
    pthread_mutex_lock(&feed->lock);
    if (!is_last) feed->filled++;
    feed->is_read = is_last;
    feed->has_stopped |= has_failed;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
}

/* Reads all blocks. Without threads, this one works on them too. */
static int read_all(struct feed *feed, struct work *work) {
    bool is_last = false;
    int code = EXIT_DONE;
    while (!is_last && wait_for_place(feed)) {
        struct block *block = &feed->blocks[feed->filled % feed->block_count];
        code = read_block(feed, block);
        is_last = code != EXIT_DONE || block->size == 0;
        if (!is_last) memset(block->text + block->size, 0, DIGEST_PADDING);
        hand_over(feed, is_last, code != EXIT_DONE);
        if (!is_last && feed->started == 0 && next_block(work)) add_block(work);
    }
    return code;
}

static int fail(const struct feed *feed) {
    const struct wrong *wrong = &feed->wrong;
    struct key_place place;
    if (wrong->status != LETHE_OK) {
        return message_fail(
            EXIT_ENVIRONMENT,
            "not enough memory for the most frequent keys; ask for a smaller --top");
    }
    if (wrong->result == DIGEST_LACKS)
        return key_fail(feed->inputs, feed->fields, wrong->line, &wrong->problem);
    return message_fail(EXIT_BAD_DATA,
                        "%s: a key of more than %d bytes cannot be listed; leave out --top or "
                        "choose another --field",
                        key_line_name(feed->inputs, wrong->line, &place),
                        LETHE_SKETCH_MAX_KEY_BYTES);
}

/* Adds what the lanes have after the last block. */
static void add_lanes(struct work *work) {
    struct feed *feed = work->feed;
    work->number = feed->added; /* nobody else works any more */
    for (unsigned i = 0; i < feed->lane_count && i < feed->added && !feed->has_stopped; i++)
        (void)digest_empty(work->digest, feed->lanes[i], add, work);
}

/* Reads and adds everything, with as many threads as can be had. */
static int run(struct feed *feed, struct work *works, unsigned threads) {
    pthread_t ids[FEED_MOST_THREADS] = {0};
    while (threads > 1 && feed->started < threads &&
           pthread_create(&ids[feed->started], NULL, work_on_blocks, &works[feed->started]) == 0)
        feed->started++;
    int code = read_all(feed, &works[0]);
    for (unsigned i = 0; i < feed->started; i++)
        pthread_join(ids[i], NULL);
    if (code == EXIT_DONE && !feed->has_stopped) add_lanes(&works[0]);
    if (code != EXIT_DONE) return code;
    return feed->has_stopped ? fail(feed) : EXIT_DONE;
}

/* Whether adding is dear: see WHY. */
static bool is_dear(lethe_sketch_kind kind) {
    return kind == LETHE_SKETCH_LOG || kind == LETHE_SKETCH_FID;
}

static unsigned lanes_for(lethe_sketch_kind kind) {
    return is_dear(kind) ? MOST_LANES / 2 : MOST_LANES;
}

static bool make_lanes(struct feed *feed, lethe_sketch_kind kind) {
    for (unsigned i = 0; i < feed->lane_count; i++) {
        feed->lanes[i] = digest_table_new(is_dear(kind) ? 2 * LANE_SETS : LANE_SETS);
        if (feed->lanes[i] == NULL) return false;
    }
    return true;
}

int feed_all(const struct inputs *inputs, const struct key_fields *fields, bool shows,
             unsigned threads, lethe_sketch *sketch) {
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    (void)lethe_sketch_get_shape(sketch, &shape);
    unsigned lanes = lanes_for(shape.kind);
    if (threads == 0) threads = 1;
    if (threads > lanes) threads = lanes; /* more would only wait: I4 */
    struct feed feed = {
        .inputs = inputs,
        .fields = fields,
        .settings = {.fields = *fields,
                     .seed = shape.seed,
                     .longest_key = shape.top > 0 ? LETHE_SKETCH_MAX_KEY_BYTES : SIZE_MAX},
        .sketch = sketch,
        .block_count = threads > 1 ? threads + 1 : 1,
        .lane_count = lanes,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER};
    feed.blocks = calloc(feed.block_count, sizeof *feed.blocks);
    struct work *works = calloc(threads, sizeof *works);
    bool has_memory = feed.blocks != NULL && works != NULL && make_lanes(&feed, shape.kind);
    for (unsigned i = 0; has_memory && i < threads; i++) {
        works[i] = (struct work){.feed = &feed, .digest = digest_new(&feed.settings)};
        has_memory = works[i].digest != NULL;
    }
    int code = has_memory ? lines_open(inputs, &feed.reader)
                          : message_fail(EXIT_ENVIRONMENT,
                                         "not enough memory for %u threads; give fewer --threads",
                                         threads);
    if (has_memory && code == EXIT_DONE) {
        progress_begin(&feed.progress, shows, "lines", inputs->bytes);
        code = run(&feed, works, threads);
        progress_end(&feed.progress);
        lines_free(feed.reader);
    }
    for (unsigned i = 0; works != NULL && i < threads; i++)
        digest_free(works[i].digest);
    for (unsigned i = 0; i < feed.lane_count; i++)
        digest_table_free(feed.lanes[i]);
    for (unsigned i = 0; feed.blocks != NULL && i < feed.block_count; i++)
        free(feed.blocks[i].text);
    free(works);
    free(feed.blocks);
    return code;
}

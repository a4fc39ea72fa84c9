/* twice.c - `lethe dedup` of large files without --db: read once for their hashes, judged in
 * shards, and read again to print.
 *
 * IDEA    Nothing is printed before all lines were read. Then it is known which of them are
 *         duplicates, and the files are read again. The time per line is the same, however many
 *         lines there are: shards.h.
 * I1      Files may be changed between the two readings. The text of each batch of lines is hashed
 *         both times, and a difference ends the work before anything of that batch is printed. What
 *         was appended since is not looked at.
 * WHY     The cascade that dedup_all asks is for lines that cannot be read again, and for later
 *         runs. All of it must be read for each few million lines, which takes ten times as long
 *         for files of some gigabytes. */
#include <math.h>
#include <stdlib.h>

#include "dedup/dedup.h"
#include "dedup/shards.h"
#include "frame/interrupt.h"
#include "say/message.h"
#include "say/progress.h"

enum { FILES_KEPT = 64 }; /* open from the first reading to the second */

/* The texts of all batches, hashed. */
struct texts {
    uint64_t *hashes;
    size_t count, capacity;
};

struct twice {
    struct dedup *dedup;
    struct shards *shards;
    struct texts texts;
    struct progress progress;
    uint64_t lines, bytes; /* read the first time */
};

static uint64_t hash_text(const lethe_bytes *lines, size_t count) {
    return lethe_hash_bytes(0, lines[0].data, line_text_size(lines, count)).low;
}

static int note_text(struct texts *texts, const lethe_bytes *lines, size_t count) {
    if (texts->count == texts->capacity) {
        size_t capacity = 2 * texts->capacity + 1024;
        uint64_t *larger = realloc(texts->hashes, capacity * sizeof *larger);
        if (larger == NULL) return message_fail(EXIT_ENVIRONMENT, "not enough memory; free some");
        texts->hashes = larger;
        texts->capacity = capacity;
    }
    texts->hashes[texts->count++] = hash_text(lines, count);
    return EXIT_DONE;
}

static int read_first(struct twice *twice, struct line_reader *reader) {
    struct dedup *dedup = twice->dedup;
    struct key_batch batch;
    lethe_hash hashes[LINES_PER_BATCH];
    for (;;) {
        int code = keys_next(reader, dedup->inputs, &dedup->fields, &batch);
        if (code != EXIT_DONE || batch.count == 0) return code;
        lethe_hash_batch(LETHE_DEFAULT_SEED, batch.keys, batch.count, hashes);
        code = shards_add(twice->shards, hashes, batch.count);
        if (code == EXIT_DONE) code = note_text(&twice->texts, batch.lines, batch.count);
        if (code != EXIT_DONE) return code;
        twice->lines += batch.count;
        twice->bytes = lines_bytes(reader);
        progress_update(&twice->progress, 0, twice->bytes);
    }
}

static int print(struct twice *twice, struct line_reader *reader) {
    struct dedup *dedup = twice->dedup;
    struct line_batch batch;
    uint8_t present[LINES_PER_BATCH];
    for (size_t i = 0; i < twice->texts.count; i++) {
        int code = lines_next(reader, &batch);
        if (code != EXIT_DONE) return code;
        if (batch.count == 0 && interrupt_requested()) return EXIT_DONE;
        /* What came to the last file since. */
        uint64_t left = twice->lines - dedup->lines;
        if (batch.count > left) batch.count = (size_t)left;
        if (batch.count == 0 || hash_text(batch.lines, batch.count) != twice->texts.hashes[i])
            return dedup_fail_changed();
        shards_duplicates(twice->shards, dedup->lines, batch.count, present);
        code = dedup_output_new(&dedup->output, batch.lines, batch.count, present);
        if (code != EXIT_DONE) return code;
        dedup->lines += batch.count;
        for (size_t line = 0; line < batch.count; line++)
            dedup->printed += !present[line];
        progress_update(&twice->progress, dedup->lines, twice->bytes + lines_bytes(reader));
    }
    return EXIT_DONE;
}

static void settle(struct twice *twice) {
    struct dedup *dedup = twice->dedup;
    double each = ldexp(1, -SHARDS_FINGERPRINT_BITS), printed = (double)dedup->printed;
    dedup->wrong = printed * printed / 2 * each;
    dedup->cost = (struct dedup_cost){.error = printed * each,
                                      .entries = dedup->printed,
                                      .memory_bytes = shards_memory_bytes(twice->shards),
                                      .disk_bytes = shards_disk_bytes(twice->shards)};
}

static int run(struct twice *twice, struct line_reader *readers[2]) {
    const struct inputs *inputs = twice->dedup->inputs;
    int code = shards_open(twice->dedup->folder, twice->dedup->memory_bytes, &twice->shards);
    if (code == EXIT_DONE) code = lines_open(inputs, &readers[0]);
    bool keeps = code == EXIT_DONE && inputs->count <= FILES_KEPT;
    if (keeps) code = lines_keep(readers[0]);
    if (code == EXIT_DONE) code = read_first(twice, readers[0]);
    if (code == EXIT_DONE) code = shards_find(twice->shards);
    if (code == EXIT_DONE && interrupt_requested())
        return message_fail(interrupt_code(), "interrupted before the first line was printed");
    if (code == EXIT_DONE) code = lines_open(inputs, &readers[1]);
    if (code == EXIT_DONE && keeps) lines_follow(readers[1], readers[0]);
    if (code == EXIT_DONE) code = print(twice, readers[1]);
    int flushed = dedup_output_flush(&twice->dedup->output);
    return code == EXIT_DONE ? flushed : code;
}

int dedup_twice(struct dedup *dedup) {
    struct twice twice = {.dedup = dedup};
    struct line_reader *readers[2] = {NULL, NULL};
    progress_begin(&twice.progress, !dedup->quiet, "lines", 2 * dedup->inputs->bytes);
    int code = run(&twice, readers);
    progress_end(&twice.progress);
    if (twice.shards != NULL) settle(&twice);
    lines_free(readers[1]);
    lines_free(readers[0]);
    shards_free(twice.shards);
    free(twice.texts.hashes);
    return code;
}

/* dedup_note.c - what `lethe dedup --db` remembers of its files between two runs.
 *
 * IDEA    A checkpoint of the cascade carries a note of up to 4096 bytes, atomically: the marks (resume.h) of the files
 *         that were read, and one of the file that lines were delivered to. So what is remembered as seen, what
 *         counts as read and what counts as delivered are always of one moment.
 * LAYOUT  [version 2][flags: 1, there is an output][marks, 16 bits][the marks, one behind another], and with an output [its mark].
 *         Version 1 has marks of 53 bytes; flag 2 says that the output is empty, and before its mark come its device, inode
 *         and time of birth in ns; numbers are little-endian, of 64 bits.
 * LIMIT   The marks of the last 40 files or so. A file whose mark is gone is read again, and its lines are copies. */
#include <stdlib.h>
#include <string.h>

#include "cascade_worker.h"
#include "dedup.h"
#include "message.h"
#include "resume_find.h"

enum { FIRST_VERSION = 1, VERSION = 2, HEADER_BYTES = 4, HAS_DELIVERED = 1, IS_EMPTY = 2 };
enum { IDENTITY_BYTES = 3 * 8 };

static uint64_t load_u64(const unsigned char *bytes) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static int fail_memory(void) {
    return message_fail(EXIT_ENVIRONMENT, "not enough memory to remember files; free some");
}

static int fail_note(const struct dedup *dedup, const char *why) {
    return message_fail(EXIT_BAD_DATA,
                        "the note in %s of how far files were read is %s; use that lethe, or "
                        "another --db",
                        dedup->folder, why);
}

/* Of version 1: what tells the output from other files comes before its mark. */
static bool decode_first_output(struct dedup_note *note, const unsigned char *bytes, size_t size,
                                bool is_empty) {
    size_t used;
    if (size < IDENTITY_BYTES) return false;
    uint64_t identity = resume_identify(load_u64(bytes), load_u64(bytes + 8), load_u64(bytes + 16));
    lethe_bytes mark = {.data = bytes + IDENTITY_BYTES, .size = size - IDENTITY_BYTES};
    lethe_hash nothing = lethe_hash_bytes(LETHE_DEFAULT_SEED, "", 0);
    note->delivered = (struct resume_mark){.head = nothing, .tail = nothing};
    bool is_sound = is_empty || (resume_decode(mark, &note->delivered, &used) == RESUME_FINE &&
                                 used == mark.size);
    note->delivered.file.identity = identity;
    return is_sound;
}

static bool decode_output(struct dedup_note *note, const unsigned char *bytes, size_t size) {
    size_t used;
    lethe_bytes mark = {.data = bytes, .size = size};
    return resume_decode(mark, &note->delivered, &used) == RESUME_FINE && used == size;
}

/* Takes the marks out of a note. */
static int decode(struct dedup *dedup, const unsigned char *bytes, size_t size) {
    struct dedup_note *note = &dedup->note;
    if (size < HEADER_BYTES || bytes[0] == 0) return fail_note(dedup, "damaged");
    if (bytes[0] > VERSION) return fail_note(dedup, "of a newer version of lethe");
    size_t count = (size_t)bytes[2] | (size_t)bytes[3] << 8, at = HEADER_BYTES, used;
    for (size_t i = 0; i < count; i++, at += used) {
        struct resume_mark mark;
        lethe_bytes value = {.data = bytes + at, .size = size - at};
        if (resume_decode(value, &mark, &used) != RESUME_FINE || mark.offset == 0)
            return fail_note(dedup, "damaged");
        char name[RESUME_NAME_BYTES];
        resume_new_name(&note->table, &mark, name);
        if (!resume_put(&note->table, name, &mark)) return fail_memory();
    }
    note->has_delivered = (bytes[1] & HAS_DELIVERED) != 0;
    if (!note->has_delivered) return at == size ? EXIT_DONE : fail_note(dedup, "damaged");
    bool is_sound = bytes[0] == FIRST_VERSION ? decode_first_output(note, bytes + at, size - at,
                                                                    (bytes[1] & IS_EMPTY) != 0)
                                              : decode_output(note, bytes + at, size - at);
    return is_sound ? EXIT_DONE : fail_note(dedup, "damaged");
}

int dedup_note_load(struct dedup *dedup) {
    struct dedup_note *note = &dedup->note;
    note->inputs = dedup->inputs;
    note->forgets = lethe_cascade_info(dedup->cascade, cascade_now_ms()).window_ms > 0;
    note->names = calloc(dedup->inputs->count, sizeof *note->names);
    if (note->names == NULL) return fail_memory();
    unsigned char bytes[LETHE_CASCADE_MAX_NOTE_BYTES];
    uint64_t sequence;
    size_t size;
    lethe_cascade_last_checkpoint(dedup->cascade, &sequence, bytes, &size);
    return size > 0 ? decode(dedup, bytes, size) : EXIT_DONE;
}

void dedup_note_free(struct dedup_note *note) {
    resume_free(&note->table);
    free(note->names);
    note->names = NULL;
}

/* Says that other parts of the lines were compared, and what to do. */
static int fail_manner(const struct dedup_note *note, size_t input,
                       const struct resume_mark *mark) {
    static const char whole[] = "neither --field nor --delimiter";
    return message_fail(
        EXIT_USAGE,
        "%s was read with %s, and now %s is given; give the same again to go on, or "
        "--from-start to read all of it as you say now (lines that were seen are "
        "still dropped)",
        note->inputs->paths[input], mark->manner[0] != '\0' ? mark->manner : whole,
        note->manner[0] != '\0' ? note->manner : whole);
}

/* Goes on from a mark. */
static int go_on(struct dedup_note *note, const struct resume_entry *entry, int descriptor,
                 struct resume_track *track, uint64_t *offset) {
    char tail[RESUME_SAMPLE_BYTES];
    const struct resume_mark *mark = &entry->mark;
    size_t size = mark->offset < sizeof tail ? (size_t)mark->offset : sizeof tail;
    if (mark->has_blocks && resume_read_at(descriptor, mark->offset - size, tail, size)) {
        resume_track_go_on(track, mark, tail);
    } else if (resume_follow(descriptor, mark->offset, track) != RESUME_FOUND) {
        resume_track_start(track); /* it has just been cut short, or a signal came */
        return EXIT_DONE;
    }
    *offset = mark->offset;
    note->resumed_at += mark->offset;
    return EXIT_DONE;
}

int dedup_note_start(void *context, size_t input, int descriptor, struct resume_track *track,
                     uint64_t *offset) {
    struct dedup_note *note = context;
    char head[RESUME_SAMPLE_BYTES];
    struct resume_file file;
    *offset = 0;
    if (!resume_look(descriptor, &file)) return EXIT_DONE;
    size_t size = file.size < sizeof head ? (size_t)file.size : sizeof head;
    if (!resume_read_at(descriptor, 0, head, size)) return EXIT_DONE;
    struct resume_search search = resume_search_begin(&note->table, head, size, 0);
    const struct resume_entry *entry = NULL;
    (void)resume_search_file(&search, descriptor, &entry);
    bool is_short_of_memory = search.is_short_of_memory;
    resume_search_end(&search);
    if (is_short_of_memory) return fail_memory();
    if (entry == NULL) return EXIT_DONE;
    bool is_other = entry->mark.has_blocks && strcmp(entry->mark.manner, note->manner) != 0;
    /* Another file that has all of the mark's and more leaves it to that one, which may be read again when its lines are
     * forgotten. Where they never are there is no need, and little room for marks. */
    bool is_left = note->forgets && entry->mark.has_blocks && !is_other &&
                   entry->mark.file.identity != file.identity;
    if (!is_left) memcpy(note->names[input], entry->name, RESUME_NAME_BYTES);
    if (note->from_start) return EXIT_DONE;
    if (is_other) return fail_manner(note, input, &entry->mark);
    return go_on(note, entry, descriptor, track, offset);
}

int dedup_note_reached(struct dedup_note *note, const struct line_place *place) {
    if (!place->has_mark) return EXIT_DONE;
    struct resume_mark mark = place->mark;
    char *name = note->names[place->input];
    memcpy(mark.manner, note->manner, sizeof note->manner);
    if (name[0] == '\0') resume_new_name(&note->table, &mark, name);
    return resume_put(&note->table, name, &mark) ? EXIT_DONE : fail_memory();
}

/* Describes how much was delivered to --out. */
static int note_delivered(struct dedup *dedup, bool is_closed) {
    if (dedup->output.path == NULL || !dedup->output.is_regular) return EXIT_DONE;
    dedup->note.has_delivered = true;
    return appended_mark(&dedup->output.file, is_closed, &dedup->note.delivered);
}

/* Writes the marks that there is room for, the last ones; returns how many of the first are left out. */
static size_t encode_marks(const struct resume_table *table, size_t room, unsigned char *bytes,
                           size_t *size) {
    unsigned char value[RESUME_VALUE_BYTES];
    size_t first = table->count;
    for (*size = 0; first > 0; first--) {
        size_t more = resume_encode(&table->entries[first - 1].mark, value);
        if (more > room - *size) break;
        *size += more;
    }
    for (size_t i = first, at = 0; i < table->count; i++) {
        at += resume_encode(&table->entries[i].mark, bytes + at);
    }
    return first;
}

static size_t encode(struct dedup_note *note, unsigned char *bytes) {
    unsigned char output[RESUME_VALUE_BYTES];
    size_t output_size = note->has_delivered ? resume_encode(&note->delivered, output) : 0;
    size_t room = LETHE_CASCADE_MAX_NOTE_BYTES - HEADER_BYTES - output_size, size;
    size_t left_out = encode_marks(&note->table, room, bytes + HEADER_BYTES, &size);
    size_t count = note->table.count - left_out;
    if (left_out > 0 && !note->has_warned) {
        note->has_warned = true;
        message_warn(
            "there is room for the marks of the last %zu files only; others are read again "
            "from the start, and their lines are copies as long as they are remembered",
            count);
    }
    bytes[0] = VERSION;
    bytes[1] = note->has_delivered ? HAS_DELIVERED : 0;
    bytes[2] = (unsigned char)count;
    bytes[3] = (unsigned char)(count >> 8);
    memcpy(bytes + HEADER_BYTES + size, output, output_size);
    return HEADER_BYTES + size + output_size;
}

int dedup_note_save(struct dedup *dedup, bool is_closed) {
    unsigned char bytes[LETHE_CASCADE_MAX_NOTE_BYTES];
    int code = note_delivered(dedup, is_closed);
    if (code != EXIT_DONE) return code;
    size_t size = encode(&dedup->note, bytes), size_before;
    uint64_t sequence;
    lethe_cascade_last_checkpoint(dedup->cascade, &sequence, NULL, &size_before);
    lethe_status status = lethe_cascade_checkpoint(dedup->cascade, sequence + 1, bytes, size);
    return status == LETHE_OK ? EXIT_DONE : dedup_fail(dedup, status, "write");
}

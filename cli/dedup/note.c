/* note.c - what `lethe dedup --db` remembers about its files between two runs.
 *
 * IDEA    A checkpoint of the cascade carries a note of up to 4096 bytes, atomically: the marks
 *         (resume.h) of the files that were read, and one of the file that lines were delivered to.
 *         So which lines were seen, how far files are read and what is delivered always belong to
 *         the same moment.
 * LAYOUT  [version 2][flags: 1, there is an output][number of marks, 16 bits][the marks], and with
 *         an output [its mark]. Version 1 has marks of 53 bytes; flag 2 says that the output is
 *         empty, and its mark comes after its device, inode and time of birth in ns. Numbers are
 *         little-endian, of 64 bits.
 * LIMIT   The marks of the last 40 files or so. A file whose mark is gone is read again, and its
 *         lines are duplicates as long as they are remembered. */
#include <stdlib.h>
#include <string.h>

#include "dedup/dedup.h"
#include "frame/clock.h"
#include "input/little_endian.h"
#include "input/resume_find.h"
#include "say/message.h"

enum { FIRST_VERSION = 1, VERSION = 2, HEADER_BYTES = 4, HAS_DELIVERED = 1, IS_EMPTY = 2 };
enum { IDENTITY_BYTES = 3 * 8 };

static int fail_memory(void) {
    return message_fail(EXIT_ENVIRONMENT, "not enough memory to remember files; free some");
}

static int fail_note(const struct dedup *dedup, const char *why) {
    return message_fail(EXIT_BAD_DATA,
                        "the note in %s of how far files were read is %s; use that lethe, or "
                        "another --db",
                        dedup->folder, why);
}

/* Of version 1: what identifies the output comes before its mark. */
static bool decode_first_output(struct dedup_note *note, const unsigned char *bytes, size_t size,
                                bool is_empty) {
    size_t used;
    if (size < IDENTITY_BYTES) return false;
    const unsigned char *at = bytes;
    uint64_t device = get_number(&at, 8), inode = get_number(&at, 8), born_ns = get_number(&at, 8);
    uint64_t identity = resume_identify(device, inode, born_ns);
    lethe_bytes mark = {.data = at, .size = size - IDENTITY_BYTES};
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

/* What can be wrong with a note. */
enum problem { NONE, DAMAGED, NEWER, NO_MEMORY };

/* Takes the marks out of a note. */
static enum problem take_marks(struct dedup_note *note, const unsigned char *bytes, size_t size) {
    if (size < HEADER_BYTES || bytes[0] == 0) return DAMAGED;
    if (bytes[0] > VERSION) return NEWER;
    size_t count = (size_t)bytes[2] | (size_t)bytes[3] << 8, at = HEADER_BYTES, used;
    for (size_t i = 0; i < count; i++, at += used) {
        struct resume_mark mark;
        lethe_bytes value = {.data = bytes + at, .size = size - at};
        if (resume_decode(value, &mark, &used) != RESUME_FINE || mark.offset == 0) return DAMAGED;
        char name[RESUME_NAME_BYTES];
        resume_new_name(&note->table, &mark, name);
        if (!resume_put(&note->table, name, &mark)) return NO_MEMORY;
    }
    note->has_delivered = (bytes[1] & HAS_DELIVERED) != 0;
    if (!note->has_delivered) return at == size ? NONE : DAMAGED;
    bool is_sound = bytes[0] == FIRST_VERSION ? decode_first_output(note, bytes + at, size - at,
                                                                    (bytes[1] & IS_EMPTY) != 0)
                                              : decode_output(note, bytes + at, size - at);
    return is_sound ? NONE : DAMAGED;
}

static int decode(struct dedup *dedup, const unsigned char *bytes, size_t size) {
    switch (take_marks(&dedup->note, bytes, size)) {
    case DAMAGED:
        return fail_note(dedup, "damaged");
    case NEWER:
        return fail_note(dedup, "of a newer version of lethe");
    case NO_MEMORY:
        return fail_memory();
    default:
        return EXIT_DONE;
    }
}

bool dedup_note_read(const unsigned char *bytes, size_t size, struct dedup_note_facts *out) {
    struct dedup_note note = {0};
    bool is_fine = take_marks(&note, bytes, size) == NONE;
    *out = (struct dedup_note_facts){.files = note.table.count, .has_output = note.has_delivered};
    dedup_note_free(&note);
    return is_fine;
}

int dedup_note_load(struct dedup *dedup) {
    struct dedup_note *note = &dedup->note;
    note->inputs = dedup->inputs;
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    (void)lethe_cascade_info(dedup->cascade, clock_wall_ms(), &stats);
    note->forgets = stats.window_ms > 0;
    note->names = calloc(dedup->inputs->count, sizeof *note->names);
    note->left_at = calloc(dedup->inputs->count, sizeof *note->left_at);
    if (note->names == NULL || note->left_at == NULL) return fail_memory();
    unsigned char bytes[LETHE_CASCADE_MAX_NOTE_BYTES];
    uint64_t sequence;
    size_t size;
    lethe_cascade_last_checkpoint(dedup->cascade, &sequence, bytes, &size);
    return size > 0 ? decode(dedup, bytes, size) : EXIT_DONE;
}

void dedup_note_free(struct dedup_note *note) {
    resume_free(&note->table);
    free(note->names);
    free(note->left_at);
    note->names = NULL;
    note->left_at = NULL;
}

/* Says that other parts of the lines were compared, and what to do. */
static int fail_manner(const struct dedup_note *note, size_t input,
                       const struct resume_mark *mark) {
    static const char whole[] = "neither --field nor --delimiter";
    return message_fail(
        EXIT_USAGE,
        "%s was read with %s, and now %s is given; give the same options again to continue, or "
        "--from-start to read all of it in the new way (lines that were seen are "
        "still dropped)",
        note->inputs->paths[input], mark->manner[0] != '\0' ? mark->manner : whole,
        note->manner[0] != '\0' ? note->manner : whole);
}

static int fail_reading(struct input_failure *failure, bool is_used) {
    input_failure_advise(failure, is_used);
    return failure->code == EXIT_DONE ? EXIT_DONE
                                      : message_fail(failure->code, "%s", failure->text);
}

/* Decides about the mark that was found for an input: whether it moves on with what is read, and
 * whether reading goes on from it. */
static int use_mark(struct dedup_note *note, size_t input, const struct resume_entry *entry,
                    uint64_t identity, bool *goes_on) {
    const struct resume_mark *mark = &entry->mark;
    bool is_other = mark->has_blocks && strcmp(mark->manner, note->manner) != 0;
    /* Another file that has all of the mark's and more leaves it to that one, which may be read
     * again when its lines are forgotten. Where they never are there is no need, and little room
     * for marks. */
    bool is_left = note->forgets && mark->has_blocks && !is_other &&
                   (identity == 0 || mark->file.identity != identity);
    if (is_left) {
        note->left_at[input] = mark->offset;
    } else {
        memcpy(note->names[input], entry->name, RESUME_NAME_BYTES);
    }
    *goes_on = !note->from_start;
    return *goes_on && is_other ? fail_manner(note, input, mark) : EXIT_DONE;
}

/* Refuses an input that was read in another manner. */
static int check_manner(const struct dedup_note *note, size_t input, struct stream *stream) {
    struct input_failure failure = {0};
    struct place place;
    if (!stream_open(stream, note->inputs->paths[input], NULL, &failure) ||
        stream_read_head(stream, &failure) != SOURCE_MORE ||
        place_find(stream, &note->table, 0, &place, &failure) != SOURCE_MORE || /* or a signal */
        place.entry == NULL) {
        return fail_reading(&failure, false);
    }
    const struct resume_mark *mark = &place.entry->mark;
    bool is_other = mark->has_blocks && strcmp(mark->manner, note->manner) != 0;
    return is_other ? fail_manner(note, input, mark) : EXIT_DONE;
}

int dedup_note_survey(const struct dedup_note *note) {
    const struct inputs *inputs = note->inputs;
    if (note->from_start || inputs->count == 1 ||
        !resume_has_other_manner(&note->table, note->manner)) {
        return EXIT_DONE;
    }
    struct stream stream = {.takes_binary = inputs->takes_binary};
    int code = stream_init(&stream, true) ? EXIT_DONE : fail_memory();
    for (size_t i = 0; i < inputs->count && code == EXIT_DONE; i++) {
        if (inputs_is_file(inputs->paths[i])) code = check_manner(note, i, &stream);
    }
    stream_free(&stream);
    return code;
}

int dedup_note_start(void *context, size_t input, struct stream *stream) {
    struct dedup_note *note = context;
    struct input_failure failure = {0};
    struct place place;
    bool goes_on = false;
    if (place_find(stream, &note->table, 0, &place, &failure) != SOURCE_MORE) {
        return fail_reading(&failure, input > 0);
    }
    if (place.entry != NULL) {
        int code = use_mark(note, input, place.entry, place_identity(stream), &goes_on);
        if (code != EXIT_DONE) return code;
    }
    if (goes_on && place_go(stream, &place.entry->mark, &failure) == SOURCE_MORE) {
        note->resumed_at += stream->offset;
    } else if (stream->offset > 0 && failure.code == EXIT_DONE) {
        /* There is no mark, or the file has just been cut short, or a signal came. */
        (void)stream_restart(stream, 0, &failure);
    }
    return fail_reading(&failure, input > 0);
}

int dedup_note_reached(struct dedup_note *note, const struct line_place *place) {
    if (!place->has_mark) return EXIT_DONE;
    struct resume_mark mark = place->mark;
    char *name = note->names[place->input];
    /* The mark that was left to another file says the same. */
    if (name[0] == '\0' && mark.offset <= note->left_at[place->input]) return EXIT_DONE;
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

/* Writes the marks that there is room for, the last ones; returns how many of the first are left
 * out. */
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
            "there is room for the marks of the last %zu files only; other files are read "
            "again from the start, and their lines are duplicates as long as they are remembered",
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

/* dedup_note.c - what `lethe dedup --db` remembers of its files between two runs.
 *
 * IDEA    A checkpoint of the cascade carries a note of up to 4096 bytes, atomically: the marks (resume.h) of the files
 *         that were read, and one of the file that lines were delivered to. So what is remembered as seen, what
 *         counts as read and what counts as delivered are always of one moment.
 * LAYOUT  [version 1][flags: 1, there is an output; 2, it is empty][marks, 16 bits][marks, 53 bytes each]
 *         and with an output: [its device][inode][time of birth, ns][its mark]; numbers are little-endian, of 64 bits
 * LIMIT   The marks of the last 70 files. A file whose mark is gone is read again, and its lines are copies. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dedup.h"
#include "message.h"

enum { VERSION = 1, HEADER_BYTES = 4, MARKS = 70, TRIES = 8, HAS_DELIVERED = 1, IS_EMPTY = 2 };
enum { OUTPUT_BYTES = 3 * 8 + RESUME_VALUE_BYTES };

_Static_assert(HEADER_BYTES + MARKS * RESUME_VALUE_BYTES + OUTPUT_BYTES <=
                   LETHE_CASCADE_MAX_NOTE_BYTES,
               "a note has room for all marks");

static uint64_t load_u64(const unsigned char *bytes) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static void store_u64(unsigned char *bytes, uint64_t value) {
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
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

static bool decode_output(struct dedup_note *note, const unsigned char *bytes, bool is_empty) {
    note->identity = (struct dedup_identity){
        .device = load_u64(bytes), .inode = load_u64(bytes + 8), .born_ns = load_u64(bytes + 16)};
    note->has_delivered = true;
    note->delivered = resume_describe(0, 0, "", "");
    if (is_empty) return true;
    lethe_bytes mark = {.data = bytes + 24, .size = RESUME_VALUE_BYTES};
    return resume_decode(mark, &note->delivered) == RESUME_FINE;
}

/* Takes the marks out of a note. */
static int decode(struct dedup *dedup, const unsigned char *bytes, size_t size) {
    struct dedup_note *note = &dedup->note;
    if (size < HEADER_BYTES || bytes[0] == 0) return fail_note(dedup, "damaged");
    if (bytes[0] > VERSION) return fail_note(dedup, "of a newer version of lethe");
    size_t count = (size_t)bytes[2] | (size_t)bytes[3] << 8;
    size_t end = HEADER_BYTES + count * RESUME_VALUE_BYTES;
    bool has_output = (bytes[1] & HAS_DELIVERED) != 0;
    if (size != end + (has_output ? OUTPUT_BYTES : 0)) return fail_note(dedup, "damaged");
    if (has_output && !decode_output(note, bytes + end, (bytes[1] & IS_EMPTY) != 0))
        return fail_note(dedup, "damaged");
    for (size_t at = HEADER_BYTES; at < end; at += RESUME_VALUE_BYTES) {
        struct resume_mark mark;
        lethe_bytes value = {.data = bytes + at, .size = RESUME_VALUE_BYTES};
        if (resume_decode(value, &mark) != RESUME_FINE) return fail_note(dedup, "damaged");
        char name[RESUME_NAME_BYTES];
        resume_new_name(&note->table, &mark, name);
        if (!resume_put(&note->table, name, &mark)) return fail_memory();
    }
    return EXIT_DONE;
}

int dedup_note_load(struct dedup *dedup) {
    struct dedup_note *note = &dedup->note;
    note->inputs = dedup->inputs;
    note->files = calloc(dedup->inputs->count, sizeof *note->files);
    if (note->files == NULL) return fail_memory();
    unsigned char bytes[LETHE_CASCADE_MAX_NOTE_BYTES];
    uint64_t sequence;
    size_t size;
    lethe_cascade_last_checkpoint(dedup->cascade, &sequence, bytes, &size);
    return size > 0 ? decode(dedup, bytes, size) : EXIT_DONE;
}

void dedup_note_free(struct dedup_note *note) {
    resume_free(&note->table);
    free(note->files);
    note->files = NULL;
}

/* Finds the mark of the file, the furthest that fits. */
static const struct resume_entry *find(const struct dedup_note *note, int descriptor) {
    char head[RESUME_SAMPLE_BYTES], tail[RESUME_SAMPLE_BYTES];
    ssize_t size = pread(descriptor, head, sizeof head, 0);
    uint64_t before = UINT64_MAX;
    for (int i = 0; i < TRIES && size > 0; i++) {
        const struct resume_entry *entry =
            resume_candidate(&note->table, head, (size_t)size, before);
        if (entry == NULL) return NULL;
        before = entry->mark.offset;
        if (dedup_sample_tail(descriptor, before, tail) &&
            resume_tail_matches(&entry->mark, tail)) {
            return entry;
        }
    }
    return NULL;
}

uint64_t dedup_note_start(void *context, size_t input, int descriptor) {
    struct dedup_note *note = context;
    if (!dedup_sample_is_regular(note->inputs->paths[input], descriptor)) return 0;
    const struct resume_entry *entry = find(note, descriptor);
    if (entry == NULL) return 0;
    memcpy(note->files[input].name, entry->name, RESUME_NAME_BYTES);
    if (note->from_start) return 0;
    note->files[input].start = entry->mark.offset;
    note->resumed_at += entry->mark.offset;
    return entry->mark.offset;
}

uint64_t dedup_note_start_again(void *context, size_t input, int descriptor) {
    (void)descriptor;
    const struct dedup_note *note = context;
    return note->files[input].start;
}

int dedup_note_reached(struct dedup_note *note, struct line_place place) {
    const char *path = note->inputs->paths[place.input];
    if (place.offset == 0 || strcmp(path, "-") == 0) return EXIT_DONE;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return EXIT_DONE; /* it is gone: nobody will read it again */
    struct resume_mark mark;
    bool has_mark =
        dedup_sample_is_regular(path, descriptor) && dedup_sample(descriptor, place.offset, &mark);
    close(descriptor);
    if (!has_mark) return EXIT_DONE;
    struct dedup_file *file = &note->files[place.input];
    if (file->name[0] == '\0') resume_new_name(&note->table, &mark, file->name);
    return resume_put(&note->table, file->name, &mark) ? EXIT_DONE : fail_memory();
}

/* Describes how much was delivered to --out. */
static void note_delivered(struct dedup *dedup) {
    struct dedup_note *note = &dedup->note;
    off_t offset = dedup->output.is_regular ? ftello(dedup->output.stream) : -1;
    if (dedup->output.path == NULL || offset < 0) return;
    int descriptor = fileno(dedup->output.stream);
    note->has_delivered = dedup_identify(descriptor, &note->identity) &&
                          dedup_sample(descriptor, (uint64_t)offset, &note->delivered);
}

static size_t encode(const struct dedup_note *note, unsigned char *bytes) {
    size_t first = note->table.count > MARKS ? note->table.count - MARKS : 0;
    size_t count = note->table.count - first;
    unsigned char *at = bytes + HEADER_BYTES;
    bytes[0] = VERSION;
    bytes[1] = note->has_delivered ? HAS_DELIVERED : 0;
    if (note->has_delivered && note->delivered.offset == 0) bytes[1] |= IS_EMPTY;
    bytes[2] = (unsigned char)count;
    bytes[3] = (unsigned char)(count >> 8);
    for (size_t i = first; i < note->table.count; i++, at += RESUME_VALUE_BYTES) {
        resume_encode(&note->table.entries[i].mark, at);
    }
    if (!note->has_delivered) return (size_t)(at - bytes);
    store_u64(at, note->identity.device);
    store_u64(at + 8, note->identity.inode);
    store_u64(at + 16, note->identity.born_ns);
    resume_encode(&note->delivered, at + 24);
    return (size_t)(at - bytes) + OUTPUT_BYTES;
}

int dedup_note_save(struct dedup *dedup) {
    unsigned char bytes[LETHE_CASCADE_MAX_NOTE_BYTES];
    note_delivered(dedup);
    size_t size = encode(&dedup->note, bytes), size_before;
    uint64_t sequence;
    lethe_cascade_last_checkpoint(dedup->cascade, &sequence, NULL, &size_before);
    lethe_status status = lethe_cascade_checkpoint(dedup->cascade, sequence + 1, bytes, size);
    return status == LETHE_OK ? EXIT_DONE : dedup_fail(dedup, status, "write");
}

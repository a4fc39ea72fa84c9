/* dedup.h - the parts of `lethe dedup`.
 *
 *   dedup.c    the command: options, and which way to go
 *   all.c      lines as they come: a cascade filter answers which are new
 *   quick.c    the same while memory can answer: front.c reads in another thread
 *   asking.c   which lines are new: resident.c, those that came first, in memory; and the cascade,
 *              which adding.c fills in another thread
 *   twice.c    files that do not fit in memory, without --db, read twice: shards.c finds the
 *              duplicates
 *   note.c     with --db: how far each file was read, and how much was delivered
 *   output.c   where the lines go */
#ifndef LETHE_CLI_DEDUP_DEDUP_H
#define LETHE_CLI_DEDUP_DEDUP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "input/keys.h"
#include "input/resume.h"
#include "lethe/cascade.h"
#include "output/appended.h"

/* Where lines go. */
struct dedup_output {
    /* Of --out; NULL: standard output. */
    const char *path;
    struct appended file;

    bool is_regular;
    /* Lines could not be written: how many came out is not known. */
    bool has_failed;
    /* Because it is a pipe whose other end was closed. */
    bool has_no_reader;
    /* Of standard output that is a regular file. */
    struct behind behind;
};

/* How far files were read, and how much was delivered: what a checkpoint of the cascade holds. */
struct dedup_note {
    const struct inputs *inputs;
    struct resume_table table;
    bool from_start;
    /* --window: what is read again may be printed again. */
    bool forgets;
    /* Which part of lines is compared. */
    char manner[64];
    /* Of the mark of each input; empty: it has none yet. */
    char (*names)[RESUME_NAME_BYTES];
    /* Of each input, the place of a mark that it agrees with and leaves to another file; or 0. */
    uint64_t *left_at;

    /* How much is delivered to --out. */
    bool has_delivered;
    struct resume_mark delivered;

    /* Bytes that were not read again, of all files. */
    uint64_t resumed_at;
    /* The user knows that marks were dropped. */
    bool has_warned;
};

struct dedup_cost {
    /* The probability that the last line was dropped wrongly. */
    double error;
    uint64_t entries, memory_bytes, disk_bytes;
};

struct dedup {
    const struct inputs *inputs;
    struct key_fields fields;
    bool quiet;
    /* --last-line: a last line without a newline is complete. */
    bool last_line;
    /* --db: there are checkpoints. */
    bool remembers;

    /* Of the cascade, or of shards. */
    const char *folder;
    /* NULL where files are read twice. */
    lethe_cascade *cascade;
    /* For lines that wait to be asked about; or for shards. */
    uint64_t memory_bytes;
    /* For the lines that come first, and the error to keep there; 0: not kept. */
    uint64_t resident_bytes;
    double resident_error;
    /* How many there will be, about; 0: that is not known. */
    uint64_t expected_lines;
    /* For lines that are read while others are asked about. */
    uint64_t front_bytes;

    struct dedup_output output;
    struct dedup_note note;

    uint64_t lines, printed;
    /* Last lines that may not be complete yet. */
    uint64_t pending;
    /* New lines that were probably taken for duplicates. */
    double wrong;
    struct dedup_cost cost;
};

/* All lines, as they come. Returns EXIT_DONE, or another code after saying why. */
int dedup_all(struct dedup *dedup);
/* All lines of files that are read twice: first to find the duplicates, then to print the
 * other lines. Returns as dedup_all does. */
int dedup_twice(struct dedup *dedup);

/* Whether the inputs are files whose lines can be read a second time. Standard input is one place
 * in a file, however often it is opened. */
bool dedup_can_read_again(const struct inputs *inputs);
/* Says that a file had other lines the second time. Returns EXIT_BAD_DATA. */
int dedup_fail_changed(void);

/* Opens --out, or takes standard output. What a killed run wrote to --out after its last checkpoint
 * stays, and is not added again. is_synced: checkpoints will sync it. */
int dedup_output_open(struct dedup_output *output, const char *path, bool is_synced,
                      const struct dedup_note *note);
int dedup_output_write(struct dedup_output *output, const void *data, size_t size);
/* Writes those lines of a batch, from its beginning, that are not present. */
int dedup_output_new(struct dedup_output *output, const lethe_bytes *lines, size_t count,
                     const uint8_t *present);
/* Hands over all that was written to the reader; the second call also puts a file on disk. */
int dedup_output_flush(struct dedup_output *output);
int dedup_output_sync(struct dedup_output *output);
int dedup_output_close(struct dedup_output *output, int code);

/* What a note says, for those who only look. */
struct dedup_note_facts {
    uint64_t files;  /* that it has marks of */
    bool has_output; /* lines went to a file of --out */
};
/* Whether the bytes are such a note; says nothing. */
bool dedup_note_read(const unsigned char *bytes, size_t size, struct dedup_note_facts *out);

/* Reads the note of the last checkpoint. */
int dedup_note_load(struct dedup *dedup);
void dedup_note_free(struct dedup_note *note);
/* Before anything is read: refuses files that were read in another manner. */
int dedup_note_survey(const struct dedup_note *note);
/* A line_start: where to begin in an input. */
int dedup_note_start(void *context, size_t input, struct stream *stream);
/* Notes that all lines before the place are read. */
int dedup_note_reached(struct dedup_note *note, const struct line_place *place);
/* Makes a checkpoint of the cascade with the note as it is now. is_closed: nothing more is written
 * to --out. */
int dedup_note_save(struct dedup *dedup, bool is_closed);

/* Says why a call of the cascade failed. */
int dedup_fail(const struct dedup *dedup, lethe_status status, const char *attempt);

#endif

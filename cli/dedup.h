/* dedup.h - `lethe dedup`: the command (dedup.c), its two ways of finding copies, as lines come (dedup_all.c) and
 * in files that are read twice (dedup_twice.c), what it remembers of its files between runs
 * (dedup_note.c) and where its lines go (dedup_output.c). */
#ifndef LETHE_CLI_DEDUP_H
#define LETHE_CLI_DEDUP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "appended.h"
#include "freq_input.h"
#include "inputs.h"
#include "lethe/cascade.h"
#include "resume.h"

/* Where lines go. */
struct dedup_output {
    const char *path;     /* of --out; NULL: standard output */
    struct appended file; /* of --out */
    bool is_regular;
    bool has_no_reader;   /* it is a pipe whose other end was closed */
    struct behind behind; /* of standard output that is a regular file */
};

/* How far files were read, and how much was delivered, as a checkpoint of the cascade holds it. */
struct dedup_note {
    const struct inputs *inputs;
    struct resume_table table;
    bool from_start;
    bool forgets;                     /* --window: what is read again may be printed again */
    char manner[64];                  /* which part of lines is compared */
    char (*names)[RESUME_NAME_BYTES]; /* of the mark of each input; empty: it has none yet */
    bool has_delivered;               /* to --out: */
    struct resume_mark delivered;     /* as far as this */
    uint64_t resumed_at;              /* bytes that were skipped, of all files */
    bool has_warned;                  /* that marks were dropped */
};

/* What it took. */
struct dedup_cost {
    double error; /* of the last line: the probability that it was dropped wrongly */
    uint64_t entries, memory_bytes, disk_bytes;
};

struct dedup {
    const struct inputs *inputs;
    struct freq_fields fields;
    const char *folder;     /* of the cascade, or of shards */
    lethe_cascade *cascade; /* NULL where files are read twice */
    bool remembers;         /* --db: there are checkpoints */
    bool quiet;
    bool last_line;        /* a last line without a newline is whole */
    uint64_t pending;      /* last lines that may not be whole yet */
    uint64_t memory_bytes; /* for lines that wait to be asked about; or for shards */
    struct dedup_output output;
    struct dedup_note note;
    uint64_t lines, printed;
    double wrong; /* lines that were expected to be taken for copies though they were new */
    struct dedup_cost cost;
};

/* All lines, as they come. Returns EXIT_DONE, or another code after saying why. */
int dedup_all(struct dedup *dedup);
/* All lines of files that are read twice: first to find out which are copies, then to print the others. Returns as
 * dedup_all does. */
int dedup_twice(struct dedup *dedup);

/* Whether the inputs are files whose lines can be read a second time. Standard input is one place in a file, however
 * often it is opened. */
bool dedup_can_read_again(const struct inputs *inputs);
/* Says that the second time other lines were there. */
int dedup_fail_changed(void);

/* Opens --out, or takes standard output. What a killed run wrote to --out after its last checkpoint stays, and is not added again. */
int dedup_output_open(struct dedup_output *output, const char *path, const struct dedup_note *note);
int dedup_output_write(struct dedup_output *output, const void *data, size_t size);
/* Writes those of the lines that are not present. They lie one behind another, as a batch's do. */
int dedup_output_new(struct dedup_output *output, const lethe_bytes *lines, size_t count,
                     const uint8_t *present);
/* Of one or more such lines, with their newlines. */
size_t dedup_text_size(const lethe_bytes *lines, size_t count);
/* All that was written is with the reader; a file is on disk. */
int dedup_output_flush(struct dedup_output *output);
int dedup_output_sync(struct dedup_output *output);
int dedup_output_close(struct dedup_output *output, int code);

/* Reads the note of the last checkpoint. */
int dedup_note_load(struct dedup *dedup);
void dedup_note_free(struct dedup_note *note);
/* A line_start: where to begin in an input. */
int dedup_note_start(void *context, size_t input, int descriptor, struct resume_track *track,
                     uint64_t *offset);
/* All lines before the place are read. */
int dedup_note_reached(struct dedup_note *note, const struct line_place *place);
/* Checkpoints the cascade with what the note says now. is_closed: nothing more is written to --out. */
int dedup_note_save(struct dedup *dedup, bool is_closed);

/* Says why a call of the cascade failed. */
int dedup_fail(const struct dedup *dedup, lethe_status status, const char *attempt);

#endif

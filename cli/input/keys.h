/* keys.h - the key in a line, and perhaps its weight: --field, --weight-field and --delimiter. */
#ifndef LETHE_CLI_INPUT_KEYS_H
#define LETHE_CLI_INPUT_KEYS_H

#include "frame/arguments.h"
#include "input/lines.h"

/* Which fields of a line are meant, from 1. */
struct key_fields {
    /* 0: the whole line. */
    uint64_t key;
    /* 0: there is none, and each line counts once. */
    uint64_t weight;
    char delimiter;
};

/* Read the options. Return EXIT_DONE, or EXIT_USAGE after saying what is wrong. */
int key_fields_read(const struct arguments *arguments, struct key_fields *out);
/* Only --field and --delimiter, for commands that know no weights. */
int key_fields_read_key(const struct arguments *arguments, struct key_fields *out);

/* What a line lacks. */
struct key_problem {
    /* The weight that is none; size 0 and data NULL: a field is missing. */
    lethe_bytes weight;
    /* The missing field, and how many the line has. */
    uint64_t wanted, count;
};

/* Takes the key of a line, and its weight, which is 1 where none is wanted. Returns false, and why,
 * if the line lacks one. Cost: one search per field. */
bool key_of_line(lethe_bytes line, const struct key_fields *fields, lethe_bytes *key,
                 uint64_t *weight, struct key_problem *problem);

/* Says what line number `line` of all inputs, from 1, lacks. Returns EXIT_BAD_DATA. */
int key_fail(const struct inputs *inputs, const struct key_fields *fields, uint64_t line,
             const struct key_problem *problem);

/* Keys and weights of a batch of lines. */
struct key_batch {
    /* Whole, as those of a line_batch; valid until the next call. */
    const lethe_bytes *lines;
    lethe_bytes keys[LINES_PER_BATCH];
    /* Only if weighted. */
    uint64_t weights[LINES_PER_BATCH];
    bool weighted;
    size_t count;
    /* Its number in all inputs together, from 1. */
    uint64_t first_line;
};

/* Reads the next lines; count 0 at the end. Returns EXIT_DONE, or another code after saying why; a
 * line without its fields is EXIT_BAD_DATA. */
int keys_next(struct line_reader *reader, const struct inputs *inputs,
              const struct key_fields *fields, struct key_batch *out);

/* Called with each batch of keys_each. */
typedef int key_visit(void *context, const struct inputs *inputs, const struct key_batch *batch);

/* Reads all keys, and shows progress if `shows`. Returns as lines_each does. */
int keys_each(const struct inputs *inputs, const struct key_fields *fields, bool shows,
              key_visit *visit, void *context);

/* What to call a line in a message: "words, line 3", or "line 3 of the input" when there are
 * several inputs. */
struct key_place {
    char text[4200];
};

const char *key_line_name(const struct inputs *inputs, uint64_t line, struct key_place *out);

#endif

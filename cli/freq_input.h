/* freq_input.h - lines as the freq commands read them: a key, and perhaps a weight. */
#ifndef LETHE_CLI_FREQ_INPUT_H
#define LETHE_CLI_FREQ_INPUT_H

#include "arguments.h"
#include "inputs.h"
#include "lines.h"

/* Which fields of a line are meant, from 1; 0 is the whole line, or no weight. */
struct freq_fields {
    uint64_t key, weight;
    char delimiter;
};

/* The options that tell them; every command that takes them lists them with this. */
#define FREQ_FIELD_OPTIONS                                                                      \
    {.name = "field",                                                                           \
     .value = "N",                                                                              \
     .help = "the key is field N of a line, from 1; default the whole line"},                   \
        {.name = "weight-field",                                                                \
         .value = "M",                                                                          \
         .help = "field M says how often the key counts, a whole number from 1; default once"}, \
    {                                                                                           \
        .name = "delimiter", .value = "C", .help = "what lies between fields; default a tab"    \
    }

int freq_read_fields(const struct arguments *arguments, struct freq_fields *out);
/* Only --field and --delimiter, for commands that know no weights. */
int freq_read_key_field(const struct arguments *arguments, struct freq_fields *out);

/* Keys and weights of a batch of lines. */
struct freq_batch {
    const lethe_bytes *lines; /* whole; valid until the next call */
    lethe_bytes keys[LINES_PER_BATCH];
    uint64_t weights[LINES_PER_BATCH];
    size_t count;
    bool weighted;
    uint64_t first_line; /* its number in all inputs together, from 1 */
};

/* Reads the next lines; count 0 at the end. Returns EXIT_DONE, or another code after saying why; a
 * line without its fields is EXIT_BAD_DATA. */
int freq_next(struct line_reader *reader, const struct inputs *inputs,
              const struct freq_fields *fields, struct freq_batch *out);

/* How to call a line in a message: "words, line 3", or "line 3 of the input" when it has several files. */
struct freq_place {
    char text[4200];
};
const char *freq_line_name(const struct inputs *inputs, uint64_t line, struct freq_place *out);

#endif

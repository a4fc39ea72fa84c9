/* file.h - what the freq commands share: loading, saving and describing a sketch. */
#ifndef LETHE_CLI_FREQ_FILE_H
#define LETHE_CLI_FREQ_FILE_H

#include <stdbool.h>

#include "lethe/sketch.h"
#include "say/json.h"

/* The values of --kind, in the order of lethe_sketch_kind. */
#define FREQ_KINDS "cm|cu|count|cml|fid"

/* The values of --removal, in the order of lethe_sketch_removal after its default. */
#define FREQ_REMOVALS "none|subtraction|count-min"

const char *freq_kind_name(lethe_sketch_kind kind);
const char *freq_removal_name(lethe_sketch_removal removal);

/* Loads a whole sketch, or says why not. The caller frees it. */
int freq_load(const char *path, lethe_sketch **out);

/* Loads a sketch or an export, for what only asks. */
int freq_load_to_query(const char *path, lethe_sketch **out);

/* Writes a sketch to path whole or not at all; a signal that comes meanwhile waits. */
int freq_save(const lethe_sketch *sketch, const char *path);
int freq_export_to(const lethe_sketch *sketch, const char *path);

/* What a sketch is and what it holds. */
struct freq_facts {
    lethe_sketch_shape shape;
    lethe_sketch_stats stats;
};
struct freq_facts freq_facts_of(const lethe_sketch *sketch);

/* Prints all that is known about the sketch in path to standard output. */
void freq_print_text(const char *path, const struct freq_facts *facts);
void freq_print_json(const char *path, const struct freq_facts *facts);

/* Reports what was written: as JSON on standard output, or in a line on standard error unless
 * quiet; and warns if counters are full. */
void freq_report(const char *path, const lethe_sketch *sketch, bool json, bool quiet);

/* Between what an estimate's truth lies: with probability 1 - delta, for a log sketch within three
 * standard deviations. most is UINT64_MAX where a counter is full and nothing can be said. */
struct freq_bounds {
    uint64_t least, most;
};

/* An estimate, and whether it rests on a full counter. */
struct freq_answer {
    uint64_t count;
    bool saturated;
};
struct freq_bounds freq_bounds_of(const lethe_sketch_stats *stats, struct freq_answer answer);

/* Prints one key and what is known of it: a line of fields between tabs, or a JSON object. bounds
 * NULL leaves them out. Returns EXIT_DONE, or EXIT_ENVIRONMENT after saying why. */
int freq_print_key(lethe_bytes key, struct freq_answer answer, const struct freq_bounds *bounds,
                   bool json);

#endif

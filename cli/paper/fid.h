/* paper/fid.h - what the figures of the FID-sketch share: streams of items, and sketches filled
 * from them.
 *
 * The paper's parameters unless a figure varies them: 4 arrays of 30,000 counters, an IS part of 4
 * times 300,000, 10 million insertions of 100,000 different items. A failure sticks in status, and
 * the figure asks once, at its end. */
#ifndef LETHE_CLI_PAPER_FID_H
#define LETHE_CLI_PAPER_FID_H

#include "lethe/sketch.h"
#include "paper/paper.h"

enum {
    FID_DEPTH = 4,
    FID_WIDTH = 30000,
    FID_IS_WIDTH = 300000,
    FID_ITEMS = 100000,
    FID_LENGTH = 10000000
};

/* Items in the order they arrive. Item i is drawn in proportion to 1/(i+1)^skew: with a skew of 0
 * evenly, with 1 by Zipf's law. */
struct fid_stream {
    uint32_t *items;
    size_t length;
    uint32_t different;
    lethe_hash *hashes; /* of each item */
    uint64_t *exact;    /* how often each item is in the sketches now */
    lethe_status status;
};

void fid_stream_begin(struct fid_stream *stream, double skew, uint32_t different, size_t length);
#define FID_EVEN 0.0
#define FID_ZIPF 1.0
void fid_stream_end(struct fid_stream *stream);
/* Sets all frequencies to 0, for the next sketch. */
void fid_stream_forget(struct fid_stream *stream);

/* The sketches of the paper's figures, by their place in the tables. The paper gives all of them
 * as many counters. Those of Count-Min-Log have 16 bits here, those of the others 32;
 * FID_LOG_TWICE has twice as many, which are as many bytes. */
enum fid_kind {
    FID_COUNT,
    FID_COUNT_MIN,
    FID_CONSERVATIVE,
    FID_LOG,
    FID_LOG_TWICE,
    FID_FID,
    FID_KINDS
};

#define FID_COLUMNS                                                       \
    {"count", "Count", COLUMN_RATE}, {"count_min", "CM", COLUMN_RATE},    \
        {"conservative", "CU", COLUMN_RATE}, {"log", "CML", COLUMN_RATE}, \
        {"log_twice", "CML, 2w", COLUMN_RATE}, {                          \
        "fid", "FID", COLUMN_RATE                                         \
    }

/* A row of x and the errors, or what else there is, of all kinds. */
void fid_row(struct report *report, double x, const double values[FID_KINDS]);

/* Makes a sketch that answers from depth arrays of width counters. The IS part of a FID-sketch has
 * the paper's size, whatever these are. Conservative and log sketches can remove if that is wanted.
 * NULL after a failure. */
lethe_sketch *fid_sketch(struct fid_stream *stream, enum fid_kind kind, uint64_t width,
                         uint32_t depth, bool removes);

/* Adds items number first to last - 1 of the stream, or removes them again. */
void fid_insert(struct fid_stream *stream, lethe_sketch *sketch, size_t first, size_t last);
void fid_remove(struct fid_stream *stream, lethe_sketch *sketch, size_t first, size_t last);

/* The mean over all items present of |estimate - frequency| / frequency: the paper's ARE. errors,
 * unless NULL, gets that of each item, -1 of one that is not there. under, unless NULL, the items
 * estimated too low. */
double fid_error(struct fid_stream *stream, const lethe_sketch *sketch, double *errors,
                 uint64_t *under);

/* The ARE of each kind after the whole stream, in sketches of that size. */
void fid_errors_of_all(struct fid_stream *stream, uint64_t width, uint32_t depth,
                       double out[FID_KINDS]);

/* EXIT_DONE, or says that memory ran out. Ends the stream. */
int fid_code(struct fid_stream *stream);

/* How the pictures draw the sketches over a column. More curves may follow a comma. */
#define FID_PLOT(x)                                                                                \
    "plot data using \"" x "\":\"count\" with linespoints ls 5 title 'Count-sketch', \\\n"         \
    "     data using \"" x "\":\"count_min\" with linespoints ls 1 title 'Count-Min (CM)', \\\n"   \
    "     data using \"" x                                                                         \
    "\":\"conservative\" with linespoints ls 3 title 'CU (conservative)', \\\n"                    \
    "     data using \"" x "\":\"log\" with linespoints ls 4 title 'Count-Min-Log (CML)', \\\n"    \
    "     data using \"" x "\":\"log_twice\" with linespoints ls 6 title 'CML, equal bytes', \\\n" \
    "     data using \"" x "\":\"fid\" with linespoints ls 2 title 'FID-sketch'"

/* One more: the numbers that the paper prints, from a block of data that is called $paper. */
#define FID_PAPER ", $paper using 1:2 with points pt 3 ps 1.6 lc rgb '#000000' title 'the paper'\n"

#endif

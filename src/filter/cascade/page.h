/* filter/cascade/page.h - a page of 4 KiB: ascending numbers, some of them with a value.
 *
 * A number is a fingerprint, followed by its age where a cascade has ages. Most stand for one
 * insertion; the others are listed with their value at the page's end. */
#ifndef LETHE_CASCADE_PAGE_H
#define LETHE_CASCADE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/cascade/value.h"
#include "lethe/status.h"

enum {
    LETHE_CASCADE_PAGE_BYTES = 4096,
    LETHE_CASCADE_PAGE_HEADER_BYTES = 32,
    LETHE_CASCADE_PAGE_ENTRIES = 4096, /* at most */
    LETHE_CASCADE_MAX_LOW_BITS = 56
};

struct lethe_cascade_page_builder {
    unsigned low_bits; /* of every number stored as they are; the rest is coded by differences */
    unsigned count;
    unsigned high_words;  /* of highs that are in use */
    unsigned extra_bytes; /* of extras that are in use */
    unsigned extra_count;
    uint64_t base; /* the first number */
    uint64_t last;
    uint64_t highs[LETHE_CASCADE_PAGE_BYTES / 8];
    uint64_t low;      /* low parts that do not fill a word yet */
    unsigned low_fill; /* bits of it */
    uint64_t lows[LETHE_CASCADE_PAGE_BYTES / 8 + 1];
    unsigned char extras[LETHE_CASCADE_PAGE_BYTES];
};

/* Begins a page. low_bits is 0..LETHE_CASCADE_MAX_LOW_BITS; best is log2 of the mean difference. */
void lethe_cascade_page_begin(struct lethe_cascade_page_builder *builder, unsigned low_bits);

/* Adds ascending numbers, all larger than those before, until the page is full; returns how many it
 * took. */
size_t lethe_cascade_page_add(struct lethe_cascade_page_builder *builder, const uint64_t *numbers,
                              size_t count);

/* Adds one with a value; false when there is no room. */
bool lethe_cascade_page_add_value(struct lethe_cascade_page_builder *builder, uint64_t number,
                                  struct lethe_cascade_value value);

/* Writes the page, and begins the next. check_seed ties it to its place. */
void lethe_cascade_page_end(struct lethe_cascade_page_builder *builder, uint64_t check_seed,
                            unsigned char out[LETHE_CASCADE_PAGE_BYTES]);

/* What is in a page; points into it. */
struct lethe_cascade_page {
    const unsigned char *highs;
    const unsigned char *lows;
    const unsigned char *extras;
    const unsigned char *extras_end;
    uint64_t base;
    unsigned count;
    unsigned low_bits;
    unsigned high_words;
    unsigned extra_count;
};

/* Checks the page and finds its parts. Cost: a checksum over 4 KiB. Errors: LETHE_ECORRUPT. */
LETHE_MUST_CHECK lethe_status
lethe_cascade_page_open(const unsigned char data[LETHE_CASCADE_PAGE_BYTES], uint64_t check_seed,
                        struct lethe_cascade_page *out);

/* All numbers, and the values of those that have one, in order: which[i] is the place of
 * values[i]'s number. All three have room for LETHE_CASCADE_PAGE_ENTRIES. Errors: LETHE_ECORRUPT
 * (not ascending, or not as many as the header says). */
LETHE_MUST_CHECK lethe_status lethe_cascade_page_read(const struct lethe_cascade_page *page,
                                                      uint64_t *numbers, uint16_t *which,
                                                      struct lethe_cascade_value *values);

/* How far a search came in the highs, so that the next one begins there. Zero is the beginning. */
struct lethe_cascade_page_place {
    unsigned word;
    uint64_t zeros; /* in the words before it */
};

/* The first number of at least `least`, and its value; false when there is none. Searches with one
 * place come in ascending order of `least`. */
bool lethe_cascade_page_find(const struct lethe_cascade_page *page,
                             struct lethe_cascade_page_place *from, uint64_t least,
                             uint64_t *number, struct lethe_cascade_value *value);

#endif

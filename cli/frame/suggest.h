/* suggest.h - "did you mean": the known word nearest to one that was mistyped. */
#ifndef LETHE_CLI_FRAME_SUGGEST_H
#define LETHE_CLI_FRAME_SUGGEST_H

#include <stddef.h>

struct suggestion {
    const char *word; /* what was typed */
    const char *best; /* the nearest offer so far, or NULL when none is near */
    size_t distance;
};

struct suggestion suggestion_for(const char *word);

/* Considers one known word. candidate must outlive the suggestion. */
void suggestion_offer(struct suggestion *suggestion, const char *candidate);

#endif

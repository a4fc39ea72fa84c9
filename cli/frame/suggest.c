/* suggest.c - the distance between two words is the number of letters to insert, remove, change
 * or swap with their neighbour. A word near enough to be a slip is suggested, and so is one that
 * the typed word begins, since people hope for abbreviations. */
#include "frame/suggest.h"

#include <stdbool.h>
#include <string.h>

/* Command and option names are shorter; what is longer is no slip of one. */
enum { WORD_LIMIT = 32 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t distance_between(const char *a, const char *b) {
    size_t rows = strlen(a), columns = strlen(b);
    size_t cost[WORD_LIMIT + 1][WORD_LIMIT + 1];
    for (size_t i = 0; i <= rows; i++) {
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            bool differ = a[i - 1] != b[j - 1];
            cost[i][j] =
                least(cost[i - 1][j - 1] + differ, least(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[rows][columns];
}

struct suggestion suggestion_for(const char *word) {
    return (struct suggestion){.word = word};
}

void suggestion_offer(struct suggestion *suggestion, const char *candidate) {
    size_t typed = strlen(suggestion->word);
    if (typed == 0 || typed > WORD_LIMIT || strlen(candidate) > WORD_LIMIT) return;
    size_t distance = distance_between(suggestion->word, candidate);
    bool begins = strncmp(suggestion->word, candidate, typed) == 0;
    if (begins) distance = 0;
    /* One slip in three letters still shows what was meant; two in four could be any word. */
    if (!begins && (distance > (typed + 1) / 3 || distance > 3)) return;
    if (suggestion->best == NULL || distance < suggestion->distance) {
        suggestion->best = candidate;
        suggestion->distance = distance;
    }
}

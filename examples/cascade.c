/* A set on disk, for more keys than memory holds: which of these words are new?
 * cc cascade.c $(pkg-config --cflags --libs lethe) && ./a.out FOLDER
 *
 * Run it twice: the second time all words are known. It prints, the first time:
 *
 *     styx: new
 *     lethe: new
 *     styx: known
 *     2 words in the set
 */
#include <lethe/cascade.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 3 };
static const lethe_bytes river[WORDS] = {{"styx", 4}, {"lethe", 5}, {"styx", 4}};

int main(int count, char **words) {
    lethe_cascade *set;
    lethe_cascade_options options = LETHE_INIT(lethe_cascade_options);
    options.capacity =
        1000000000; /* a billion keys take about 2 GB of disk, and 64 MiB of memory */
    options.error = 1e-6;
    lethe_detail detail = {""};
    if (count != 2 || lethe_cascade_open(words[1], &options, &set, &detail) != LETHE_OK) {
        fprintf(stderr, "cascade: %s\n", count == 2 ? detail.text : "which folder?");
        return EXIT_FAILURE;
    }
    lethe_hash hashes[WORDS];
    uint8_t known[WORDS];
    lethe_hash_batch(lethe_cascade_seed(set), river, WORDS, hashes);
    lethe_status status = lethe_cascade_add_and_test_batch(set, hashes, WORDS, 0, known, NULL);
    if (status == LETHE_OK) {
        for (int i = 0; i < WORDS; i++) {
            printf("%s: %s\n", (const char *)river[i].data, known[i] ? "known" : "new");
        }
    }
    /* Merges what is due. A program would have a thread call this beside the one that adds. */
    for (bool more = true; more && status == LETHE_OK;) {
        status = lethe_cascade_work(set, 0, 0, &more);
    }
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    if (status == LETHE_OK) status = lethe_cascade_info(set, 0, &stats);
    if (status == LETHE_OK) printf("%d words in the set\n", (int)stats.entries);
    lethe_status closed = lethe_cascade_close(set, &detail);
    return status == LETHE_OK && closed == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

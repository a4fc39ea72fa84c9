/* The hash of Lethe: one for a key, the same on every machine, and another one under another seed.
 * cc hash.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     styx: 6335327bb50f2dce
 *     acheron: 8a43e84cf34993ca
 *     styx, with another seed: another hash
 */
#include <inttypes.h>
#include <lethe/hash.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    static const lethe_bytes keys[] = {{"styx", 4}, {"acheron", 7}};
    lethe_hash hashes[2];
    lethe_hash_batch(LETHE_DEFAULT_SEED, keys, 2, hashes);
    for (int i = 0; i < 2; i++) {
        printf("%s: %016" PRIx64 "\n", (const char *)keys[i].data, hashes[i].high);
    }
    lethe_hash other = lethe_hash_bytes(12345, "styx", 4);
    printf("styx, with another seed: %s\n",
           other.high == hashes[0].high ? "the same hash" : "another hash");
    return EXIT_SUCCESS;
}

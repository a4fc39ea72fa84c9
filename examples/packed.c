/* A filter in the caller's own bytes, as a storage engine keeps one for each of its blocks.
 * cc packed.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     a block for 3 keys takes 9 bytes
 *     styx: perhaps
 *     phlegethon: surely not
 */
#include <lethe/packed.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    static const lethe_bytes keys[] = {{"styx", 4}, {"lethe", 5}, {"acheron", 7}};
    lethe_packed_options options = LETHE_INIT(lethe_packed_options);
    options.kind = LETHE_PACKED_QUOTIENT;
    lethe_packed *packed; /* what all blocks share */
    lethe_status status = lethe_packed_new(&options, &packed);
    if (status != LETHE_OK) {
        fprintf(stderr, "lethe: %s\n", lethe_strerror(status));
        return EXIT_FAILURE;
    }
    lethe_hash hashes[3];
    for (int i = 0; i < 3; i++) {
        hashes[i] = lethe_packed_hash(packed, keys[i].data, keys[i].size);
    }
    char block[64];
    size_t size = lethe_packed_size(packed, 3);
    status = lethe_packed_build(packed, hashes, 3, block, size);
    lethe_hash absent = lethe_packed_hash(packed, "phlegethon", 10);
    if (status == LETHE_OK) {
        printf("a block for 3 keys takes %d bytes\n", (int)size);
        printf("styx: %s\n",
               lethe_packed_test(packed, hashes[0], block, size) ? "perhaps" : "surely not");
        printf("phlegethon: %s\n",
               lethe_packed_test(packed, absent, block, size) ? "perhaps" : "surely not");
    }
    lethe_packed_free(packed);
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

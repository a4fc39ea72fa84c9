/* simulation/store/disk_damage.c - a bit of some file that is not what it was. */
#include <stdio.h>

#include "simulation/store/disk.h"

static void choose_file(struct disk_node *folder, const char *path, struct test_random *random,
                        unsigned *seen, struct disk_place *out) {
    for (size_t i = 0; i < folder->names.count; i++) {
        const struct disk_entry *entry = &folder->names.entries[i];
        char own[256];
        (void)snprintf(own, sizeof own, "%.120s/%.120s", path, entry->name);
        if (entry->node->is_folder) {
            choose_file(entry->node, own, random, seen, out);
        } else if (entry->node->seen.size > 0 && test_random_below(random, ++*seen) == 0) {
            out->node = entry->node;
            (void)snprintf(out->path, sizeof out->path, "%s", own);
        }
    }
}

bool disk_choose_place(struct test_random *random, const char *folder, struct disk_place *out) {
    struct disk_node *node;
    unsigned seen = 0;
    *out = (struct disk_place){0};
    if (disk_find(folder, &node) != 0 || !node->is_folder) return false;
    choose_file(node, folder, random, &seen, out);
    if (out->node == NULL) return false;
    out->offset = test_random_below(random, out->node->seen.size);
    out->bit = (unsigned)test_random_below(random, 8);
    return true;
}

void disk_flip(const struct disk_place *place) {
    struct disk_node *node = place->node;
    if (place->offset < node->seen.size) node->seen.data[place->offset] ^= 1u << place->bit;
    if (place->offset < node->kept.size) node->kept.data[place->offset] ^= 1u << place->bit;
}

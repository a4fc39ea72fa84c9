/* simulation/store/disk.h - a disk with two images: what a process sees, and what would be left
 * after a power cut.
 *
 * Files and folders are nodes. A write changes what is seen; a sync of the node makes it stay.
 * What was not synced when the power is cut is there, or not, or in part, as is drawn. */
#ifndef LETHE_SIMULATION_STORE_DISK_H
#define LETHE_SIMULATION_STORE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/random.h"

struct disk_entry {
    char *name;
    struct disk_node *node;
};

struct disk_list {
    struct disk_entry *entries;
    size_t count, room;
};

/* Bytes of a file, or of one of its images. */
struct disk_bytes {
    unsigned char *data;
    size_t size, room;
};

struct disk_node {
    struct disk_node *next; /* of all nodes */
    uint64_t number, written_ms;
    bool is_folder, is_reached;
    unsigned links;                /* names besides the first */
    unsigned opened;               /* descriptors that have it */
    unsigned locked_by;            /* descriptor with the lock of the file, plus 1 */
    struct disk_bytes seen, kept;  /* of a file */
    struct disk_list names, stays; /* of a folder */
    struct disk_change *changes;   /* that are seen and not kept, in their order */
    size_t change_count, change_room;
};

/* What a power cut does to what was not synced. */
struct disk_habits {
    /* Of changes to a folder: those up to some point stay. Otherwise any of them. */
    bool keeps_order;
    uint32_t kept_percent; /* of pieces of files */
    bool drops_unsynced;   /* after a sync that failed: a process sees the old bytes at once */
    uint64_t capacity_bytes;
};

void disk_start(struct disk_habits habits);
struct disk_habits *disk_settings(void);

/* All return 0 or an errno. */
int disk_find(const char *path, struct disk_node **out);
int disk_make(const char *path, bool is_folder, struct disk_node **out);
/* A second name for a file. */
int disk_link(struct disk_node *node, const char *path);
int disk_remove(const char *path, bool is_folder);
int disk_rename(const char *from, const char *to);

/* Writes as much as there is room for. */
size_t disk_write(struct disk_node *node, uint64_t offset, const void *data, size_t size);
size_t disk_read(const struct disk_node *node, uint64_t offset, void *data, size_t size);
void disk_truncate(struct disk_node *node, uint64_t size);
void disk_sync(struct disk_node *node);
/* A sync that failed, as Linux does it: what was to be written is forgotten, and the next sync
 * knows nothing of it. */
void disk_fail_sync(struct disk_node *node, struct test_random *random);

/* Frees nodes that nothing leads to. */
void disk_collect(void);
void disk_cut_power(struct test_random *random);

/* Flips a bit of a file whose path begins so, and says where; a second call with the same place
 * flips it back. */
struct disk_place {
    struct disk_node *node;
    uint64_t offset;
    unsigned bit;
    char path[256];
};
bool disk_choose_place(struct test_random *random, const char *folder, struct disk_place *out);
void disk_flip(const struct disk_place *place);
uint64_t disk_used_bytes(void);

#endif

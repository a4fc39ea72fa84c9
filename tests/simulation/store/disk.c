/* simulation/store/disk.c - nodes, what is seen of them, and what stays.
 *
 * IDEA    Every change is made to the image that is seen, and noted. A sync makes the noted changes
 *         to the image that stays. A power cut makes some of them, and then what stays is what is
 *         seen.
 * I1      kept is what the last sync that worked has seen, with nothing of a sync that failed.
 * I2      A rename is one change: after a power cut one of the two names leads to the node, as
 *         POSIX has it, not both.
 * WHY     Pieces of 512 bytes stay or go by themselves, in any order: that is what a disk with a
 *         cache may do, and no file system promises more of what was not synced. */
#include "simulation/store/disk.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/store/machine.h"

enum { SECTOR_BYTES = 512, CLOCK_STEP_MS = 4 /* of times of files */ };

enum change_kind { WRITE, TRUNCATE, ADD, REMOVE, RENAME };

struct disk_change {
    enum change_kind kind;
    uint64_t offset; /* or size */
    size_t size;
    unsigned char *data;
    char *name, *other; /* of a folder's entry; where a rename leads to */
    struct disk_node *node;
};

static struct {
    struct disk_habits habits;
    struct disk_node *root, *nodes;
    uint64_t next_number, used_bytes;
} disk;

struct disk_habits *disk_settings(void) {
    return &disk.habits;
}

uint64_t disk_used_bytes(void) {
    return disk.used_bytes;
}

static struct disk_node *new_node(bool is_folder) {
    struct disk_node *node = calloc(1, sizeof *node);
    assert(node != NULL);
    node->is_folder = is_folder;
    node->number = ++disk.next_number;
    node->next = disk.nodes;
    disk.nodes = node;
    return node;
}

void disk_start(struct disk_habits habits) {
    disk.habits = habits;
    disk.nodes = NULL;
    disk.next_number = disk.used_bytes = 0;
    disk.root = new_node(true);
}

/* --- lists of names --- */

static struct disk_entry *entry_of(const struct disk_list *list, const char *name, size_t size) {
    for (size_t i = 0; i < list->count; i++) {
        if (strncmp(list->entries[i].name, name, size) == 0 && list->entries[i].name[size] == '\0')
            return &list->entries[i];
    }
    return NULL;
}

static void put_entry(struct disk_list *list, const char *name, struct disk_node *node) {
    struct disk_entry *entry = entry_of(list, name, strlen(name));
    if (entry == NULL) {
        if (list->count == list->room) {
            list->room = 2 * list->room + 8;
            list->entries = realloc(list->entries, list->room * sizeof *list->entries);
            assert(list->entries != NULL);
        }
        entry = &list->entries[list->count++];
        entry->name = strdup(name);
    }
    entry->node = node;
}

static void take_entry(struct disk_list *list, const char *name) {
    struct disk_entry *entry = entry_of(list, name, strlen(name));
    if (entry == NULL) return;
    free(entry->name);
    *entry = list->entries[--list->count];
}

static void clear_list(struct disk_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->entries[i].name);
    free(list->entries);
    *list = (struct disk_list){0};
}

static void copy_list(struct disk_list *to, const struct disk_list *from) {
    clear_list(to);
    for (size_t i = 0; i < from->count; i++)
        put_entry(to, from->entries[i].name, from->entries[i].node);
}

/* --- bytes --- */

static void resize(struct disk_bytes *bytes, size_t size) {
    if (size > bytes->room) {
        bytes->room = size + size / 2;
        bytes->data = realloc(bytes->data, bytes->room);
        assert(bytes->data != NULL);
    }
    if (size > bytes->size) memset(bytes->data + bytes->size, 0, size - bytes->size);
    bytes->size = size;
}

static void put_bytes(struct disk_bytes *bytes, uint64_t offset, const void *data, size_t size) {
    if (offset + size > bytes->size) resize(bytes, (size_t)offset + size);
    memcpy(bytes->data + offset, data, size);
}

static void copy_bytes(struct disk_bytes *to, const struct disk_bytes *from) {
    resize(to, from->size);
    if (from->size > 0) memcpy(to->data, from->data, from->size);
}

/* --- changes --- */

static void note(struct disk_node *node, struct disk_change change) {
    if (node->change_count == node->change_room) {
        node->change_room = 2 * node->change_room + 8;
        node->changes = realloc(node->changes, node->change_room * sizeof *node->changes);
        assert(node->changes != NULL);
    }
    node->changes[node->change_count++] = change;
}

static void forget_changes(struct disk_node *node) {
    for (size_t i = 0; i < node->change_count; i++) {
        free(node->changes[i].data);
        free(node->changes[i].name);
        free(node->changes[i].other);
    }
    node->change_count = 0;
}

/* Makes a change to what stays. */
static void keep(struct disk_node *node, const struct disk_change *change) {
    switch (change->kind) {
    case WRITE:
        put_bytes(&node->kept, change->offset, change->data, change->size);
        return;
    case TRUNCATE:
        resize(&node->kept, (size_t)change->offset);
        return;
    case ADD:
        put_entry(&node->stays, change->name, change->node);
        return;
    case REMOVE:
        take_entry(&node->stays, change->name);
        return;
    case RENAME:
        take_entry(&node->stays, change->name);
        put_entry(&node->stays, change->other, change->node);
        return;
    }
}

/* --- names --- */

/* The folder that a path's last part is in. */
static int find_parent(const char *path, struct disk_node **out, const char **name) {
    *out = disk.root;
    if (*path == '/') path++;
    for (;;) {
        size_t size = strcspn(path, "/");
        const char *rest = path + size;
        while (*rest == '/')
            rest++;
        *name = path;
        if (*rest == '\0') return size == 0 ? EINVAL : 0;
        const struct disk_entry *entry = entry_of(&(*out)->names, path, size);
        if (entry == NULL) return ENOENT;
        if (!entry->node->is_folder) return ENOTDIR;
        *out = entry->node;
        path = rest;
    }
}

int disk_find(const char *path, struct disk_node **out) {
    struct disk_node *parent;
    const char *name;
    *out = NULL;
    if (strcmp(path, "/") == 0) {
        *out = disk.root;
        return 0;
    }
    int error = find_parent(path, &parent, &name);
    if (error != 0) return error;
    const struct disk_entry *entry = entry_of(&parent->names, name, strcspn(name, "/"));
    if (entry == NULL) return ENOENT;
    *out = entry->node;
    return 0;
}

/* The last part of a path as a string of its own. */
static char *last_name(const char *name) {
    return strndup(name, strcspn(name, "/"));
}

int disk_make(const char *path, bool is_folder, struct disk_node **out) {
    struct disk_node *parent;
    const char *name;
    *out = NULL;
    int error = find_parent(path, &parent, &name);
    if (error != 0) return error;
    char *own = last_name(name);
    if (entry_of(&parent->names, own, strlen(own)) != NULL) {
        free(own);
        return EEXIST;
    }
    *out = new_node(is_folder);
    put_entry(&parent->names, own, *out);
    note(parent, (struct disk_change){.kind = ADD, .name = own, .node = *out});
    return 0;
}

int disk_link(struct disk_node *node, const char *path) {
    struct disk_node *parent, *there;
    const char *name;
    int error = find_parent(path, &parent, &name);
    if (error != 0) return error;
    if (disk_find(path, &there) == 0) return EEXIST;
    char *own = last_name(name);
    put_entry(&parent->names, own, node);
    note(parent, (struct disk_change){.kind = ADD, .name = own, .node = node});
    node->links++;
    return 0;
}

int disk_remove(const char *path, bool is_folder) {
    struct disk_node *parent;
    const char *name;
    int error = find_parent(path, &parent, &name);
    if (error != 0) return error;
    char *own = last_name(name);
    const struct disk_entry *entry = entry_of(&parent->names, own, strlen(own));
    if (entry == NULL) {
        error = ENOENT;
    } else if (entry->node->is_folder != is_folder) {
        error = is_folder ? ENOTDIR : EISDIR;
    } else if (is_folder && entry->node->names.count > 0) {
        error = ENOTEMPTY;
    }
    if (error != 0) {
        free(own);
        return error;
    }
    if (entry->node->links > 0) {
        entry->node->links--; /* it has another name */
    } else if (entry->node->opened == 0) {
        assert(entry->node->seen.size <= disk.used_bytes);
        disk.used_bytes -= entry->node->seen.size;
    }
    take_entry(&parent->names, own);
    note(parent, (struct disk_change){.kind = REMOVE, .name = own});
    return 0;
}

int disk_rename(const char *from, const char *to) {
    struct disk_node *parent, *goal, *node, *there;
    const char *name, *other;
    int error = find_parent(from, &parent, &name);
    if (error == 0) error = find_parent(to, &goal, &other);
    if (error == 0) error = disk_find(from, &node);
    if (error != 0) return error;
    if (disk_find(to, &there) == 0 && there->is_folder && there->names.count > 0) return ENOTEMPTY;
    char *own = last_name(name), *new_name = last_name(other);
    take_entry(&parent->names, own);
    put_entry(&goal->names, new_name, node);
    if (parent != goal) { /* a journal has both folders in one record, behind what came before */
        disk_sync(parent);
        disk_sync(goal);
        take_entry(&parent->stays, own);
        put_entry(&goal->stays, new_name, node);
        free(own);
        free(new_name);
        return 0;
    }
    note(parent,
         (struct disk_change){.kind = RENAME, .name = own, .other = new_name, .node = node});
    return 0;
}

/* --- files --- */

size_t disk_write(struct disk_node *node, uint64_t offset, const void *data, size_t size) {
    uint64_t end = offset + size;
    uint64_t more = end > node->seen.size ? end - node->seen.size : 0;
    uint64_t room = disk.habits.capacity_bytes > disk.used_bytes
                        ? disk.habits.capacity_bytes - disk.used_bytes
                        : 0;
    if (more > room) size -= more - room < size ? (size_t)(more - room) : size;
    if (size == 0) return 0;
    size_t before = node->seen.size;
    node->written_ms = machine_wall_ms() / CLOCK_STEP_MS * CLOCK_STEP_MS;
    put_bytes(&node->seen, offset, data, size);
    disk.used_bytes += node->seen.size - before;
    struct disk_change change = {
        .kind = WRITE, .offset = offset, .size = size, .data = malloc(size)};
    assert(change.data != NULL);
    memcpy(change.data, data, size);
    note(node, change);
    return size;
}

size_t disk_read(const struct disk_node *node, uint64_t offset, void *data, size_t size) {
    if (offset >= node->seen.size) return 0;
    if (size > node->seen.size - offset) size = node->seen.size - (size_t)offset;
    memcpy(data, node->seen.data + offset, size);
    return size;
}

void disk_truncate(struct disk_node *node, uint64_t size) {
    disk.used_bytes += size - node->seen.size;
    node->written_ms = machine_wall_ms() / CLOCK_STEP_MS * CLOCK_STEP_MS;
    resize(&node->seen, (size_t)size);
    note(node, (struct disk_change){.kind = TRUNCATE, .offset = size});
}

void disk_sync(struct disk_node *node) {
    for (size_t i = 0; i < node->change_count; i++)
        keep(node, &node->changes[i]);
    forget_changes(node);
}

void disk_fail_sync(struct disk_node *node, struct test_random *random) {
    if (node->is_folder) return; /* its changes still may come to stay, or not */
    /* Some of it reached the disk before the error. */
    for (size_t i = 0; i < node->change_count; i++) {
        if (test_random_below(random, 4) == 0) keep(node, &node->changes[i]);
    }
    forget_changes(node);
    if (disk.habits.drops_unsynced) {
        disk.used_bytes += node->kept.size - node->seen.size;
        copy_bytes(&node->seen, &node->kept);
    }
}

/* --- the end of processes and of power --- */

static void reach(struct disk_node *node) {
    if (node->is_reached) return;
    node->is_reached = true;
    for (size_t i = 0; i < node->names.count; i++)
        reach(node->names.entries[i].node);
    for (size_t i = 0; i < node->stays.count; i++)
        reach(node->stays.entries[i].node);
    for (size_t i = 0; i < node->change_count; i++) {
        if (node->changes[i].node != NULL) reach(node->changes[i].node);
    }
}

/* How many names each file has: a power cut may have brought some back. */
static void count_links(void) {
    for (struct disk_node *node = disk.nodes; node != NULL; node = node->next)
        node->links = 0;
    for (struct disk_node *node = disk.nodes; node != NULL; node = node->next) {
        for (size_t i = 0; i < node->names.count; i++)
            node->names.entries[i].node->links++;
    }
    for (struct disk_node *node = disk.nodes; node != NULL; node = node->next) {
        if (node->links > 0) node->links--; /* the first does not count */
    }
}

void disk_collect(void) {
    for (struct disk_node *node = disk.nodes; node != NULL; node = node->next)
        node->is_reached = false;
    reach(disk.root);
    for (struct disk_node *node = disk.nodes; node != NULL; node = node->next) {
        if (node->opened > 0) reach(node);
    }
    for (struct disk_node **at = &disk.nodes; *at != NULL;) {
        struct disk_node *node = *at;
        if (node->is_reached) {
            at = &node->next;
            continue;
        }
        *at = node->next;
        forget_changes(node);
        free(node->changes);
        clear_list(&node->names);
        clear_list(&node->stays);
        free(node->seen.data);
        free(node->kept.data);
        free(node);
    }
    count_links();
    disk.used_bytes = 0;
    for (struct disk_node *node = disk.nodes; node != NULL; node = node->next)
        disk.used_bytes += node->seen.size;
}

/* Some sectors of a write stay. */
static void keep_pieces(struct disk_node *node, const struct disk_change *change,
                        struct test_random *random) {
    for (size_t done = 0, size; done < change->size; done += size) {
        uint64_t at = change->offset + done;
        size = SECTOR_BYTES - (size_t)(at % SECTOR_BYTES);
        if (size > change->size - done) size = change->size - done;
        if (test_random_below(random, 100) < disk.habits.kept_percent)
            put_bytes(&node->kept, at, change->data + done, size);
    }
}

static void cut_file(struct disk_node *node, struct test_random *random) {
    size_t longest = node->kept.size;
    unsigned fate = (unsigned)test_random_below(random, 4); /* nothing, all, or pieces */
    for (size_t i = 0; i < node->change_count && fate > 0; i++) {
        const struct disk_change *change = &node->changes[i];
        if (change->kind == WRITE && change->offset + change->size > longest)
            longest = (size_t)change->offset + change->size;
        if (fate == 1) {
            keep(node, change);
        } else if (change->kind == WRITE) {
            keep_pieces(node, change, random);
        } else if (test_random_below(random, 2) == 0) {
            keep(node, change);
        }
    }
    /* The new length may have come to the disk without the bytes. */
    if (fate == 2 && longest > node->kept.size && test_random_below(random, 2) == 0)
        resize(&node->kept, longest);
}

static void cut_folder(struct disk_node *node, struct test_random *random) {
    size_t first_lost = (size_t)test_random_below(random, node->change_count + 1);
    for (size_t i = 0; i < node->change_count; i++) {
        bool stays = disk.habits.keeps_order ? i < first_lost : test_random_below(random, 2) == 0;
        if (stays) keep(node, &node->changes[i]);
    }
}

void disk_cut_power(struct test_random *random) {
    for (struct disk_node *node = disk.nodes; node != NULL; node = node->next) {
        if (node->is_folder) {
            cut_folder(node, random);
            copy_list(&node->names, &node->stays);
        } else {
            cut_file(node, random);
            copy_bytes(&node->seen, &node->kept);
        }
        forget_changes(node);
        node->opened = 0;
        node->locked_by = 0;
    }
    disk_collect();
}

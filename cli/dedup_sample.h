/* dedup_sample.h - recognising a place in a file by the bytes before it, without reading up to it. */
#ifndef LETHE_CLI_DEDUP_SAMPLE_H
#define LETHE_CLI_DEDUP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "resume.h"

/* A file that can be read again at the same place; standard input can't, whatever it is. */
bool dedup_sample_is_regular(const char *path, int descriptor);

/* Tells a file from all others, also from one that later has its name or its place. */
struct dedup_identity {
    uint64_t device, inode, born_ns; /* born: 0 where the file system does not know */
};
bool dedup_identify(int descriptor, struct dedup_identity *out);

/* Reads the bytes before offset. False when there are not so many. */
bool dedup_sample_tail(int descriptor, uint64_t offset, char tail[RESUME_SAMPLE_BYTES]);

/* Describes the place at offset. */
bool dedup_sample(int descriptor, uint64_t offset, struct resume_mark *out);

#endif

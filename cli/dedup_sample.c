/* dedup_sample.c - samples of files; see dedup_sample.h. */
#include "dedup_sample.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool dedup_sample_is_regular(const char *path, int descriptor) {
    struct stat information;
    return strcmp(path, "-") != 0 && fstat(descriptor, &information) == 0 &&
           S_ISREG(information.st_mode);
}

bool dedup_identify(int descriptor, struct dedup_identity *out) {
    struct stat information;
    struct statx more;
    if (fstat(descriptor, &information) != 0) return false;
    *out = (struct dedup_identity){.device = information.st_dev, .inode = information.st_ino};
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 &&
        (more.stx_mask & STATX_BTIME) != 0) {
        out->born_ns = (uint64_t)more.stx_btime.tv_sec * 1000000000 + more.stx_btime.tv_nsec;
    }
    return true;
}

static bool read_at(int descriptor, uint64_t offset, char *to, size_t size) {
    for (size_t got = 0; got < size;) {
        ssize_t more = pread(descriptor, to + got, size - got, (off_t)(offset + got));
        if (more <= 0) return false;
        got += (size_t)more;
    }
    return true;
}

bool dedup_sample_tail(int descriptor, uint64_t offset, char tail[RESUME_SAMPLE_BYTES]) {
    size_t size = offset < RESUME_SAMPLE_BYTES ? (size_t)offset : RESUME_SAMPLE_BYTES;
    return read_at(descriptor, offset - size, tail, size);
}

bool dedup_sample(int descriptor, uint64_t offset, struct resume_mark *out) {
    char head[RESUME_SAMPLE_BYTES], tail[RESUME_SAMPLE_BYTES];
    size_t size = offset < RESUME_SAMPLE_BYTES ? (size_t)offset : RESUME_SAMPLE_BYTES;
    if (!read_at(descriptor, 0, head, size)) return false;
    if (!dedup_sample_tail(descriptor, offset, tail)) return false;
    *out = resume_describe(offset, 0, head, tail);
    return true;
}

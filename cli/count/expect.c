/* expect.c - how many events there will be, judged by the size of the files.
 *
 * WHY    A window that knows makes one table of the right size, instead of small ones first in
 *        which every later id is looked up too.
 * LIMIT  Most lines have much the same length, so the first ones are enough to judge by. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "count/count.h"
#include "frame/exit_code.h"

enum {
    SAMPLE_BYTES = 1 << 16,
    LEAST = 65536,      /* fewer fit into what a window begins with, or nearly */
    MOST = 100000000,   /* not to take much memory on a guess */
    MOST_IN_A_MS = 5000 /* more than that are never counted, however short the window is */
};

static const uint64_t NEW_WINDOW_MS = UINT64_C(259200000);

/* Of a store that is there it is not known how much of the files it has counted already. */
static bool is_new(const char *folder) {
    DIR *files = opendir(folder);
    if (files == NULL) return true;
    size_t count = 0;
    while (count <= 2 && readdir(files) != NULL) {
        count++;
    }
    closedir(files);
    return count <= 2; /* itself and its parent */
}

/* The beginning of an input, which stays to be read. Returns how many bytes that are. */
static size_t look(const char *path, char *sample) {
    bool is_standard = inputs_is_standard(path);
    int file = is_standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    off_t position = is_standard ? lseek(file, 0, SEEK_CUR) : 0;
    ssize_t size = file >= 0 ? pread(file, sample, SAMPLE_BYTES, position) : -1;
    if (!is_standard && file >= 0) close(file);
    return size > 0 ? (size_t)size : 0;
}

uint64_t count_expect(const char *folder, const struct inputs *inputs,
                      const lethe_store_options *options) {
    static char sample[SAMPLE_BYTES];
    /* With a memory limit the window chooses its sizes itself. With event time it is not known how
     * many events share one window. */
    if (!inputs->all_regular || options->max_memory_bytes > 0 || options->event_time) return 0;
    size_t size = look(inputs->paths[0], sample), lines = 0;
    if (inputs->has_packed || !is_new(folder)) return 0;
    for (size_t i = 0; i < size; i++) {
        lines += sample[i] == '\n';
    }
    if (lines == 0) return 0;
    double events = (double)inputs->bytes * (double)lines / (double)size;
    uint64_t window_ms = options->window_ms > 0 ? options->window_ms : NEW_WINDOW_MS;
    uint64_t most = window_ms < MOST / MOST_IN_A_MS ? window_ms * MOST_IN_A_MS : MOST;
    if (events < LEAST) return 0;
    return events < (double)most ? (uint64_t)events : most;
}

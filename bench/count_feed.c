/* bench/count_feed.c - a process that makes up events for another; see count_feed.h.
 *
 * IDEA    Generator and parent have a pair of sockets. The generator says when its tables are made;
 *         then the parent starts the reader, and says which process that is. So neither waits for
 *         the other while it is measured. */
#include "count_feed.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"

enum { PIPE_BYTES = 1 << 20, CHUNK_LINES = 4096 };

struct reader {
    pid_t process;
    double started;
};

struct job {
    struct count_feed *feed; /* shared with the parent */
    int input, output, parent;
    struct reader reader;
};

static void write_all(int file, const char *data, size_t size) {
    while (size > 0) {
        ssize_t written = write(file, data, size);
        bench_require(written > 0, "writing events to a pipe");
        data += written;
        size -= (size_t)written;
    }
}

static struct count_moment look(const struct reader *reader) {
    struct timespec time = {0};
    clockid_t clock;
    struct count_moment now = {.seconds = bench_now() - reader->started};
    bench_require(clock_getcpuclockid(reader->process, &clock) == 0 &&
                      clock_gettime(clock, &time) == 0,
                  "asking for the CPU time of a process");
    now.cpu_seconds = (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
    return now;
}

static void write_stage(struct count_maker *maker, int output, const struct count_stage *stage) {
    static char lines[CHUNK_LINES * COUNT_LINE_BYTES];
    for (uint64_t done = 0; done < stage->count;) {
        uint64_t left = stage->count - done, count = left < CHUNK_LINES ? left : CHUNK_LINES;
        for (uint64_t i = 0; i < count; i++)
            count_maker_put(maker, stage->repeats, lines + i * COUNT_LINE_BYTES);
        write_all(output, lines, count * COUNT_LINE_BYTES);
        done += count;
    }
}

/* In a process of its own. */
static void generate(void *context) {
    struct job *job = context;
    struct count_feed *feed = job->feed;
    struct count_maker maker;
    signal(SIGPIPE, SIG_DFL); /* the reader has failed, and the parent says so */
    close(job->input);
    uint64_t events = 0;
    for (int i = 0; i < COUNT_STAGES; i++)
        events += feed->stages[i].count;
    count_maker_open(&maker, feed->seed);
    count_maker_prepare(&maker, events);
    bench_require(write(job->parent, "", 1) == 1 &&
                      read(job->parent, &job->reader, sizeof job->reader) == sizeof job->reader,
                  "waiting for a process");
    for (int i = 0; i < COUNT_STAGES && feed->stages[i].count > 0; i++) {
        write_stage(&maker, job->output, &feed->stages[i]);
        feed->ends[i] = look(&job->reader);
        feed->events.count += feed->stages[i].count;
    }
    close(job->output);
    count_maker_finish(&maker);
    count_maker_write_truth(&maker, feed->events.truth_path);
    feed->events.originals = maker.originals;
    feed->events.sum = maker.sum;
}

/* Both ends of a pipe, which are not left to other programs. */
static void open_pipe(int ends[2]) {
    bench_require(pipe(ends) == 0, "making a pipe");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
#ifdef F_SETPIPE_SZ
    fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
#endif
}

struct count_cost count_feed_run(struct count_feed *feed, const char *const *words,
                                 const char *folder) {
    struct count_feed *shared = count_shared(sizeof *shared);
    int ends[2], pair[2];
    char ready;
    *shared = *feed;
    shared->events = (struct count_events){0};
    snprintf(shared->events.truth_path, sizeof shared->events.truth_path, "%s/truth", folder);
    open_pipe(ends);
    bench_require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0,
                  "making a pair of sockets");
    struct job job = {.feed = shared, .input = ends[0], .output = ends[1], .parent = pair[1]};
    pid_t generator = count_branch(generate, &job);
    close(ends[1]);
    close(pair[1]);
    bench_require(read(pair[0], &ready, 1) == 1, "waiting for a process that makes events");
    struct reader reader = {.started = bench_now()};
    reader.process = count_start_with(words, ends[0], NULL);
    close(ends[0]);
    bench_require(write(pair[0], &reader, sizeof reader) == sizeof reader, "talking to a process");
    struct count_cost cost = count_wait(reader.process, reader.started, words[0]);
    (void)count_wait(generator, reader.started, "making events");
    close(pair[0]);
    *feed = *shared;
    munmap(shared, sizeof *shared);
    return cost;
}

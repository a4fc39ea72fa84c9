/* module/value/clock.c - what time it is for a value.
 *
 * IDEA    A value has a clock of its own. It begins at the wall clock of the host that made the
 *         value, and then goes by elapsed time: on a master by the monotonic clock since the
 *         last change; on a replica it is what the master's effects say. A replica that is
 *         promoted goes on from the last replicated time plus what has elapsed since. Its host's
 *         wall clock plays no part, so clocks that differ between hosts neither shorten a window
 *         nor stretch it.
 * STAMP   After a restart from this server's own file, the monotonic clock says nothing about
 *         the time before. So the file and the log carry a stamp: how the host's other clocks
 *         differed from the value's. An effect carries a new stamp whenever the last one is out
 *         of date: the value is new or came from elsewhere, another server was promoted, the
 *         machine slept, or somebody set the wall clock. The timer sends one for values that
 *         nobody changes. The elapsed time is then taken
 *         - from the machine's clock since boot, if it has not been rebooted: nobody can set that
 *           clock;
 *         - otherwise from the wall clock, or is 0 if that went back.
 * I1      A value that comes from elsewhere (a master's snapshot, LOAD, RESTORE, MIGRATE) has no
 *         stamp until its first effect here, even if that snapshot or command has become this
 *         server's own file or part of its log. It goes on where it was: at its clock plus the
 *         time that it had been idle when it was saved.
 * I2      W is never shortened. Where nothing is known, ids are remembered longer. */
#include "value/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/redis_api.h"
#include "value/value.h"

/* Clocks are not read at one moment, and count whole milliseconds: stamps that differ by no more
 * than this are the same. A restart finds that much less time elapsed. */
enum { STAMP_TOLERANCE_MS = 5 };

/* So that no sum of microseconds overflows. */
#define MOST_ELAPSED_MS (INT64_MAX / 4000)

bool clock_is_replica, clock_is_loading_own_file;

static int64_t monotonic_us(void) {
    return (int64_t)redis.MonotonicMicroseconds();
}

static uint64_t elapsed_ms(const struct value *value) {
    int64_t elapsed_us = monotonic_us() - value->anchor_us;
    return elapsed_us > 0 ? (uint64_t)elapsed_us / 1000 : 0;
}

static uint64_t limited(uint64_t time_ms) {
    return time_ms < VALUE_MAX_TIME_MS ? time_ms : VALUE_MAX_TIME_MS;
}

uint64_t value_time(const struct value *value) {
    if (clock_is_replica) return value->clock_ms;
    return limited(value->clock_ms + elapsed_ms(value));
}

uint64_t clock_idle_ms(const struct value *value) {
    return has_time(value->type) ? limited(elapsed_ms(value)) : 0;
}

uint64_t value_advance(struct value *value) {
    uint64_t elapsed = elapsed_ms(value);
    if (elapsed > 0) value->idle_ms = 0;
    value->anchor_us += (int64_t)elapsed * 1000; /* parts of a millisecond are not lost */
    value->clock_ms = limited(value->clock_ms + elapsed);
    return value->clock_ms;
}

void value_turn_back(struct value *value, uint64_t clock_ms) {
    value->anchor_us -= (int64_t)(value->clock_ms - clock_ms) * 1000;
    value->clock_ms = clock_ms;
}

void value_set_clock(struct value *value, uint64_t clock_ms) {
    clock_ms = limited(clock_ms);
    if (clock_ms < value->clock_ms) return;
    value->clock_ms = clock_ms;
    value->anchor_us = monotonic_us();
    value->idle_ms = 0;
}

void value_start_clock(struct value *value) {
    value->clock_ms = (uint64_t)redis.Milliseconds();
    value->anchor_us = monotonic_us();
}

/* --- What has elapsed while no server was there */

/* Appends the beginning of a file. */
static size_t append_file(const char *path, char *text, size_t size, size_t room) {
    FILE *file = fopen(path, "re");
    if (file == NULL) return size;
    size += fread(text + size, 1, room - size, file);
    fclose(file);
    return size;
}

static void find_host(unsigned char host[CLOCK_HOST_BYTES]) {
    /* The machine id, where there is one, and the name: images are cloned, and names are used
     * twice. */
    char text[320] = {0};
    size_t size = append_file("/etc/machine-id", text, 0, 64);
    (void)gethostname(text + size, sizeof text - size - 1);
    uint64_t hash = lethe_hash_bytes(0, text, strlen(text)).low | 1; /* zeros mean: not known */
    memcpy(host, &hash, CLOCK_HOST_BYTES);
}

/* A mark of the machine's start and, since a container may have a clock of its own, of that
 * clock's offset. */
static uint64_t find_boot(void) {
    char text[320];
    size_t size = append_file("/proc/sys/kernel/random/boot_id", text, 0, 64);
    if (size == 0) return 0;
    size = append_file("/proc/self/timens_offsets", text, size, sizeof text);
    return lethe_hash_bytes(0, text, size).low | 1;
}

/* Both stay the same as long as the process lives. */
static const struct stamp *place(void) {
    static struct stamp found;
    if (found.host[0] == 0) {
        found.boot = find_boot();
        find_host(found.host);
    }
    return &found;
}

static int64_t boot_ms(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct stamp clock_stamp(const struct value *value) {
    struct stamp stamp = *place();
    /* The value's clock first: if the others are read later, less will have elapsed, not more. */
    int64_t clock_ms = (int64_t)limited(value->clock_ms + elapsed_ms(value));
    stamp.boot_skew_ms = boot_ms() - clock_ms;
    stamp.wall_skew_ms = (int64_t)redis.Milliseconds() - clock_ms;
    return stamp;
}

static bool is_near(int64_t one_ms, int64_t other_ms) {
    int64_t difference_ms;
    return !__builtin_sub_overflow(one_ms, other_ms, &difference_ms) &&
           difference_ms <= STAMP_TOLERANCE_MS && difference_ms >= -STAMP_TOLERANCE_MS;
}

static bool is_stamped(const struct value *value, const struct stamp *now) {
    const struct stamp *known = &value->stamp;
    return memcmp(known->host, now->host, CLOCK_HOST_BYTES) == 0 && known->boot == now->boot &&
           is_near(known->boot_skew_ms, now->boot_skew_ms) &&
           is_near(known->wall_skew_ms, now->wall_skew_ms);
}

/* Stamps count whole milliseconds, so one comparison in each is enough. */
bool clock_needs_stamp(struct value *value, struct stamp *out) {
    if (value->clock_ms < value->stamp_due_ms) return false;
    /* The process may have had to wait between two readings of clocks; hardly three times in a
     * row. */
    for (int i = 0; i < 3; i++) {
        *out = clock_stamp(value);
        if (!is_stamped(value, out)) continue;
        value->stamp_due_ms = value->clock_ms + 1;
        return false;
    }
    return true;
}

void clock_set_stamp(struct value *value, const struct stamp *stamp) {
    value->stamp = *stamp;
    value->stamp_due_ms = 0;
}

/* By a clock that says now_ms and was skew_ms ahead of the value's. */
static int64_t elapsed_by(const struct value *value, int64_t now_ms, int64_t skew_ms) {
    int64_t elapsed;
    if (__builtin_sub_overflow(now_ms, skew_ms, &elapsed) ||
        __builtin_sub_overflow(elapsed, (int64_t)value->clock_ms + STAMP_TOLERANCE_MS, &elapsed) ||
        elapsed < 0) {
        return 0;
    }
    return elapsed < MOST_ELAPSED_MS ? elapsed : MOST_ELAPSED_MS;
}

static int64_t elapsed_since_stamp(const struct value *value) {
    const struct stamp *stamp = &value->stamp, *here = place();
    if (memcmp(stamp->host, here->host, CLOCK_HOST_BYTES) != 0) return 0;
    if (stamp->boot == here->boot && here->boot != 0)
        return elapsed_by(value, boot_ms(), stamp->boot_skew_ms);
    return elapsed_by(value, (int64_t)redis.Milliseconds(), stamp->wall_skew_ms);
}

void value_catch_up(struct value *value) {
    int64_t elapsed = clock_is_loading_own_file ? elapsed_since_stamp(value) : 0;
    int64_t idle_ms = (int64_t)value->idle_ms; /* at most VALUE_MAX_TIME_MS: it was checked */
    if (idle_ms > MOST_ELAPSED_MS) idle_ms = MOST_ELAPSED_MS;
    if (elapsed < idle_ms) elapsed = idle_ms;
    value->anchor_us = monotonic_us() - elapsed * 1000;
}

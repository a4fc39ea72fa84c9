/* module/clock.c - what time it is for a value.
 *
 * A value has a clock of its own. It begins at the wall clock of the host that made the value, and from then
 * on goes by what elapses: on a master, by the monotonic clock since the last change; on a replica
 * it is what the master's effects say. So a replica that is promoted goes on from the last replicated
 * time plus what has elapsed since, and what its host's wall clock says plays no part: skew between
 * hosts can neither shorten a window nor stretch it.
 *
 * Only after a restart from this server's own file other clocks are asked, since the monotonic one says nothing of the
 * time before. The file and the log tell how they stood to the value's: a stamp. An effect carries a new one whenever
 * they stand otherwise than the last one says: a value is new or came from elsewhere, another server was promoted, the machine
 * slept, somebody set the wall clock. Values that nobody changes get theirs from the timer. What has elapsed is then
 *   - by the machine's own clock since its start, if it has not been started again: nobody can set that one;
 *   - otherwise by the wall clock, and nothing if that went back.
 * A value that comes from elsewhere (a master's snapshot, LOAD, RESTORE, MIGRATE), be it that such a snapshot or command has
 * become this server's own file or part of its log, has no stamp until it has its first effect here: it goes on where it
 * was, which is its clock and the time it had been idle when it was saved. So W is never shortened; where nothing is known, memory is longer. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"

/* Clocks are not read at one moment, and count whole milliseconds: stamps that differ by less are the same. What a
 * restart finds elapsed is less by that much. */
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

/* Appends what a file begins with. */
static size_t append_file(const char *path, char *text, size_t size, size_t room) {
    FILE *file = fopen(path, "re");
    if (file == NULL) return size;
    size += fread(text + size, 1, room - size, file);
    fclose(file);
    return size;
}

static void find_host(unsigned char host[CLOCK_HOST_BYTES]) {
    /* The system's own number, where it has one, and its name: images are cloned, and names are given twice. */
    char text[320] = {0};
    size_t size = append_file("/etc/machine-id", text, 0, 64);
    (void)gethostname(text + size, sizeof text - size - 1);
    uint64_t hash = lethe_hash_bytes(0, text, strlen(text)).low | 1; /* zeros mean: not known */
    memcpy(host, &hash, CLOCK_HOST_BYTES);
}

/* Of the machine's start and, since a container may have a clock of its own, how far that is from the machine's. */
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

bool clock_is_stamped(const struct value *value, const struct stamp *now) {
    const struct stamp *known = &value->stamp;
    return memcmp(known->host, now->host, CLOCK_HOST_BYTES) == 0 && known->boot == now->boot &&
           is_near(known->boot_skew_ms, now->boot_skew_ms) &&
           is_near(known->wall_skew_ms, now->wall_skew_ms);
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

/* module/clock.c - what time it is for a value.
 *
 * A value has a clock of its own. It begins at the wall clock of the host that made the value, and from then
 * on goes by what elapses: on a master, by the monotonic clock since the last change; on a replica
 * it is what the master's effects say. So a replica that is promoted goes on from the last replicated
 * time plus what has elapsed since, and what its host's wall clock says plays no part: skew between
 * hosts can neither shorten a window nor stretch it.
 *
 * The wall clock is asked only after a restart from this server's own file, since no other clock
 * knows how long the server was down. The file tells how far the wall clock was from the value's, and which host's it
 * was; if the wall clock has gone back since, nothing has elapsed. A value that comes from elsewhere (a master's
 * snapshot, RESTORE, MIGRATE), be it that such a snapshot or command has become this server's own file or part of its log, or
 * whose distance is not known, goes on where it was. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"

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

uint64_t value_advance(struct value *value) {
    uint64_t elapsed = elapsed_ms(value);
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
}

void value_start_clock(struct value *value) {
    value->clock_ms = (uint64_t)redis.Milliseconds();
    value->anchor_us = monotonic_us();
    value->skew_ms = 0;
}

const unsigned char *clock_host(void) {
    static unsigned char host[CLOCK_HOST_BYTES];
    static bool is_known;
    if (is_known) return host;
    /* The system's own number, where it has one, and its name: images are cloned, and names are given twice. */
    char text[320] = {0};
    FILE *file = fopen("/etc/machine-id", "re");
    size_t size = file != NULL ? fread(text, 1, 64, file) : 0;
    if (file != NULL) fclose(file);
    (void)gethostname(text + size, sizeof text - size - 1);
    uint64_t hash = lethe_hash_bytes(0, text, strlen(text)).low | 1; /* zeros mean: not known */
    memcpy(host, &hash, sizeof host);
    is_known = true;
    return host;
}

void value_catch_up(struct value *value) {
    int64_t now_us = monotonic_us(), elapsed = 0;
    bool is_known = value->skew_ms != SKEW_UNKNOWN && clock_is_loading_own_file;
    if (is_known &&
        (__builtin_sub_overflow(redis.Milliseconds(), value->skew_ms, &elapsed) ||
         __builtin_sub_overflow(elapsed, (int64_t)value->clock_ms, &elapsed) || elapsed < 0)) {
        elapsed = 0;
    }
    int64_t most = INT64_MAX / 4000; /* so that no sum of microseconds overflows */
    if (elapsed > most) elapsed = most;
    value->anchor_us = now_us - elapsed * 1000;
}

int64_t value_skew(const struct value *value) {
    return (int64_t)redis.Milliseconds() - (int64_t)limited(value->clock_ms + elapsed_ms(value));
}

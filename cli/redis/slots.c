/* slots.c - CRC-16 as clusters use it (XMODEM: polynomial 0x1021, from zero), and tags by trying
 * numbers.
 *
 * WHY     Masters have ranges of slots. Partitions whose slots lie evenly are spread evenly over
 *         masters, however many there are, and stay so when masters are added; names like t:0, t:1
 *         would be spread by chance. */
#include "redis/slots.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned checksum(const unsigned char *data, size_t size) {
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum ^= (unsigned)data[i] << 8;
        for (int bit = 0; bit < 8; bit++) {
            sum = (sum << 1 ^ ((sum & 0x8000) != 0 ? 0x1021 : 0)) & 0xffff;
        }
    }
    return sum;
}

unsigned redis_checksum(lethe_bytes bytes) {
    return checksum(bytes.data, bytes.size);
}

unsigned redis_slot(lethe_bytes key) {
    const char *data = key.data;
    const char *open = memchr(data, '{', key.size);
    if (open != NULL) {
        const char *inner = open + 1;
        const char *close = memchr(inner, '}', key.size - (size_t)(inner - data));
        if (close != NULL && close > inner) {
            key = (lethe_bytes){.data = inner, .size = (size_t)(close - inner)};
        }
    }
    return checksum(key.data, key.size) % REDIS_SLOTS;
}

unsigned redis_slot_of_place(size_t place, size_t count) {
    return (unsigned)((2 * place + 1) * REDIS_SLOTS / (2 * count));
}

void redis_tags_of_slots(const uint16_t *slots, size_t count, uint32_t *out) {
    uint32_t place_of[REDIS_SLOTS]; /* which place wants the slot, from 1 */
    memset(place_of, 0, sizeof place_of);
    for (size_t i = 0; i < count; i++) {
        place_of[slots[i]] = (uint32_t)i + 1;
    }
    size_t left = count;
    for (uint32_t number = 0; left > 0; number++) {
        char digits[16];
        int size = snprintf(digits, sizeof digits, "%u", number);
        unsigned slot = checksum((const unsigned char *)digits, (size_t)size) % REDIS_SLOTS;
        if (place_of[slot] == 0) continue;
        out[place_of[slot] - 1] = number;
        place_of[slot] = 0;
        left--;
    }
}

/* core/offset.c - reads +HH:MM and its like. */
#include "lethe/offset.h"

#include <stddef.h>

/* Two digits up to `most`, or -1. */
static int two_digits(const char *text, int most) {
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') return -1;
    int value = (text[0] - '0') * 10 + (text[1] - '0');
    return value <= most ? value : -1;
}

bool lethe_offset_parse(lethe_bytes bytes, int32_t *offset_s) {
    const char *text = bytes.data;
    size_t size = bytes.size;
    if (offset_s == NULL) return false;
    *offset_s = 0;
    if (text == NULL || (size != 3 && size != 5 && size != 6)) return false;
    if ((text[0] != '+' && text[0] != '-') || (size == 6 && text[3] != ':')) return false;
    int hours = two_digits(text + 1, 23);
    int minutes = size == 3 ? 0 : two_digits(text + size - 2, 59);
    if (hours < 0 || minutes < 0) return false;
    *offset_s = (hours * 60 + minutes) * 60 * (text[0] == '-' ? -1 : 1);
    return true;
}

/* python/native/utf8.c - utf8.h has the contract. */
#include "utf8.h"

#include <stdint.h>
#include <string.h>

static uint32_t character_at(const char *text, size_t at) {
    uint32_t character;
    memcpy(&character, text + at * sizeof character, sizeof character);
    return character;
}

static bool has_utf8(uint32_t character) {
    return character < 0xD800 || (character > 0xDFFF && character <= 0x10FFFF);
}

static size_t length(const char *text, size_t characters) {
    while (characters > 0 && character_at(text, characters - 1) == 0)
        characters--;
    return characters;
}

bool utf8_is_valid(const char *text, size_t characters) {
    size_t n = length(text, characters);
    for (size_t i = 0; i < n; i++)
        if (!has_utf8(character_at(text, i))) return false;
    return true;
}

static char tail(uint32_t character, unsigned shift) {
    return (char)(0x80 | ((character >> shift) & 0x3F));
}

size_t utf8_write(const char *text, size_t characters, char *out) {
    size_t n = length(text, characters), size = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = character_at(text, i);
        if (!has_utf8(c)) c = '?';
        if (c < 0x80) {
            out[size++] = (char)c;
        } else if (c < 0x800) {
            out[size++] = (char)(0xC0 | (c >> 6));
            out[size++] = tail(c, 0);
        } else if (c < 0x10000) {
            out[size++] = (char)(0xE0 | (c >> 12));
            out[size++] = tail(c, 6);
            out[size++] = tail(c, 0);
        } else {
            out[size++] = (char)(0xF0 | (c >> 18));
            out[size++] = tail(c, 12);
            out[size++] = tail(c, 6);
            out[size++] = tail(c, 0);
        }
    }
    return size;
}

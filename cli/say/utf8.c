/* utf8.c - which bytes are text in UTF-8. */
#include "say/utf8.h"

size_t utf8_length(const unsigned char *text, size_t size) {
    static const struct form {
        unsigned char first_least, first_most, second_least, second_most;
        size_t length;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    if (text[0] < 0x80) return 1;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct form *form = &forms[i];
        if (text[0] < form->first_least || text[0] > form->first_most) continue;
        if (form->length > size) return 0;
        if (text[1] < form->second_least || text[1] > form->second_most) return 0;
        for (size_t j = 2; j < form->length; j++) {
            if (text[j] < 0x80 || text[j] > 0xbf) return 0;
        }
        return form->length;
    }
    return 0;
}

bool utf8_is_text(lethe_bytes text) {
    const unsigned char *bytes = text.data;
    size_t length = 1;
    for (size_t at = 0; at < text.size && length > 0; at += length) {
        length = utf8_length(bytes + at, text.size - at);
    }
    return length > 0;
}

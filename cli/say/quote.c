/* quote.c - strings of JSON; see quote.h. */
#include "say/quote.h"

#include <string.h>

#include "say/utf8.h"

size_t quote_step(const unsigned char *text, size_t size, char out[QUOTE_FACTOR], size_t *made) {
    static const char digits[] = "0123456789abcdef";
    static const char unknown[6] = {'\\', 'u', 'f', 'f', 'f', 'd'},
                      control[4] = {'\\', 'u', '0', '0'};
    unsigned char byte = text[0];
    size_t length = utf8_length(text, size);
    if (length == 0) {
        memcpy(out, unknown, sizeof unknown);
        *made = 6;
        return 1;
    }
    if (byte == '"' || byte == '\\') {
        out[0] = '\\';
        out[1] = (char)byte;
        *made = 2;
    } else if (byte < 0x20 || byte == 0x7f) {
        memcpy(out, control, sizeof control);
        out[4] = digits[byte >> 4];
        out[5] = digits[byte & 15];
        *made = 6;
    } else {
        memcpy(out, text, length);
        *made = length;
    }
    return length;
}

/* text.c - fills paragraphs. */
#include "frame/text.h"

#include <string.h>

/* Letters that are seen: backquotes only mark. */
static size_t visible_length(const char *word, size_t length) {
    size_t visible = 0;
    for (size_t i = 0; i < length; i++) {
        visible += word[i] != '`';
    }
    return visible;
}

/* The bytes up to the next space at which a line may be broken: none inside square brackets. */
static size_t unbroken_length(const char *text) {
    size_t length = 0;
    int depth = 0;
    while (text[length] != '\0' && (text[length] != ' ' || depth > 0)) {
        depth += text[length] == '[';
        depth -= text[length] == ']';
        length++;
    }
    return length;
}

void text_fill(FILE *stream, const char *text, size_t indent, size_t column) {
    size_t at = column;
    const char *word = text + strspn(text, " ");
    while (*word != '\0') {
        size_t length = unbroken_length(word);
        size_t visible = visible_length(word, length);
        if (at > indent && at + 1 + visible > TEXT_WIDTH) {
            putc('\n', stream);
            at = 0;
        } else if (at > indent) {
            putc(' ', stream);
            at++;
        }
        if (at < indent) {
            fprintf(stream, "%*s", (int)(indent - at), "");
            at = indent;
        }
        for (size_t i = 0; i < length; i++) {
            if (word[i] != '`') putc(word[i], stream);
        }
        at += visible;
        word += length;
        word += strspn(word, " ");
    }
    putc('\n', stream);
}

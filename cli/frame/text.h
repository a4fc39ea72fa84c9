/* text.h - paragraphs filled to the width of a terminal or of a source line. */
#ifndef LETHE_CLI_FRAME_TEXT_H
#define LETHE_CLI_FRAME_TEXT_H

#include <stddef.h>
#include <stdio.h>

enum { TEXT_WIDTH = 80 };

/* Prints text word by word in lines of at most TEXT_WIDTH columns, indented, of which the first
 * column columns of the first line are taken already. Backquotes are left out; what is in square
 * brackets, as in a synopsis, stays together. Ends the line. */
void text_fill(FILE *stream, const char *text, size_t indent, size_t column);

#endif

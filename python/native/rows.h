/* python/native/rows.h - what the library calls back with, kept until it can become Python's.
 *
 * While a call of the library runs, nothing of Python may: making an object can start a garbage
 * collection, which runs anything. So callbacks copy what they are given into rows, and lists are
 * made of them afterwards. */
#ifndef LETHE_PYTHON_ROWS_H
#define LETHE_PYTHON_ROWS_H

#include "lethe/hash.h"
#include "python.h"

enum { ROW_PIECES = 3, ROW_NUMBERS = 6 };

struct row {
    /* Where each piece is in the bytes, and how long. */
    size_t at[ROW_PIECES], size[ROW_PIECES];
    int64_t numbers[ROW_NUMBERS];
};

struct rows {
    struct row *rows;
    size_t count, room;
    char *bytes;
    size_t bytes_count, bytes_room;
    /* At most so many rows. */
    size_t most;
    bool lacks_memory;
};

/* Adds a row with a first piece, and returns it; NULL without memory, which `lacks_memory`
 * remembers. */
struct row *rows_add(struct rows *rows, lethe_bytes piece);
/* Adds another piece to the last row. */
bool rows_piece(struct rows *rows, unsigned number, lethe_bytes piece);
lethe_bytes rows_bytes(const struct rows *rows, const struct row *row, unsigned number);
/* A piece as bytes, a new reference. */
PyObject *rows_object(const struct rows *rows, const struct row *row, unsigned number);
void rows_free(struct rows *rows);

/* A list of what `make` makes of each row. A new reference, or NULL with an exception. */
PyObject *rows_list(const struct rows *rows,
                    PyObject *(*make)(const struct rows *rows, const struct row *row));

#endif

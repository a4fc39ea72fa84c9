/* python/native/rows.c - rows.h has the contract. */
#include "rows.h"

#include <string.h>

static bool grow(void **block, size_t *room, size_t needed, size_t item) {
    if (needed <= *room) return true;
    size_t larger = needed * 2;
    void *moved = realloc(*block, larger * item);
    if (moved == NULL) return false;
    *block = moved;
    *room = larger;
    return true;
}

bool rows_piece(struct rows *rows, unsigned number, lethe_bytes piece) {
    struct row *row = &rows->rows[rows->count - 1];
    void *block = rows->bytes;
    bool has_room = grow(&block, &rows->bytes_room, rows->bytes_count + piece.size + 1, 1);
    rows->bytes = block;
    if (!has_room) {
        rows->lacks_memory = true;
        return false;
    }
    if (piece.size > 0) memcpy(rows->bytes + rows->bytes_count, piece.data, piece.size);
    row->at[number] = rows->bytes_count;
    row->size[number] = piece.size;
    rows->bytes_count += piece.size;
    return true;
}

struct row *rows_add(struct rows *rows, lethe_bytes piece) {
    void *block = rows->rows;
    bool has_room = grow(&block, &rows->room, rows->count + 1, sizeof *rows->rows);
    rows->rows = block;
    if (!has_room) {
        rows->lacks_memory = true;
        return NULL;
    }
    memset(&rows->rows[rows->count++], 0, sizeof *rows->rows);
    return rows_piece(rows, 0, piece) ? &rows->rows[rows->count - 1] : NULL;
}

lethe_bytes rows_bytes(const struct rows *rows, const struct row *row, unsigned number) {
    return (lethe_bytes){rows->bytes + row->at[number], row->size[number]};
}

PyObject *rows_object(const struct rows *rows, const struct row *row, unsigned number) {
    lethe_bytes piece = rows_bytes(rows, row, number);
    return PyBytes_FromStringAndSize(piece.data, (Py_ssize_t)piece.size);
}

void rows_free(struct rows *rows) {
    free(rows->rows);
    free(rows->bytes);
    memset(rows, 0, sizeof *rows);
}

PyObject *rows_list(const struct rows *rows,
                    PyObject *(*make)(const struct rows *rows, const struct row *row)) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < rows->count; i++) {
        PyObject *item = make(rows, &rows->rows[i]);
        if (item == NULL || PyList_Append(list, item) != 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* python/native/keys.h - from Python's objects to the bytes of keys.
 *
 * The rule, the same everywhere:
 *   bytes, bytearray, memoryview of bytes   their bytes
 *   str                                     its UTF-8
 *   int                                     8 bytes, little-endian, two's complement: from -2^63 to
 *                                           2^64 - 1 (so -1 and 2^64 - 1 are the same key)
 * and in batches, so that an element is the same key as the object that it stands for:
 *   arrays of integers, of any width        as int: widened to 8 bytes
 *   arrays of fixed bytes (S)               without the NULs at their end, as NumPy gives them
 *   arrays of fixed text (U)                the UTF-8 of each, without the NULs at its end
 *   arrays of raw bytes (V)                 all bytes of each
 *   lethe.Strings(offsets, data)            data[offsets[i] : offsets[i + 1]]
 *   lists, and everything else with items   each item by the rule for one key
 *
 * Keys are taken as a whole before anything happens with them: an item of a wrong type changes
 * nothing. After that they are read without the interpreter's lock. */
#ifndef LETHE_PYTHON_KEYS_H
#define LETHE_PYTHON_KEYS_H

#include "lethe/hash.h"
#include "python.h"

/* One key. */
struct key {
    lethe_bytes bytes;
    /* Of an integer. */
    uint64_t number;
    /* What the bytes are in, or NULL. */
    PyObject *owner;
};

/* Returns 0, or -1 with an exception. key_free afterwards. */
int key_take(PyObject *object, struct key *out);
void key_free(struct key *key);
/* The same, hashed: nothing to free. */
int key_hash(PyObject *object, uint64_t seed, lethe_hash *out);

enum keys_form { KEYS_NONE, KEYS_OBJECTS, KEYS_INTEGERS, KEYS_FIXED, KEYS_TEXT, KEYS_OFFSETS };

struct keys {
    enum keys_form form;
    size_t count;
    /* They came as a NumPy array, or something that can be one: so results will be too. */
    bool is_numpy;

    /* Buffers: elements of item_bytes, stride bytes apart. */
    Py_buffer view;
    const char *items;
    ptrdiff_t stride;
    size_t item_bytes;
    bool is_signed;
    /* NULs at the end do not belong to the key. */
    bool is_padded;

    /* Offsets into the view's bytes, of offset_bytes each. */
    Py_buffer offsets;
    size_t offset_bytes;

    /* Objects: what is in pieces belongs to these. */
    PyObject *owners;
    lethe_bytes *pieces;
    uint64_t *numbers;
};

/* Takes a batch. name is the argument's. Returns 0, or -1 with an exception. keys_free
 * afterwards, with the interpreter's lock, also after an error. */
int keys_take(const char *name, PyObject *object, struct keys *out);
void keys_free(struct keys *keys);

/* Room for the bytes of up to `most` keys at a time. */
struct keys_room {
    size_t most;
    lethe_bytes *pieces;
    uint64_t *numbers;
    char *text;
};

/* Return false without memory; the first needs no interpreter. */
bool keys_room_start(struct keys_room *room, const struct keys *keys, size_t most);
void keys_room_free(struct keys_room *room);

/* The bytes of keys [first, first + count), count up to room->most: in *out, valid until the next
 * call with the same room. Needs no interpreter, and nor does keys_hash. */
const lethe_bytes *keys_bytes(const struct keys *keys, size_t first, size_t count,
                              struct keys_room *room);
void keys_hash(const struct keys *keys, uint64_t seed, size_t first, size_t count,
               struct keys_room *room, lethe_hash *out);

/* Numbers in an array: a column of integers, or one integer for all. */
struct numbers {
    Py_buffer view;
    bool has_view;
    const char *items;
    ptrdiff_t stride;
    size_t item_bytes;
    bool is_signed;
    int64_t *own;
    int64_t all;
};

/* Takes count integers from an array, a list or one integer; NULL and None are `otherwise` for
 * all. With is_unsigned, the 8 bytes are those of uint64_t. */
int numbers_take(const char *name, PyObject *object, size_t count, bool is_unsigned,
                 int64_t otherwise, struct numbers *out);
void numbers_free(struct numbers *numbers);
int64_t numbers_at(const struct numbers *numbers, size_t at);

/* How a buffer's elements are to be read: shared by keys and numbers. */
struct element {
    /* An integer i, bytes s, raw bytes x, text w, objects O; 0: something else. */
    char letter;
    bool is_signed;
};
struct element element_of(const Py_buffer *view);
/* An integer of 1, 2, 4 or 8 bytes, widened. */
uint64_t element_integer(const char *at, size_t bytes, bool is_signed);

/* lethe.Strings, once its Python module is known. */
int keys_start(PyObject *strings_class);

#endif

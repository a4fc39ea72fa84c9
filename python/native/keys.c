/* python/native/keys.c - batches of keys: keys.h has the rule.
 *
 * IDEA    A batch is described once, by what it came in; the loops that need keys ask for some of
 *         them at a time, as bytes or as hashes, and read them where they lie. Only integers that
 *         are narrower than 8 bytes, and text of four bytes a character, are copied, a piece at a
 *         time.
 * I1      What is read without the interpreter's lock cannot go away: buffers are held, and of
 *         objects only str and bytes are pointed to, which never change and are referred to by a
 *         tuple of our own.
 * I2      The content of a buffer may change under us. So nothing that was checked in it is
 *         trusted: offsets are checked again when they are used.
 * LIMIT   Little-endian machines: an integer's bytes are hashed where they lie. */
#include "keys.h"

#include <string.h>

#include "utf8.h"

static PyObject *strings_class;

int keys_start(PyObject *class) {
    strings_class = Py_NewRef(class);
    return 0;
}

static int take_objects(PyObject *object, struct keys *out) {
    /* A tuple of our own: nobody else can change it, or let go of what is in it. */
    out->owners = PyList_New(0);
    PyObject *items = PySequence_Tuple(object);
    if (out->owners == NULL || items == NULL) {
        Py_XDECREF(items);
        return -1;
    }
    out->count = (size_t)PyTuple_Size(items);
    int failed = PyList_Append(out->owners, items);
    Py_DECREF(items);
    if (failed != 0) return -1;
    out->pieces = calloc(out->count + 1, sizeof *out->pieces);
    if (out->pieces == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < out->count; i++) {
        struct key key;
        int result = key_take(PyTuple_GetItem(items, (Py_ssize_t)i), &key);
        if (result == 0 && key.bytes.data == &key.number) {
            if (out->numbers == NULL) out->numbers = calloc(out->count, sizeof *out->numbers);
            if (out->numbers == NULL) {
                PyErr_NoMemory();
                return -1;
            }
            out->numbers[i] = key.number;
            key.bytes.data = &out->numbers[i];
        }
        if (result == 0 && key.owner != NULL) result = PyList_Append(out->owners, key.owner);
        key_free(&key);
        if (result != 0) return -1;
        out->pieces[i] = key.bytes;
    }
    out->form = KEYS_OBJECTS;
    return 0;
}

static int take_elements(const char *name, struct element element, struct keys *out) {
    out->items = out->view.buf;
    out->item_bytes = (size_t)out->view.itemsize;
    out->stride = out->view.strides != NULL ? out->view.strides[0] : out->view.itemsize;
    out->count = (size_t)out->view.shape[0];
    out->is_signed = element.is_signed;
    out->is_padded = element.letter == 's';
    switch (element.letter) {
    case 'i':
        out->form = KEYS_INTEGERS;
        return 0;
    case 's':
    case 'x':
        out->form = KEYS_FIXED;
        return 0;
    case 'w':
        out->form = KEYS_TEXT;
        for (size_t i = 0; i < out->count; i++) {
            if (utf8_is_valid(out->items + (ptrdiff_t)i * out->stride, out->item_bytes / 4))
                continue;
            PyErr_Format(PyExc_ValueError, "%s: text number %zu has no UTF-8", name, i);
            return -1;
        }
        return 0;
    default:
        PyErr_Format(PyExc_TypeError, "%s: arrays of type '%s' are no keys", name,
                     out->view.format != NULL ? out->view.format : "B");
        return -1;
    }
}

/* Returns 1 if it was a buffer of keys, 0 if it holds objects or is none, or -1. */
static int take_buffer(const char *name, PyObject *object, struct keys *out) {
    if (!PyObject_CheckBuffer(object)) return 0;
    if (PyObject_GetBuffer(object, &out->view, PyBUF_RECORDS_RO) != 0) return -1;
    struct element element = element_of(&out->view);
    if (element.letter == 'O') {
        PyBuffer_Release(&out->view);
        out->view.obj = NULL;
        return 0;
    }
    if (out->view.ndim != 1) {
        PyErr_Format(PyExc_ValueError, "%s must have one dimension, not %d", name, out->view.ndim);
        return -1;
    }
    return take_elements(name, element, out) == 0 ? 1 : -1;
}

/* Offset number `at`. A negative one becomes larger than any buffer is. */
static inline uint64_t offset_at(const struct keys *keys, size_t at) {
    const char *offsets = keys->offsets.buf;
    if (keys->offset_bytes == 8) {
        uint64_t wide;
        memcpy(&wide, offsets + at * sizeof wide, sizeof wide);
        return wide;
    }
    uint32_t narrow;
    memcpy(&narrow, offsets + at * sizeof narrow, sizeof narrow);
    return keys->is_signed ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
}

static int check_offsets(const char *name, struct keys *out) {
    bool is_wrong = false;
    /* Offsets that never fall are all within the data if the last one is. */
    for (size_t i = 0; i < out->count; i++)
        is_wrong |= offset_at(out, i) > offset_at(out, i + 1);
    if (!is_wrong && offset_at(out, out->count) <= (uint64_t)out->view.len) return 0;
    PyErr_Format(PyExc_ValueError, "%s: an offset is lower than the one before it, or too large",
                 name);
    return -1;
}

static int take_offsets(const char *name, PyObject *object, struct keys *out) {
    PyObject *offsets = PyObject_GetAttrString(object, "offsets");
    PyObject *data = PyObject_GetAttrString(object, "data");
    int failed = offsets == NULL || data == NULL ||
                 PyObject_GetBuffer(data, &out->view, PyBUF_SIMPLE) != 0 ||
                 PyObject_GetBuffer(offsets, &out->offsets, PyBUF_CONTIG_RO | PyBUF_FORMAT) != 0;
    Py_XDECREF(offsets);
    Py_XDECREF(data);
    if (failed) return -1;
    struct element element = element_of(&out->offsets);
    if (element.letter != 'i' || out->offsets.itemsize < 4 || out->offsets.ndim != 1 ||
        out->offsets.shape[0] < 1) {
        PyErr_Format(PyExc_TypeError,
                     "%s: offsets must be an array of one or more integers of 32 or 64 bits", name);
        return -1;
    }
    out->offset_bytes = (size_t)out->offsets.itemsize;
    out->is_signed = element.is_signed;
    out->count = (size_t)out->offsets.shape[0] - 1;
    out->form = KEYS_OFFSETS;
    return check_offsets(name, out);
}

/* What NumPy makes of a pandas series and the like; a new reference. */
static PyObject *as_array(PyObject *object) {
    if (PyObject_CheckBuffer(object) || !PyObject_HasAttrString(object, "__array__"))
        return Py_NewRef(object);
    return PyObject_CallMethod(object, "__array__", NULL);
}

int keys_take(const char *name, PyObject *object, struct keys *out) {
    memset(out, 0, sizeof *out);
    if (PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: %R is one key, where a list or array is needed", name,
                     (PyObject *)Py_TYPE(object));
        return -1;
    }
    if (PyList_Check(object) || PyTuple_Check(object)) return take_objects(object, out);
    int is_strings = PyObject_IsInstance(object, strings_class);
    if (is_strings != 0) return is_strings > 0 ? take_offsets(name, object, out) : -1;
    out->is_numpy = PyObject_HasAttrString(object, "__array__");
    PyObject *array = as_array(object);
    if (array == NULL) return -1;
    int taken = take_buffer(name, array, out);
    if (taken == 0) taken = take_objects(array, out);
    Py_DECREF(array);
    return taken < 0 ? -1 : 0;
}

void keys_free(struct keys *keys) {
    if (keys->view.obj != NULL) PyBuffer_Release(&keys->view);
    if (keys->offsets.obj != NULL) PyBuffer_Release(&keys->offsets);
    Py_CLEAR(keys->owners);
    free(keys->pieces);
    free(keys->numbers);
    memset(keys, 0, sizeof *keys);
}

bool keys_room_start(struct keys_room *room, const struct keys *keys, size_t most) {
    *room = (struct keys_room){.most = most < keys->count ? most : keys->count};
    size_t n = room->most + 1;
    if (keys->form != KEYS_OBJECTS) room->pieces = calloc(n, sizeof *room->pieces);
    if (keys->form == KEYS_INTEGERS) room->numbers = calloc(n, sizeof *room->numbers);
    if (keys->form == KEYS_TEXT) room->text = calloc(n, keys->item_bytes + 1);
    return (keys->form == KEYS_OBJECTS || room->pieces != NULL) &&
           (keys->form != KEYS_INTEGERS || room->numbers != NULL) &&
           (keys->form != KEYS_TEXT || room->text != NULL);
}

void keys_room_free(struct keys_room *room) {
    free(room->pieces);
    free(room->numbers);
    free(room->text);
    *room = (struct keys_room){0};
}

/* The integers as 8 bytes each: where they are, or widened in the room. */
static const uint64_t *integers(const struct keys *keys, size_t first, size_t count,
                                struct keys_room *room) {
    const char *at = keys->items + (ptrdiff_t)first * keys->stride;
    if (keys->item_bytes == 8 && keys->stride == 8 && (uintptr_t)at % 8 == 0)
        return (const uint64_t *)(const void *)at;
    for (size_t i = 0; i < count; i++, at += keys->stride)
        room->numbers[i] = element_integer(at, keys->item_bytes, keys->is_signed);
    return room->numbers;
}

static void fixed_pieces(const struct keys *keys, size_t first, size_t count, lethe_bytes *out) {
    const char *data = keys->items + (ptrdiff_t)first * keys->stride;
    for (size_t i = 0; i < count; i++, data += keys->stride) {
        size_t size = keys->item_bytes;
        if (keys->is_padded)
            while (size > 0 && data[size - 1] == '\0')
                size--;
        out[i] = (lethe_bytes){data, size};
    }
}

static void offset_pieces(const struct keys *keys, size_t first, size_t count, lethe_bytes *out) {
    const char *data = keys->view.buf;
    uint64_t from = offset_at(keys, first), length = (uint64_t)keys->view.len;
    for (size_t i = 0; i < count; i++) {
        uint64_t to = offset_at(keys, first + i + 1);
        bool is_within = from <= to && to <= length; /* I2 */
        out[i] =
            is_within ? (lethe_bytes){data + from, (size_t)(to - from)} : (lethe_bytes){data, 0};
        from = to;
    }
}

static void text_pieces(const struct keys *keys, size_t first, size_t count, char *text,
                        lethe_bytes *out) {
    for (size_t i = 0; i < count; i++, text += keys->item_bytes) {
        const char *at = keys->items + (ptrdiff_t)(first + i) * keys->stride;
        out[i] = (lethe_bytes){text, utf8_write(at, keys->item_bytes / 4, text)};
    }
}

const lethe_bytes *keys_bytes(const struct keys *keys, size_t first, size_t count,
                              struct keys_room *room) {
    const uint64_t *numbers;
    switch (keys->form) {
    case KEYS_OBJECTS:
        return keys->pieces + first;
    case KEYS_INTEGERS:
        numbers = integers(keys, first, count, room);
        for (size_t i = 0; i < count; i++)
            room->pieces[i] = (lethe_bytes){&numbers[i], sizeof numbers[i]};
        break;
    case KEYS_FIXED:
        fixed_pieces(keys, first, count, room->pieces);
        break;
    case KEYS_OFFSETS:
        if (count > 0) offset_pieces(keys, first, count, room->pieces);
        break;
    case KEYS_TEXT:
        text_pieces(keys, first, count, room->text, room->pieces);
        break;
    case KEYS_NONE:
        break;
    }
    return room->pieces;
}

void keys_hash(const struct keys *keys, uint64_t seed, size_t first, size_t count,
               struct keys_room *room, lethe_hash *out) {
    if (keys->form == KEYS_INTEGERS)
        lethe_hash_u64_batch(seed, integers(keys, first, count, room), count, out);
    else
        lethe_hash_batch(seed, keys_bytes(keys, first, count, room), count, out);
}

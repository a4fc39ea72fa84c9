/* python/native/arguments.h - arguments of methods, and options of structures.
 *
 * Options are described by tables, one row for each field of a C options struct: a keyword argument
 * of the same name sets the field, and None leaves it at its default. */
#ifndef LETHE_PYTHON_ARGUMENTS_H
#define LETHE_PYTHON_ARGUMENTS_H

#include "python.h"

/* Takes the arguments of a call by position and name into out[0..count), NULL for those that are
 * missing. names has count names; the first `needed` are needed, and None
 * does not do for them. Borrowed references. Returns 0, or
 * -1 with an exception. */
int arguments_take(const char *function, PyObject *const *given, Py_ssize_t given_count,
                   PyObject *given_names, const char *const *names, size_t count, size_t needed,
                   PyObject **out);

/* Numbers from Python's integers (and NumPy's). NULL and None leave *out as it is. Returns 0, or -1
 * with an exception, which names the argument. */
int arguments_u64(const char *name, PyObject *value, uint64_t *out);
int arguments_i64(const char *name, PyObject *value, int64_t *out);
int arguments_size(const char *name, PyObject *value, size_t *out);
int arguments_bool(PyObject *value, bool *out);

/* Milliseconds: the given ones, or the wall clock's since 1970. */
int arguments_time(PyObject *value, uint64_t *now_ms);

/* A path as bytes, a new reference, or NULL with an exception. */
PyObject *arguments_path(PyObject *value);

enum option_type {
    OPTION_U64,
    OPTION_U32,
    OPTION_I32,
    /* Above 0. */
    OPTION_F64,
    OPTION_BOOL,
    /* None, True or False: lethe_switch. */
    OPTION_SWITCH,
    /* One of a list of words, which are an enumeration in C. */
    OPTION_WORD,
    /* A text, which lives as long as the arguments do. */
    OPTION_TEXT
};

struct option {
    const char *name;
    enum option_type type;
    size_t offset;
    /* Of OPTION_WORD; ends with NULL. */
    const char *const *words;
    /* 0, which selects the default in C, is refused. */
    bool is_positive;
};

#define OPTION(struct_, field_, type_) \
    { .name = #field_, .type = OPTION_##type_, .offset = offsetof(struct_, field_) }
#define POSITIVE_OPTION(struct_, field_, type_)                                       \
    {                                                                                 \
        .name = #field_, .type = OPTION_##type_, .offset = offsetof(struct_, field_), \
        .is_positive = true                                                           \
    }
#define WORD_OPTION(struct_, field_, words_) \
    { .name = #field_, .type = OPTION_WORD, .offset = offsetof(struct_, field_), .words = words_ }
#define END_OF_OPTIONS \
    { .name = NULL }

/* Sets the fields of a struct by keyword arguments (NULL: none). Returns 0, or -1 with an
 * exception, which for an unknown name lists the known ones. */
int options_take(const char *what, const struct option *options, PyObject *keywords, void *out);

#endif

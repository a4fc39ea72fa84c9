/* python/native/python.h - the interpreter's header, as every file here includes it.
 *
 * The stable ABI of Python 3.11, the first one with buffers: one extension for all later
 * versions. */
#ifndef LETHE_PYTHON_PYTHON_H
#define LETHE_PYTHON_PYTHON_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Methods with the arguments of the fast calling convention stand in tables of PyCFunction. */
#define METHOD(name_, function_, doc_) \
    { name_, (PyCFunction)(void (*)(void))(function_), METH_FASTCALL | METH_KEYWORDS, doc_ }
#define CLASS_METHOD(name_, function_, doc_)                 \
    {                                                        \
        name_, (PyCFunction)(void (*)(void))(function_),     \
            METH_FASTCALL | METH_KEYWORDS | METH_CLASS, doc_ \
    }
#define SIMPLE_METHOD(name_, function_, doc_) \
    { name_, function_, METH_NOARGS, doc_ }
/* A slot's text, which Python's header does not call const. */
#define DOC(text_) ((char[]){text_})
#define END_OF_METHODS \
    { NULL, NULL, 0, NULL }

#endif

/* engine/detail.h - filling in what went wrong, for people. */
#ifndef LETHE_ENGINE_DETAIL_H
#define LETHE_ENGINE_DETAIL_H

#include "lethe/counter.h"

/* Writes the text, unless detail is NULL, and returns status. */
__attribute__((format(printf, 3, 4))) lethe_status
lethe_detail_fill(lethe_detail *detail, lethe_status status, const char *format, ...);

#endif

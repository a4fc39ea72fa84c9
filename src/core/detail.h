/* core/detail.h - filling in what went wrong, as a sentence for people. */
#ifndef LETHE_CORE_DETAIL_H
#define LETHE_CORE_DETAIL_H

#include "lethe/status.h"

/* There is nothing to say. Takes NULL. */
void lethe_detail_clear(lethe_detail *detail);

/* Writes the text, unless detail is NULL, and returns status. */
__attribute__((format(printf, 3, 4))) lethe_status
lethe_detail_fill(lethe_detail *detail, lethe_status status, const char *format, ...);

/* The same for a file: "cannot read PATH: No such file or directory" from the word "read", the
 * status and errno, which stays as it is. The text becomes empty with LETHE_OK. */
lethe_status lethe_detail_of_file(lethe_detail *detail, lethe_status status, const char *attempt,
                                  const char *path);
/* The same for a folder that was to be made: where its parent is missing, that is what to make. */
lethe_status lethe_detail_of_folder(lethe_detail *detail, lethe_status status, const char *path);

#endif

/* window/part_portable.c - the operations of parts for any CPU. */
#define OPERATIONS lethe_part_portable
#include "window/part_hot.inc.h"

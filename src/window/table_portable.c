/* window/table_portable.c - the table's operations for any CPU. */
#define OPERATIONS lethe_table_portable
#include "window/table_hot.h"

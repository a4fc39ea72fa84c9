/* window/table_portable.c - the operations of tables for any CPU. */
#define OPERATIONS lethe_table_portable
#include "window/table_hot.inc.h"

/* filter/quotient/hot_portable.c - the quotient filter's operations for any CPU. */
#define OPERATIONS lethe_quotient_portable
#include "filter/quotient/hot.inc.h"

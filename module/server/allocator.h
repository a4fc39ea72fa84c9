/* module/server/allocator.h - the allocator that every value uses: its memory is the server's.
 *
 * So a value's memory counts towards maxmemory, and limits.h can refuse a block. */
#ifndef LETHE_MODULE_SERVER_ALLOCATOR_H
#define LETHE_MODULE_SERVER_ALLOCATOR_H

#include <lethe/lethe.h>

extern const lethe_allocator module_allocator;

#endif

/* module/value/transfer.h - PREFIX.DUMP and PREFIX.LOAD. transfer.c has the essay. */
#ifndef LETHE_MODULE_VALUE_TRANSFER_H
#define LETHE_MODULE_VALUE_TRANSFER_H

#include "command/ranges.h"
#include "server/redis_api.h"

/* The ranges of their arguments. */
extern const struct range range_piece, range_last;

redis_command_function load_command, dump_command;

/* Releases what DUMP has kept and nobody has asked for in a minute. For the timer. */
void transfer_tick(void);

#endif

/* module/change/repeat.h - PREFIX.EFFECT key data: repeats what a master did. repeat.c has the
 * essay. */
#ifndef LETHE_MODULE_CHANGE_REPEAT_H
#define LETHE_MODULE_CHANGE_REPEAT_H

#include "server/redis_api.h"

redis_command_function effect_command;

#endif

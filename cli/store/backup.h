/* backup.h - how commands speak of a backup. */
#ifndef LETHE_CLI_STORE_BACKUP_H
#define LETHE_CLI_STORE_BACKUP_H

#include "lethe/backup.h"
#include "say/json.h"

/* Adds the members that describe it. */
void backup_json(struct json *json, const lethe_backup *backup);

#endif

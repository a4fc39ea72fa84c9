/* tests/support/store_records.h - changes of a closed store's records, behind the engine's back. */
#ifndef LETHE_TESTS_SUPPORT_STORE_RECORDS_H
#define LETHE_TESTS_SUPPORT_STORE_RECORDS_H

#include "engine/disk/disk.h"

/* Puts a record, or deletes it if value.data is NULL. */
void test_store_write_record(const char *path, enum lethe_family family, lethe_bytes key,
                             lethe_bytes value);

/* Makes a store in exact mode one as an earlier version left it: a log without digests, and a
 * record of INDEX for each id. */
void test_store_make_earlier(const char *path);

/* Removes the first segment of ids that had to stay, as an earlier version did. */
void test_store_lose_segment(const char *path);

#endif

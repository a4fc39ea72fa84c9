/* lethe/status.h - how every Lethe call reports success or failure.
 *
 * One enumeration for the whole library. LETHE_OK is zero; the other values are part
 * of the ABI and are never renumbered or reused. A function that returns lethe_status
 * hands its result out through a pointer, sets it to NULL on failure, and leaves every
 * existing object as it was.
 *
 * A status says what kind of failure it was, which is what a program can act on. What
 * happened in detail (which file, which byte) is for the caller to add: it knows the names. */
#ifndef LETHE_STATUS_H
#define LETHE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LETHE_API __attribute__((visibility("default")))
#define LETHE_MUST_CHECK __attribute__((warn_unused_result))
#else
#define LETHE_API
#define LETHE_MUST_CHECK
#endif

typedef enum lethe_status {
    LETHE_OK = 0,
    LETHE_EINVAL = 1,     /* an option or argument is out of its range */
    LETHE_ENOMEM = 2,     /* the allocator refused, or the size can't be addressed */
    LETHE_EMISMATCH = 3,  /* two objects differ in shape or seed and can't be combined */
    LETHE_EFULL = 4,      /* the structure holds all it can */
    LETHE_ETYPE = 5,      /* saved data of another type than the one asked for */
    LETHE_EVERSION = 6,   /* saved data of a newer format than this library reads */
    LETHE_ECORRUPT = 7,   /* saved data is damaged: truncated, altered or not Lethe's at all */
    LETHE_EIO = 8,        /* reading or writing failed; errno tells more */
    LETHE_ENOSPACE = 9,   /* the disk or quota is full; errno tells more */
    LETHE_ENOTFOUND = 10, /* no such file or entry */
    LETHE_EBUSY = 11      /* another process holds it for writing */
} lethe_status;

/* A short English phrase for a status, never NULL, also for values this library does not
 * know. The string is static. Cost: O(1). */
LETHE_API const char *lethe_strerror(lethe_status status);

#ifdef __cplusplus
}
#endif

#endif

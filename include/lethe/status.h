/* lethe/status.h - how every Lethe call reports success or failure, and how it takes options.
 *
 * Status     One enumeration for the whole library. LETHE_OK is zero. The other values are part
 *            of the ABI and are never renumbered or reused. A function that returns lethe_status
 *            returns its result through a pointer. On failure it sets that result to NULL or zero,
 *            or leaves it unchanged where it says so, and leaves every existing object as it was.
 * Details    A status says what kind of failure it was, which is what a program acts on. Functions
 *            that touch files also fill in a lethe_detail, which a person can read: it names the
 *            file and what is wrong with it.
 * Arguments  NULL where an object or a result is needed is LETHE_EINVAL, and so is a count above
 *            zero with a NULL array. Functions that return no status say what they do with NULL.
 * Structs    Options and statistics may grow in later versions. Each such struct starts with its
 *            size, which the caller sets to sizeof the struct as it was compiled. LETHE_OPTIONS
 *            and LETHE_INIT do that. A struct that is smaller than the library's has zero in the
 *            missing fields. A larger one is accepted as long as the fields that the library
 *            does not know are zero. In results the library writes only the fields that both know.
 *            A size of 0 is LETHE_EINVAL.
 * Batches    A batch tries every item, in order. The status is the first error; the results say
 *            which items met one. Only a cascade, whose errors are those of a disk, ends at the
 *            first error and reports how far it got. */
#ifndef LETHE_STATUS_H
#define LETHE_STATUS_H

#include <stddef.h>

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
    /* An option or argument is out of its range. */
    LETHE_EINVAL = 1,
    /* The allocator refused, or the size cannot be addressed. */
    LETHE_ENOMEM = 2,
    /* Two objects differ in shape or seed and cannot be combined. */
    LETHE_EMISMATCH = 3,
    /* The structure holds all it can. */
    LETHE_EFULL = 4,
    /* The saved data is of another type than the one asked for. */
    LETHE_ETYPE = 5,
    /* The saved data has a newer format than this library reads. */
    LETHE_EVERSION = 6,
    /* The saved data is damaged: truncated, altered, or not Lethe's at all. */
    LETHE_ECORRUPT = 7,
    /* Reading or writing failed; errno says why. */
    LETHE_EIO = 8,
    /* The disk or the quota is full; errno says which. */
    LETHE_ENOSPACE = 9,
    /* There is no such file or entry. */
    LETHE_ENOTFOUND = 10,
    /* Another process holds it for writing. */
    LETHE_EBUSY = 11,
    /* A device, such as a GPU, was lost, or its driver failed. */
    LETHE_EDEVICE = 12
} lethe_status;

/* A short English phrase for a status. It is never NULL, not even for values that this library
 * does not know. The string is static. Cost: O(1). */
LETHE_API const char *lethe_strerror(lethe_status status);

/* What went wrong, as a sentence for people: it names the file, the process or the field. The
 * text is empty when there is nothing to say. */
typedef struct lethe_detail {
    char text[512];
} lethe_detail;

/* A struct with its size and the given fields set; the rest is zero. For an argument or a variable:
 *     lethe_bloom_new(&LETHE_OPTIONS(lethe_bloom_options, .capacity = 1000), &filter)
 * C, and C++ from C++20 on (there for variables only). */
#ifdef __cplusplus
#define LETHE_OPTIONS(type, ...) (type{.size = sizeof(type), __VA_ARGS__})
#else
#define LETHE_OPTIONS(type, ...) ((type){.size = sizeof(type), __VA_ARGS__})
#endif

/* The initializer of a variable: its size is set, the rest is zero. C and C++:
 *     lethe_bloom_stats stats = LETHE_INIT(lethe_bloom_stats); */
#ifdef __cplusplus
#define LETHE_INIT(type)         \
    ([] {                        \
        type made{};             \
        made.size = sizeof made; \
        return made;             \
    }())
#else
#define LETHE_INIT(type) \
    { .size = sizeof(type) }
#endif

#ifdef __cplusplus
}
#endif

#endif

/* lethe/policy.h - the answers of windows, and what happens when a load does not fit under a cap.
 *
 * Windows, forgetful filters and stores promise recognition for a time W, an error of at most e and
 * memory below a cap. Some loads make these promises impossible together. The policy says which
 * one gives way; the strain says which ones do not hold at the moment. */
#ifndef LETHE_POLICY_H
#define LETHE_POLICY_H

/* What a window or a forgetful filter says about an id. */
typedef enum lethe_answer {
    LETHE_ANSWER_FRESH = 0,
    LETHE_ANSWER_DUPLICATE = 1,
    /* Not a duplicate, but it could not be remembered: the status says why. */
    LETHE_ANSWER_REFUSED = 2
} lethe_answer;

typedef enum lethe_policy {
    /* At the cap, adding an id fails with LETHE_EFULL until older ones have expired. */
    LETHE_POLICY_REFUSE = 0,
    /* Near the cap, ids are still added and the error rises. */
    LETHE_POLICY_DEGRADE = 1
} lethe_policy;

/* Promises that do not hold at the moment, as bits of a `strain` field. */
enum {
    /* The estimated error is above the target, after a merge or with LETHE_POLICY_DEGRADE. */
    LETHE_STRAIN_ERROR = 1,
    /* The memory cap was met: ids are refused, or the error rises. */
    LETHE_STRAIN_MEMORY = 2,
    /* Time is behind the structure's clock: nothing expires until time has caught up. */
    LETHE_STRAIN_CLOCK = 4,
    /* lethe_forgetful only: the last id was refused. */
    LETHE_STRAIN_REFUSED = 8
};

#endif

/* core/inline.h - which functions must be inlined, and which must not.
 *
 * Hot paths are written once and compiled for several shapes or instruction sets. That works only
 * if the compiler really inlines the common text, constants included, whatever its size. */
#ifndef LETHE_CORE_INLINE_H
#define LETHE_CORE_INLINE_H

/* A function that is part of each of its callers. With LETHE_FAST_BUILD (sanitizers) that is left
 * to the compiler: a hundred copies of some of them would take minutes to compile. */
#ifdef LETHE_FAST_BUILD
#define LETHE_INLINE static inline
#else
#define LETHE_INLINE static inline __attribute__((always_inline))
#endif

/* A rare case, kept out of the path that calls it. */
#define LETHE_NOINLINE static __attribute__((noinline))

#endif

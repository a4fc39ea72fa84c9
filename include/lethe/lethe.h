/* lethe/lethe.h - all of the library's public headers. */
#ifndef LETHE_LETHE_H
#define LETHE_LETHE_H

#include "lethe/allocator.h"
#include "lethe/bloom.h"
#include "lethe/cascade.h"
#include "lethe/forgetful.h"
#include "lethe/gaussian.h"
#include "lethe/hash.h"
#include "lethe/io.h"
#include "lethe/packed.h"
#include "lethe/quotient.h"
#include "lethe/sketch.h"
#include "lethe/status.h"
#include "lethe/version.h"
#include "lethe/window.h"

#endif

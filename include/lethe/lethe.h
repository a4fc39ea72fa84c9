/* lethe/lethe.h - all public headers of liblethe. Those of a store (lethe/store.h, lethe/claims.h,
 * lethe/holds.h), lethe/leveldb.h and lethe/opencl.h belong to libraries of their own. */
#ifndef LETHE_LETHE_H
#define LETHE_LETHE_H

#include "lethe/allocator.h"
#include "lethe/backup.h"
#include "lethe/bloom.h"
#include "lethe/cascade.h"
#include "lethe/forgetful.h"
#include "lethe/gaussian.h"
#include "lethe/hash.h"
#include "lethe/id.h"
#include "lethe/io.h"
#include "lethe/offset.h"
#include "lethe/packed.h"
#include "lethe/policy.h"
#include "lethe/quotient.h"
#include "lethe/sketch.h"
#include "lethe/status.h"
#include "lethe/version.h"
#include "lethe/window.h"

#endif

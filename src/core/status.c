/* core/status.c - statuses as phrases, and the version. */
#include "lethe/status.h"
#include "lethe/version.h"

const char *lethe_strerror(lethe_status status) {
    switch (status) {
    case LETHE_OK:
        return "success";
    case LETHE_EINVAL:
        return "value out of range";
    case LETHE_ENOMEM:
        return "not enough memory";
    case LETHE_EMISMATCH:
        return "shapes or seeds differ";
    case LETHE_EFULL:
        return "full";
    case LETHE_ETYPE:
        return "saved data of another type";
    case LETHE_EVERSION:
        return "saved data of a newer format";
    case LETHE_ECORRUPT:
        return "saved data is damaged";
    case LETHE_EIO:
        return "input or output failed";
    case LETHE_ENOSPACE:
        return "no space left";
    case LETHE_ENOTFOUND:
        return "not found";
    case LETHE_EBUSY:
        return "held by another process";
    case LETHE_EDEVICE:
        return "the device failed";
    }
    return "unknown status";
}

const char *lethe_version(void) {
    return LETHE_VERSION;
}

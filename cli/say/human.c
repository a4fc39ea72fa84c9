/* human.c - rounds numbers for people. */
#include "say/human.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

const char *human_bytes(uint64_t bytes, struct human_text *out) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(out->text, sizeof out->text, "%" PRIu64 " bytes", bytes);
        return out->text;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    /* 1023.95 and more would be printed as 1024.0. */
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(out->text, sizeof out->text, "%.1f %s", value, units[unit]);
    return out->text;
}

const char *human_count(double count, struct human_text *out) {
    static const char letters[] = "kMGTPE";
    if (count < 10000) {
        snprintf(out->text, sizeof out->text, "%.0f", count);
        return out->text;
    }
    double value = count / 1000;
    size_t letter = 0;
    while (value >= 999.95 && letters[letter + 1] != '\0') {
        value /= 1000;
        letter++;
    }
    snprintf(out->text, sizeof out->text, "%.1f%c", value, letters[letter]);
    return out->text;
}

const char *human_seconds(double seconds, struct human_text *out) {
    static const double longest = 99 * 3600.0;
    unsigned whole = (unsigned)(seconds > longest ? longest : seconds < 0 ? 0 : seconds + 0.5);
    unsigned minutes = whole / 60;
    if (minutes < 60) {
        snprintf(out->text, sizeof out->text, "%u:%02u", minutes, whole % 60);
    } else {
        snprintf(out->text, sizeof out->text, "%u:%02u:%02u", minutes / 60, minutes % 60,
                 whole % 60);
    }
    return out->text;
}

const char *human_probability(double probability, struct human_text *out) {
    if (probability < 0.001 && probability > 0) {
        snprintf(out->text, sizeof out->text, "%.3g", probability);
    } else {
        snprintf(out->text, sizeof out->text, "%.3g%%", probability * 100);
    }
    return out->text;
}

const char *human_duration(uint64_t ms, struct human_text *out) {
    static const struct {
        uint64_t ms;
        const char *name;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    size_t unit = 0;
    while (ms % units[unit].ms != 0) {
        unit++;
    }
    snprintf(out->text, sizeof out->text, "%" PRIu64 "%s", ms / units[unit].ms, units[unit].name);
    return out->text;
}

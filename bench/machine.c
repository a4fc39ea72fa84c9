/* bench/machine.c - asks the system what it is. */
#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <lethe/lethe.h>

static void read_cpu_name(char *to, size_t size) {
    snprintf(to, size, "unknown CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL) return;
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model name", 10) != 0) continue;
        char *colon = strchr(line, ':');
        if (colon == NULL) continue;
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(to, size, "%s", colon + 2);
        break;
    }
    fclose(file);
}

struct machine machine_describe(void) {
    struct machine machine = {
        .lethe = lethe_version(),
        .cpu_path = lethe_cpu_path(),
        .compiler = BENCH_COMPILER,
        .flags = BENCH_FLAGS,
        .cores = sysconf(_SC_NPROCESSORS_ONLN),
        .memory_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE),
    };
    while (*machine.flags == ' ')
        machine.flags++;
    read_cpu_name(machine.cpu, sizeof machine.cpu);
    struct utsname name;
    if (uname(&name) == 0) {
        snprintf(machine.system, sizeof machine.system, "%.32s %.64s %.32s", name.sysname,
                 name.release, name.machine);
    }
    return machine;
}

/* Which Lethe is this? What the program was compiled with, and what it runs with.
 * cc version.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     compiled and running: the same version
 *     the CPU's instructions: known
 */
#include <lethe/version.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    if (strcmp(lethe_version(), LETHE_VERSION) == 0) {
        printf("compiled and running: the same version\n");
    } else { /* fine, as long as both have the same SOVERSION */
        printf("compiled with %s, running with %s\n", LETHE_VERSION, lethe_version());
    }
    const char *path = lethe_cpu_path();
    bool known =
        strcmp(path, "scalar") == 0 || strcmp(path, "avx2") == 0 || strcmp(path, "avx512") == 0;
    printf("the CPU's instructions: %s\n", known ? "known" : path);
    return EXIT_SUCCESS;
}

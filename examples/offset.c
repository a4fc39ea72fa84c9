/* Reads offsets from UTC, as they stand at the end of a time.
 * cc offset.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     +01:00: 3600 s
 *     -0330: -12600 s
 *     +25: not an offset
 */
#include <lethe/offset.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    static const lethe_bytes texts[] = {{"+01:00", 6}, {"-0330", 5}, {"+25", 3}};
    for (int i = 0; i < 3; i++) {
        int32_t seconds;
        if (lethe_offset_parse(texts[i], &seconds)) {
            printf("%s: %d s\n", (const char *)texts[i].data, (int)seconds);
        } else {
            printf("%s: not an offset\n", (const char *)texts[i].data);
        }
    }
    return EXIT_SUCCESS;
}

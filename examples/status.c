/* What a call that fails says: a status, for the program, and a detail, for people.
 * cc status.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     an error above 0.5: the program's mistake
 *     a file that is not there: try another one
 *     the detail names the file: yes
 */
#include <lethe/bloom.h>
#include <lethe/status.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *what_to_do(lethe_status status) {
    switch (status) {
    case LETHE_OK:
        return "nothing is wrong";
    case LETHE_EINVAL:
        return "the program's mistake";
    case LETHE_ENOTFOUND:
        return "try another one";
    default:
        return lethe_strerror(status);
    }
}

int main(void) {
    lethe_bloom_options options = LETHE_INIT(lethe_bloom_options); /* sets the struct's size */
    options.error = 0.7;
    lethe_bloom *filter;
    lethe_status status = lethe_bloom_new(&options, &filter);
    printf("an error above 0.5: %s\n", what_to_do(status));

    lethe_detail detail = {""};
    status = lethe_bloom_load_file("no-such-file.bloom", NULL, &filter, &detail);
    printf("a file that is not there: %s\n", what_to_do(status));
    printf("the detail names the file: %s\n",
           strstr(detail.text, "no-such-file.bloom") != NULL ? "yes" : "no");
    lethe_bloom_free(filter); /* NULL after an error, which free takes */
    return EXIT_SUCCESS;
}

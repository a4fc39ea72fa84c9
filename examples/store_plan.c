/* Asks what a store will take before there is one: 50,000 events a second, ids kept for a day.
 * cc store_plan.c $(pkg-config --cflags --libs lethe_store) && ./a.out
 *
 *     ids to remember: 4320 million
 *     memory for an id: 5 to 15 bytes
 */
#include <lethe/store_plan.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    lethe_store_options options = LETHE_INIT(lethe_store_options);
    options.window_ms = 86400000;
    lethe_store_load load = LETHE_INIT(lethe_store_load);
    load.events_per_s = 50000;
    load.counters = 10000000;
    lethe_store_needs needs = LETHE_INIT(lethe_store_needs);
    lethe_detail detail = {""};
    if (lethe_store_plan(&options, &load, &needs, &detail) != LETHE_OK) {
        fprintf(stderr, "store_plan: %s\n", detail.text);
        return EXIT_FAILURE;
    }
    double an_id = (double)needs.window_bytes / (double)needs.ids;
    printf("ids to remember: %d million\n", (int)(needs.ids / 1000000));
    printf("memory for an id: %s\n", an_id >= 5 && an_id <= 15 ? "5 to 15 bytes" : "not as usual");
    return EXIT_SUCCESS;
}

/* An id that is made of several fields: an order and a line of it.
 * cc id.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     order 12, line 3: 2:121:3
 *     order 1, line 23: 1:12:23
 */
#include <lethe/id.h>
#include <stdio.h>
#include <stdlib.h>

static lethe_status show(const char *title, lethe_bytes order, lethe_bytes line) {
    lethe_bytes fields[] = {order, line};
    char id[64];
    size_t size;
    lethe_status status = lethe_id_join(fields, 2, id, sizeof id, &size);
    if (status == LETHE_OK) printf("%s: %.*s\n", title, (int)size, id);
    return status;
}

int main(void) {
    lethe_bytes order_12 = {"12", 2}, line_3 = {"3", 1}, order_1 = {"1", 1}, line_23 = {"23", 2};
    lethe_status status = show("order 12, line 3", order_12, line_3);
    if (status == LETHE_OK) status = show("order 1, line 23", order_1, line_23);
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

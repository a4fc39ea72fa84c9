/* A sketch on a GPU: the CPU counts, the device answers. Without a device the CPU answers too.
 * cc opencl.c $(pkg-config --cflags --libs lethe_opencl) && ./a.out
 *
 *     device: NVIDIA Quadro 4000
 *     styx: 3
 *     acheron: 0
 */
#include <lethe/lethe.h>
#include <lethe/opencl.h>
#include <stdio.h>
#include <stdlib.h>

static const lethe_bytes keys[] = {{"styx", 4}, {"acheron", 7}};

/* Asks a device for both keys; says why if it cannot. */
static lethe_status ask_device(const lethe_sketch *sketch, uint64_t counts[2]) {
    lethe_opencl *device = NULL;
    lethe_opencl_sketch *there = NULL;
    lethe_detail detail;
    lethe_status status = lethe_opencl_open(NULL, &device, &detail);
    if (status == LETHE_OK) {
        lethe_opencl_info info = LETHE_INIT(lethe_opencl_info);
        lethe_opencl_get_info(device, &info);
        printf("device: %s\n", info.name);
        status = lethe_opencl_sketch_upload(device, sketch, &there, &detail);
    }
    if (status == LETHE_OK)
        status = lethe_opencl_sketch_count_key_batch(there, keys, 2, counts, NULL, &detail);
    if (status != LETHE_OK) printf("%s\n", detail.text);
    lethe_opencl_sketch_free(there);
    lethe_opencl_close(device);
    return status;
}

int main(void) {
    lethe_sketch *sketch;
    if (lethe_sketch_new(NULL, &sketch) != LETHE_OK) return EXIT_FAILURE;
    lethe_status status = lethe_sketch_add(sketch, "styx", 4, 3);
    uint64_t counts[2];
    if (status == LETHE_OK && ask_device(sketch, counts) != LETHE_OK) {
        for (int i = 0; i < 2; i++)
            counts[i] = lethe_sketch_count(sketch, keys[i].data, keys[i].size, NULL);
    }
    printf("styx: %d\nacheron: %d\n", (int)counts[0], (int)counts[1]);
    lethe_sketch_free(sketch);
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

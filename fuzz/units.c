/* Fuzzes the parsers of counts, sizes, durations and probabilities: what they accept is in
 * range. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "frame/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (text == NULL) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    uint64_t number = 0;
    double probability = 0;
    if (units_parse_count(text, &number) == UNIT_FINE) assert(number > 0);
    if (units_parse_size(text, &number) == UNIT_FINE) assert(number > 0);
    if (units_parse_duration(text, &number) == UNIT_FINE) assert(number > 0);
    if (units_parse_seed(text, &number) == UNIT_FINE) assert(number > 0);
    if (units_parse_probability(text, &probability) == UNIT_FINE)
        assert(probability > 0 && probability < 1);
    free(text);
    return 0;
}

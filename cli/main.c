/* main.c - where lethe begins and ends. */
#include "frame/command.h"
#include "output/output.h"

int main(int count, char **words) {
    output_begin();
    /* A caller may pass no words at all, not even the program's name. */
    int skipped = count > 0;
    return output_end(command_dispatch(count - skipped, words + skipped));
}

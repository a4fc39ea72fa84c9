/* check.c - `lethe check`: whether a store is sound. */
#include "frame/commands.h"
#include "store/kind.h"

int run_check(const struct arguments *arguments) {
    const struct store_kind *kind;
    const char *folder;
    int code = kind_find(arguments, &folder, &kind);
    return code != EXIT_DONE ? code : kind->check(folder, arguments_has(arguments, "json"));
}

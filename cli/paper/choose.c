/* paper/choose.c - figures by their names: for `lethe paper` and `lethe plan --simulate`. */
#include <stdio.h>
#include <string.h>

#include "frame/arguments.h"
#include "frame/suggest.h"
#include "paper/paper.h"

static const struct figure *find_figure(const struct figure *const *figures, const char *name) {
    for (const struct figure *const *row = figures; *row != NULL; row++) {
        if (strcmp((*row)->name, name) == 0) return *row;
    }
    return NULL;
}

void paper_list(const struct figure *const *figures, int width) {
    for (const struct figure *const *row = figures; *row != NULL; row++)
        printf("%-*s%s\n", width, (*row)->name, (*row)->title);
}

static int fail_unknown(const struct arguments *arguments, const struct figure *const *figures,
                        const char *name, const char *lister) {
    struct suggestion suggestion = suggestion_for(name);
    for (const struct figure *const *row = figures; *row != NULL; row++)
        suggestion_offer(&suggestion, (*row)->name);
    if (suggestion.best != NULL) {
        return arguments_fail(arguments, "no figure is called '%s'; did you mean '%s'?", name,
                              suggestion.best);
    }
    return arguments_fail(arguments, "no figure is called '%s'; '%s' lists them", name, lister);
}

int paper_choose(const struct arguments *arguments, const struct figure *const *figures,
                 const char *lister, bool *all) {
    *all = false;
    for (size_t i = 0; i < arguments->operand_count; i++) {
        const char *name = arguments->operands[i];
        bool is_all = strcmp(name, "all") == 0;
        *all = *all || is_all;
        if (!is_all && find_figure(figures, name) == NULL)
            return fail_unknown(arguments, figures, name, lister);
    }
    return EXIT_DONE;
}

int paper_make_figures(const struct arguments *arguments, const struct figure *const *figures,
                       bool all, const char *folder, unsigned scale) {
    bool quiet = arguments_has(arguments, "quiet");
    int code = paper_make_folder(folder);
    for (size_t i = 0; code == EXIT_DONE; i++) {
        if (all ? figures[i] == NULL : i == arguments->operand_count) break;
        if (i > 0) putchar('\n');
        const struct figure *figure =
            all ? figures[i] : find_figure(figures, arguments->operands[i]);
        code = paper_make_figure(figure, folder, quiet, scale);
    }
    return code;
}

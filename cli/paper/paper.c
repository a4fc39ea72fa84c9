/* paper/paper.c - `lethe paper`: makes figures of the papers again. */
#include "paper/paper.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/suggest.h"
#include "paper/figures.h"
#include "say/message.h"

#define FIGURE_ROW(name) &figure_##name,
static const struct figure *const figures[] = {FIGURES(FIGURE_ROW) NULL};

static const struct figure *find_figure(const char *name) {
    for (const struct figure *const *row = figures; *row != NULL; row++) {
        if (strcmp((*row)->name, name) == 0) return *row;
    }
    return NULL;
}

static void list_figures(void) {
    for (const struct figure *const *row = figures; *row != NULL; row++)
        printf("%-13s%s\n", (*row)->name, (*row)->title); /* "gbf-table-1" and two blanks */
}

static int fail_unknown(const struct arguments *arguments, const char *name) {
    struct suggestion suggestion = suggestion_for(name);
    for (const struct figure *const *row = figures; *row != NULL; row++)
        suggestion_offer(&suggestion, (*row)->name);
    if (suggestion.best != NULL) {
        return arguments_fail(arguments, "no figure is called '%s'; did you mean '%s'?", name,
                              suggestion.best);
    }
    return arguments_fail(arguments, "no figure is called '%s'; 'lethe paper' lists them", name);
}

static int make_folder(const char *folder) {
    if (mkdir(folder, 0777) == 0 || errno == EEXIST) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "cannot make the folder %s: %s; name another with --out",
                        folder, strerror(errno));
}

int paper_open(const char *folder, const struct figure *figure, const char *ending,
               char path[PAPER_PATH_BYTES], FILE **out) {
    *out = NULL;
    int length = snprintf(path, PAPER_PATH_BYTES, "%s/%s.%s", folder, figure->name, ending);
    if (length < 0 || length >= PAPER_PATH_BYTES) {
        return message_fail(EXIT_ENVIRONMENT, "the name of the folder is too long");
    }
    *out = fopen(path, "w");
    if (*out != NULL) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "cannot write %s: %s", path, strerror(errno));
}

int paper_close(FILE *file, const char *path) {
    bool failed = ferror(file) != 0;
    errno = 0;
    if (fclose(file) != 0) failed = true;
    if (!failed) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "cannot write %s: %s", path,
                        strerror(errno != 0 ? errno : EIO));
}

static int make_figure(const struct figure *figure, const char *folder, bool quiet, bool is_full) {
    static struct report report;
    memset(&report, 0, sizeof report);
    report.is_full = is_full;
    int code = figure->run(&report);
    if (code == EXIT_DONE && report.is_short) {
        code = message_fail(EXIT_ENVIRONMENT, "out of memory for the table of %s", figure->name);
    }
    bool drawn = false;
    if (code == EXIT_DONE) {
        report_print(figure, &report);
        code = report_write_csv(figure, &report, folder);
    }
    if (code == EXIT_DONE) code = plot_draw(figure, folder, &drawn);
    if (code == EXIT_DONE && !quiet) {
        message_note("wrote %s/%s.csv%s", folder, figure->name, drawn ? ", .gnuplot and .svg" : "");
    }
    report_free(&report);
    return code;
}

int run_paper(const struct arguments *arguments) {
    if (arguments->operand_count == 0) {
        list_figures();
        return EXIT_DONE;
    }
    bool all = arguments->operand_count == 1 && strcmp(arguments->operands[0], "all") == 0;
    for (size_t i = 0; !all && i < arguments->operand_count; i++) {
        if (find_figure(arguments->operands[i]) == NULL) {
            return fail_unknown(arguments, arguments->operands[i]);
        }
    }
    const char *folder = arguments_text(arguments, "out");
    if (folder == NULL) folder = "paper";
    int code = make_folder(folder);
    bool quiet = arguments_has(arguments, "quiet"), is_full = arguments_has(arguments, "full");
    const struct figure *const *next = all ? figures : NULL;
    for (; next != NULL && code == EXIT_DONE && *next != NULL; next++) {
        if (next != figures) putchar('\n');
        code = make_figure(*next, folder, quiet, is_full);
    }
    for (size_t i = 0; !all && code == EXIT_DONE && i < arguments->operand_count; i++) {
        if (i > 0) putchar('\n');
        code = make_figure(find_figure(arguments->operands[i]), folder, quiet, is_full);
    }
    return code;
}

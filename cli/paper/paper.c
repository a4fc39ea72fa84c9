/* paper/paper.c - `lethe paper`: makes figures of the papers again. */
#include "paper/paper.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "paper/figures.h"
#include "say/message.h"

enum { USUAL_SCALE = 256, MOST_SCALE = 1024 };

#define FIGURE_ROW(name) &figure_##name,
static const struct figure *const figures[] = {FIGURES(FIGURE_ROW) NULL};

int paper_make_folder(const char *folder) {
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

int paper_make_figure(const struct figure *figure, const char *folder, bool quiet, unsigned scale) {
    static struct report report;
    memset(&report, 0, sizeof report);
    report.scale = scale;
    int code = figure->run(&report);
    if (code == EXIT_DONE && report.is_short) {
        code = message_fail(EXIT_ENVIRONMENT, "out of memory for the table of %s", figure->name);
    }
    bool drawn = false;
    if (code == EXIT_DONE) {
        report_print(figure, &report);
        code = report_write_csv(figure, &report, folder);
    }
    if (code == EXIT_DONE) code = plot_draw(figure, &report, folder, &drawn);
    if (code == EXIT_DONE && !quiet) {
        message_note("wrote %s/%s.csv%s", folder, figure->name, drawn ? ", .gnuplot and .svg" : "");
    }
    report_free(&report);
    return code;
}

/* What divides the sizes of cf-3. They are powers of two, and so is the scale. */
static int scale_of(const struct arguments *arguments, unsigned *out) {
    uint64_t scale = *out;
    int code = arguments_count(arguments, "scale", 1, MOST_SCALE, &scale);
    if (code != EXIT_DONE) return code;
    if ((scale & (scale - 1)) != 0)
        return arguments_fail(arguments, "--scale is a power of two: 1, 2, 4, ... %d", MOST_SCALE);
    if (arguments_has(arguments, "full")) {
        if (arguments_has(arguments, "scale"))
            return arguments_fail(arguments, "--full is --scale 1; give one of them");
        scale = 1;
    }
    *out = (unsigned)scale;
    return EXIT_DONE;
}

int run_paper(const struct arguments *arguments) {
    if (arguments->operand_count == 0) {
        paper_list(figures, 13); /* "gbf-table-1" and two blanks */
        return EXIT_DONE;
    }
    bool all;
    int code = paper_choose(arguments, figures, "lethe paper", &all);
    if (code != EXIT_DONE) return code;
    const char *folder = arguments_text(arguments, "out");
    unsigned scale = USUAL_SCALE;
    code = scale_of(arguments, &scale);
    if (code != EXIT_DONE) return code;
    return paper_make_figures(arguments, figures, all, folder != NULL ? folder : "paper", scale);
}

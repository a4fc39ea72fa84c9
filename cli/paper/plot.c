/* paper/plot.c - has gnuplot draw a figure.
 *
 * The script is kept beside the picture, so that anybody can draw it differently. It names its
 * files without their folder and is run from there. */
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paper/paper.h"
#include "say/message.h"

/* What all pictures share. Colours are told apart in grey and by the colour-blind, and lines
 * have points of different shapes. The legend is below, so that the curves have the whole width. */
static const char opening[] =
    "set terminal svg size 860,520 font 'Helvetica,14' background 'white'\n"
    "set datafile separator ','\n"
    "set datafile missing ''\n"
    "set key below center horizontal Left reverse samplen 2.5 height 0.5 spacing 1.2\n"
    "set title font ',16'\n"
    "set grid lc rgb '#dddddd' lw 1\n"
    "set border 3 lc rgb '#444444'\n"
    "set tics nomirror\n"
    "set style line 1 lc rgb '#0072b2' lw 2 pt 7 ps 0.6\n"
    "set style line 2 lc rgb '#d55e00' lw 2 pt 5 ps 0.6\n"
    "set style line 3 lc rgb '#009e73' lw 2 pt 9 ps 0.8\n"
    "set style line 4 lc rgb '#cc79a7' lw 2 pt 11 ps 0.8\n"
    "set style line 5 lc rgb '#777777' lw 2 pt 6 ps 0.7\n"
    "set style line 6 lc rgb '#000000' lw 1.5 pt 4 ps 0.8\n";

static int write_script(const struct figure *figure, const struct report *report,
                        const char *folder) {
    char path[PAPER_PATH_BYTES];
    FILE *file;
    int code = paper_open(folder, figure, "gnuplot", path, &file);
    if (code != EXIT_DONE) return code;
    fprintf(file, "# Draws %s.svg from %s.csv, in this folder.\n%s", figure->name, figure->name,
            opening);
    fprintf(file, "data = '%s.csv'\nset output '%s.svg'\n", figure->name, figure->name);
    if (report->picture_note != NULL) {
        fprintf(file, "set label 1 '%s' at graph 0.02, graph 0.96 textcolor rgb '#d55e00'\n",
                report->picture_note);
    }
    fputs(figure->plot, file);
    return paper_close(file, path);
}

/* cd 'FOLDER' in gnuplot's language, where a quote within quotes is doubled. */
static bool format_cd(const char *folder, char text[PAPER_PATH_BYTES]) {
    size_t length = 0;
    for (const char *at = "cd '"; *at != '\0'; at++)
        text[length++] = *at;
    for (; *folder != '\0'; folder++) {
        if (length + 4 > PAPER_PATH_BYTES) return false;
        text[length++] = *folder;
        if (*folder == '\'') text[length++] = '\'';
    }
    text[length++] = '\'';
    text[length] = '\0';
    return true;
}

static int fail_gnuplot(const struct figure *figure, int status) {
    return message_fail(EXIT_ENVIRONMENT,
                        "gnuplot did not draw %s (status %d); run it on %s.gnuplot", figure->name,
                        status, figure->name);
}

int plot_draw(const struct figure *figure, const struct report *report, const char *folder,
              bool *drawn) {
    *drawn = false;
    if (report->row_count == 0) return EXIT_DONE;
    int code = write_script(figure, report, folder);
    if (code != EXIT_DONE) return code;
    char program[] = "gnuplot", flag[] = "-e", cd[PAPER_PATH_BYTES], script[64];
    if (!format_cd(folder, cd)) return fail_gnuplot(figure, 0);
    snprintf(script, sizeof script, "%s.gnuplot", figure->name);
    char *words[] = {program, flag, cd, script, NULL};
    pid_t child;
    int error = posix_spawnp(&child, program, NULL, NULL, words, environ);
    if (error == ENOENT) {
        message_note(
            "gnuplot is not installed, so there is no picture of %s; the package is called "
            "gnuplot or gnuplot-nox",
            figure->name);
        return EXIT_DONE;
    }
    if (error != 0) return fail_gnuplot(figure, error);
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return fail_gnuplot(figure, errno);
    }
    /* 127 is what some systems' spawn ends with when there is no such program. */
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail_gnuplot(figure, status);
    *drawn = true;
    return EXIT_DONE;
}

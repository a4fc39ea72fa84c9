/* help.h - a command's description as text, as a man page, as Markdown, and as completions.
 *
 * All of them are written from struct command alone (command.h). */
#ifndef LETHE_CLI_FRAME_HELP_H
#define LETHE_CLI_FRAME_HELP_H

#include <stdio.h>

#include "frame/command.h"

/* All that there is to say, for a terminal. */
void help_print(const struct command *command, FILE *stream);

/* Prints all of it to standard output, through a pager where that is a terminal and too short. */
void help_show(const struct command *command);

/* How the command is used, its parts if it has any, and where to read more. */
void help_print_short(const struct command *command, FILE *stream);

/* A man page in the language of man(7). */
void man_page_print(const struct command *command, FILE *stream);

/* A page of the site, in Markdown. */
void markdown_print(const struct command *command, FILE *stream);

/* The completion function of one shell for all commands. */
void completion_print_bash(FILE *stream);
void completion_print_zsh(FILE *stream);
void completion_print_fish(FILE *stream);

/* The exit statuses that are alike for every command, as code and meaning; ends with a NULL. */
struct exit_meaning {
    int code;
    const char *meaning;
};
extern const struct exit_meaning exit_meanings[];

#endif

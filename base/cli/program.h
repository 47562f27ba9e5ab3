#pragma once
/*
 * What a program and its commands are called in what it prints.
 *
 * In the build tree and in a board's tarball the programs are `agent` and `collector`. Installed,
 * they are `heapcast-agent` and `heapcast-collector`, and people start both as `heapcast COMMAND`.
 * Sources write every command as `agent run` or `collector top`. Who was started as heapcast prints
 * `heapcast run` and `heapcast top` instead, so a hint can be typed as it stands.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct buf;

enum program_side { PROGRAM_NONE, PROGRAM_AGENT, PROGRAM_COLLECTOR };

/* argv[0] of a program that `heapcast` starts: for `heapcast COMMAND` and `heapcast agent COMMAND`.
 */
#define PROGRAM_HEAPCAST       "heapcast"
#define PROGRAM_HEAPCAST_AGENT "heapcast agent"

/* Says how this program was started. `own`: its name in the sources, "agent" or "collector".
 * Without this call, names are printed as they stand. */
void program_started(const char *argv0, const char *own);
/* Returns what messages begin with: "collector", "agent" or "heapcast". */
const char *program_title(void);
/* Appends `text`, with each command as it has to be typed here. What stands behind two blanks or
 * more keeps its column, as far as there are blanks. */
void program_words(struct buf *out, const char *text);
/* The same into `out`, which holds `size` bytes; what does not fit is cut off. Returns `out`. */
const char *program_text(char *out, size_t size, const char *text);
/* Prints it. */
void program_print(FILE *out, const char *text);
/* Prints a message, wrapped if `out` is standard error and a terminal (wrap.h). Returns the number
 * of bytes without what wrapping adds. */
int program_printf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
int program_vprintf(FILE *out, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Finds a program beside this one, under its installed name or that of the build. `path` holds
 * PATH_MAX bytes. Returns 0, or -ENOENT; then it is where the installed one would be. */
int program_beside(enum program_side side, char *path);
/* Returns the program that has `heapcast COMMAND`. What both have is the collector's. */
enum program_side program_of(const char *command);
/* Calls `visit` for each command of `heapcast` and of `heapcast agent`. */
void program_each(void (*visit)(void *context, const char *command), void *context);

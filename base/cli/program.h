#pragma once
/*
 * The names of programs and commands in printed text.
 *
 * In the build tree and in a board's tarball the programs are `agent` and `collector`. Installed,
 * they are `heapcast-agent` and `heapcast-collector`, and people start both as `heapcast COMMAND`.
 * Sources write every command as `agent run` or `collector top`. A program that was started as
 * heapcast prints `heapcast run` and `heapcast top` instead, so a user can type a hint as printed.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct buf;

enum program_side { PROGRAM_NONE, PROGRAM_AGENT, PROGRAM_COLLECTOR };

/* argv[0] of a program that `heapcast COMMAND` or `heapcast agent COMMAND` starts. */
#define PROGRAM_HEAPCAST       "heapcast"
#define PROGRAM_HEAPCAST_AGENT "heapcast agent"

/* Records how this program was started. `own` is its name in the sources, "agent" or "collector".
 * Without this call, texts keep the names of the sources. */
void program_started(const char *argv0, const char *own);
/* Returns the name that messages begin with: "collector", "agent" or "heapcast". */
const char *program_title(void);
/* Appends `text`, with each command as the user has to type it. Text after two or more blanks keeps
 * its column where the blanks suffice. */
void program_words(struct buf *out, const char *text);
/* Does the same into `out`, which has room for `size` bytes. Cuts off text that does not fit.
 * Returns `out`. */
const char *program_text(char *out, size_t size, const char *text);
/* Does the same and prints the result. */
void program_print(FILE *out, const char *text);
/* Prints a message, and wraps it if `out` is standard error and a terminal (wrap.h). Returns the
 * number of bytes, not counting those that wrapping adds. */
int program_printf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
int program_vprintf(FILE *out, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Finds a program beside this one, under its installed or its build name. `path` has room for
 * PATH_MAX bytes. Returns 0, or -ENOENT; `path` is then where an installed program would be. */
int program_beside(enum program_side side, char *path);
/* Returns the program that implements `heapcast COMMAND`. If both do, it is the collector. */
enum program_side program_of(const char *command);
/* Calls `visit` for each command of `heapcast` and of `heapcast agent`. */
void program_each(void (*visit)(void *context, const char *command), void *context);

#pragma once
/*
 * The log of a program of ours, on standard error or in a file: `time level text`. Libraries do not
 * call this; the mains of agent and collector, and what runs unattended in them, do.
 */
#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

/* `level` as written by a person (off, error, warn, info, debug, trace) and where to; NULL:
 * standard error. 0 or errno. */
int log_open(const char *level, const char *path);
/* Opens the file anew under its name: whoever turns logs has moved it. 0 or errno, and the log goes
 * on where it was. */
int log_reopen(void);
/* Begins a new file when this one is larger than so many bytes (0: never). The first is kept as
 * PATH.initial, so that the beginning is never lost, the last before this one as PATH.old. */
void log_limit(uint64_t bytes);
bool log_wants(enum log_level level);
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...)                                                                             \
	do {                                                                                       \
		if (log_wants(LOG_DEBUG))                                                          \
			log_write(LOG_DEBUG, __VA_ARGS__);                                         \
	} while (0)

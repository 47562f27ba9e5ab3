#pragma once
/*
 * The log of the agent and the collector, on standard error or in a file. A line reads `time level
 * text`. The main programs and their unattended parts write to it; libraries do not.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

/*
 * Sets the level (off, error, warn, info, debug or trace) and the file; a NULL `path` selects
 * standard error. Returns 0, -EINVAL for an unknown level, or another negative errno.
 */
int log_open(const char *level, const char *path);
/*
 * Opens the log file again by its name after an external program has rotated it. Returns 0 or a
 * negative errno; on failure the log continues in the previous file.
 */
int log_reopen(void);
/*
 * Rotates the log file when it exceeds `bytes` (0 means never). The first file is kept as
 * PATH.initial, so the start of the log is never lost. The most recent previous file is kept as
 * PATH.old.
 */
void log_limit(uint64_t bytes);
/* Installs a function that rewrites each text into `out`, `size` bytes, and returns `out`. */
void log_words(const char *(*words)(char *out, size_t size, const char *text));
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

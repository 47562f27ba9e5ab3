#pragma once
/* `collector symbols add` of a recording: adds the binaries that the recording contains (`collector
 * pack --with-binaries`). */
#include <stdbool.h>
#include <stddef.h>

/* Tells whether the file begins like a recording. */
bool symbols_is_recording(const char *path);
/* Adds the binaries to the store of symbol files at `folder`. Prints on standard error which ones
 * cannot be used, and why. */
void symbols_add_brought(const char *folder, const char *path, size_t *added, size_t *known,
			 size_t *failed);

#pragma once
/* `collector symbols add` of a recording: takes the binaries that it has (`collector pack
 * --with-binaries`). */
#include <stdbool.h>
#include <stddef.h>

/* Tells whether the file begins as a recording does. */
bool symbols_is_recording(const char *path);
/* Puts the binaries into the store of symbol files at `folder`. Says on standard error which can't
 * be used, and why. */
void symbols_add_brought(const char *folder, const char *path, size_t *added, size_t *known,
			 size_t *failed);

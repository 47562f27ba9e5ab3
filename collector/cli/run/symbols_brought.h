#pragma once
/* `collector symbols add` of a recording: the binaries that it brings along (`collector pack
 * --with-binaries`). */
#include <stdbool.h>
#include <stddef.h>

/* It begins as a recording does. */
bool symbols_is_recording(const char *path);
/* Puts them into the store of symbol files at `folder`, and says on standard error which can't be
 * taken, and why. */
void symbols_add_brought(const char *folder, const char *path, size_t *added, size_t *known,
			 size_t *failed);

/*
 * Demangles with libiberty: Itanium C++, both manglings of Rust, and D.
 *
 * Back references let a mangled name of a few bytes expand to gigabytes. The callback interfaces
 * are therefore used, and output beyond the limit is dropped. D has no callback interface, so only
 * short D names are demangled.
 */
#include "collector/symbols/demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

#define MANGLED_MAX   8192
#define MANGLED_D_MAX 1024
#define OPTIONS	      (DMGL_PARAMS | DMGL_ANSI)

/*
 * By default libiberty refuses C++ names above 1024 bytes, but names of templates are often longer.
 * The length bounds the recursion, for which the stack suffices.
 */
#define OPTIONS_CXX (OPTIONS | DMGL_NO_RECURSE_LIMIT)

struct sink {
	char *to;
	size_t length;
	bool cut;
};

static void demangle_collect(const char *text, size_t length, void *context)
{
	struct sink *sink = context;
	size_t room = DEMANGLED_MAX - 1 - sink->length;

	if (length > room) {
		length = room;
		sink->cut = true;
	}
	memcpy(sink->to + sink->length, text, length);
	sink->length += length;
}

/* Ends a cut name in dots, and never in the middle of a character. */
static void end_cut(struct sink *sink)
{
	size_t at = DEMANGLED_MAX - 4;

	while (at && ((uint8_t)sink->to[at] & 0xc0) == 0x80)
		at--;
	memcpy(sink->to + at, "...", 3);
	sink->length = at + 3;
}

static bool demangle_d(const char *name, struct sink *sink)
{
	cleanup(cleanup_free) char *text = NULL;

	if (strncmp(name, "_D", 2) || strlen(name) > MANGLED_D_MAX)
		return false;
	text = dlang_demangle(name, OPTIONS);
	if (text)
		demangle_collect(text, strlen(text), sink);
	return text;
}

bool demangle_into(const char *name, char to[DEMANGLED_MAX])
{
	struct sink sink = {.to = to};
	bool done;

	if (name[0] != '_' || strnlen(name, MANGLED_MAX) == MANGLED_MAX)
		return false;
	done = rust_demangle_callback(name, OPTIONS, demangle_collect, &sink);
	if (!done) {
		sink.length = 0;
		done = cplus_demangle_v3_callback(name, OPTIONS_CXX, demangle_collect, &sink);
	}
	if (!done) {
		sink.length = 0;
		done = demangle_d(name, &sink);
	}
	if (!done)
		return false;
	if (sink.cut)
		end_cut(&sink);
	to[sink.length] = 0;
	return sink.length > 0;
}

char *symbols_demangle(const char *name)
{
	char text[DEMANGLED_MAX];

	return demangle_into(name, text) ? strdup(text) : NULL;
}

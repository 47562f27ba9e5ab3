/* Tells files of other tools by their first bytes. See foreign.h. */
#include "collector/formats/foreign.h"

#include <stdbool.h>
#include <string.h>

#include "base/ban.h"

/* `begins` are the first bytes, and `has` occurs somewhere in the head (NULL: not needed). Sources:
 * valgrind 3.19, perf, and our own exports. */
static const struct foreign {
	const char *begins, *has, *is;
} foreigns[] = {
	{"desc: ", "\ntime_unit: ", "a file of massif"},
	{"----------", "\nMassif arguments: ", "what ms_print prints of a file of massif"},
	{"# callgrind format", NULL, "a file of callgrind"},
	{"version: ", "\ncreator: callgrind", "a file of callgrind"},
	{"desc: ", "\nevents: ", "a file of cachegrind"},
	{"{\"dhatFileVersion\"", NULL, "a file of DHAT"},
	{"==", "== Memcheck, ", "a log of memcheck"},
	{"PERFILE2", NULL, "a file of perf"},
	{"<?xml", "<svg", "a picture"},
	{"<svg", NULL, "a picture"},
	{"<!DOCTYPE html", NULL, "a page for the browser"},
	{"<!doctype html", NULL, "a page for the browser"},
	{"digraph", NULL, "a graph for dot"},
	{"{\"$schema\"", "speedscope", "a file for speedscope"},
};

static bool foreign_has(const uint8_t *head, size_t length, const char *text)
{
	return memmem(head, length, text, strlen(text)) != NULL;
}

const char *format_foreign(const uint8_t *head, size_t length)
{
	for (size_t i = 0; i < sizeof(foreigns) / sizeof(foreigns[0]); i++) {
		const struct foreign *f = &foreigns[i];
		size_t n = strlen(f->begins);

		if (length >= n && !memcmp(head, f->begins, n) &&
		    (!f->has || foreign_has(head, length, f->has)))
			return f->is;
	}
	return NULL;
}

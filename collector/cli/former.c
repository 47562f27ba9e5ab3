/* Recognizes our own files by content and name. See former.h. */
#include "collector/cli/former.h"
#include "collector/recording/file.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/ban.h"

#define HEAD_BYTES 4096

enum {
	PICTURE = FORMER_RESULT,
	FLAME_PAGE,
	ANALYSIS_PAGE,
	PDF,
	DOT,
	MASSIF,
	JEMALLOC,
	GPERFTOOLS,
	HEAPTRACK,
	MEMTRACER,
	SPEEDSCOPE,
	JSON,
	CSV,
	REPLAY,
	PPROF,
	COLLAPSED,
};

/* One line per way to recognize a format: by its first bytes, by the end of the file's name, or by
 * both. */
static const struct former {
	int kind;
	const char *begins, *has; /* `has`: must also occur in the head */
	const char *ends;	  /* end of the file's name */
} formers[] = {
	{PICTURE, "<?xml", "<svg", NULL},
	{PICTURE, "<svg", NULL, NULL},
	{FLAME_PAGE, "<!doctype html", "<title>heapcast</title>", NULL},
	{ANALYSIS_PAGE, "<!doctype html", " - allocations</title>", NULL},
	{PDF, "%PDF-", NULL, NULL},
	{DOT, "digraph heapcast ", NULL, NULL},
	{MASSIF, "desc: ", "\ntime_unit: ", NULL},
	{JEMALLOC, "heap_v2/", NULL, NULL},
	{JEMALLOC, "%warn ", "\nheap_v2/", NULL},
	{GPERFTOOLS, "heap profile: ", NULL, NULL},
	{GPERFTOOLS, "%warn ", "\nheap profile: ", NULL},
	{HEAPTRACK, "v ", "\nX ", NULL},
	{MEMTRACER, "Memory Tracer. Recorded ", NULL, NULL},
	{SPEEDSCOPE, "{\"$schema\"", "speedscope", NULL},
	{JSON, "{", NULL, ".json"},
	{JSON, "[", NULL, ".json"},
	{JSON, "{", NULL, ".jsonl"},
	{JSON, "{", NULL, ".ndjson"},
	{CSV, NULL, NULL, ".csv"},
	{REPLAY, NULL, NULL, ".replay"},
	{PPROF, "\x1f\x8b", NULL, ".pb.gz"},
	{PPROF, "\x1f\x8b", NULL, ".pprof"},
	{PPROF, "\x1f\x8b", NULL, ".prof"},
};

static bool former_ends(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n >= m && !strcasecmp(path + n - m, end);
}

static bool former_is(const struct former *f, const char *head, size_t length, const char *path)
{
	return (!f->begins ||
		(length >= strlen(f->begins) && !memcmp(head, f->begins, strlen(f->begins)))) &&
	       (!f->has || memmem(head, length, f->has, strlen(f->has))) &&
	       (!f->ends || former_ends(path, f->ends));
}

/* Recognizes collapsed stacks: each line ends with a blank and digits. */
static bool is_collapsed(const char *head, size_t length)
{
	const char *end;
	bool any = false;

	for (; (end = memchr(head, '\n', length));
	     length -= (size_t)(end + 1 - head), head = end + 1) {
		const char *p = end;

		while (p > head && p[-1] >= '0' && p[-1] <= '9')
			p--;
		if (p == end || p - head < 2 || p[-1] != ' ')
			return false;
		any = true;
	}
	return any;
}

int former_kind(int fd, const char *path)
{
	char head[HEAD_BYTES];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	if (n <= 0)
		return n ? FORMER_OTHER : FORMER_EMPTY;
	if (recording_file_is(head, (size_t)n))
		return FORMER_RECORDING;
	for (size_t i = 0; i < sizeof(formers) / sizeof(formers[0]); i++)
		if (former_is(&formers[i], head, (size_t)n, path))
			return formers[i].kind;
	return is_collapsed(head, (size_t)n) ? COLLAPSED : FORMER_OTHER;
}

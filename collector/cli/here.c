/* Finds recordings in a folder, and prints them. See here.h. */
#include "collector/cli/here.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/parse.h"
#include "collector/cli/terminal.h"
#include "collector/recording/glance.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define SUFFIX	  ".heapcast"
#define NAMED	  4    /* number of names in a message */
#define SHOWN_MAX 1000 /* maximum number of files that a list examines */

/* ---- finding ---- */

static bool here_is_recording(DIR *folder, const char *name, struct stat *ret_st)
{
	size_t length = strlen(name);

	return length > strlen(SUFFIX) && *name != '.' &&
	       !strcmp(name + length - strlen(SUFFIX), SUFFIX) &&
	       !fstatat(dirfd(folder), name, ret_st, 0) && S_ISREG(ret_st->st_mode) &&
	       ret_st->st_size && !faccessat(dirfd(folder), name, R_OK, 0);
}

static int here_add(struct here_list *l, size_t *capacity, const char *folder, const char *name,
		    const struct timespec *changed)
{
	size_t length = strlen(folder);
	char *path;

	if (l->count == *capacity) {
		size_t more = *capacity * 2 + 16;
		struct here_file *list = realloc(l->list, more * sizeof(*list));

		if (!list)
			return -ENOMEM;
		l->list = list;
		*capacity = more;
	}
	if ((!strcmp(folder, ".") ? asprintf(&path, "%s", name)
				  : asprintf(&path, "%s%s%s", folder,
					     folder[length - 1] == '/' ? "" : "/", name)) < 0)
		return -ENOMEM;
	l->list[l->count++] = (struct here_file){path, *changed};
	return 0;
}

static int here_by_time(const void *a, const void *b)
{
	const struct here_file *x = a, *y = b;

	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec > y->changed.tv_sec ? -1 : 1;
	if (x->changed.tv_nsec != y->changed.tv_nsec)
		return x->changed.tv_nsec > y->changed.tv_nsec ? -1 : 1;
	return strcmp(x->path, y->path);
}

int here_find(const char *path, struct here_list *ret)
{
	DIR *folder = opendir(path);
	struct here_list l = {0};
	struct dirent *entry;
	size_t capacity = 0;
	struct stat st;
	int r = 0;

	while (folder && !r && (entry = readdir(folder)))
		if (here_is_recording(folder, entry->d_name, &st))
			r = here_add(&l, &capacity, path, entry->d_name, &st.st_mtim);
	if (folder)
		closedir(folder);
	if (r < 0) {
		here_done(&l);
		return r;
	}
	if (l.count)
		qsort(l.list, l.count, sizeof(*l.list), here_by_time);
	*ret = l;
	return 0;
}

void here_done(struct here_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i].path);
	free(l->list);
	*l = (struct here_list){0};
}

const char *here_of_pid(const struct here_list *l, const char *pid)
{
	size_t length = strlen(pid);

	for (size_t i = 0; i < l->count; i++) {
		const char *at = strrchr(l->list[i].path, '_');

		if (at && !strncmp(at + 1, pid, length) && strchr(".-", at[1 + length]))
			return l->list[i].path;
	}
	return NULL;
}

void here_names(const struct here_list *l, char *out, size_t size)
{
	size_t used = 0, i;

	out[0] = '\0';
	for (i = 0; i < l->count && i < NAMED; i++) {
		int n = snprintf(out + used, size - used, "%s%.80s", i ? " " : "", l->list[i].path);

		if (n < 0 || used + (size_t)n >= size)
			break;
		used += (size_t)n;
	}
	if (l->count > i)
		snprintf(out + used, size - used, " and %zu more", l->count - i);
}

/* ---- printing ---- */

static const char *end_words(char *out, size_t size, const struct glance *g)
{
	static const char *const states[] = {
		[GLANCE_GROWING] = "recording",
		[GLANCE_BROKEN_OFF] = "broken off",
		[GLANCE_ENDED] = "ended",
		[GLANCE_IMPORTED] = "imported",
	};

	if (g->state == GLANCE_ENDED && g->end_kind == HEAPCAST__END_KIND__END_EXITED)
		snprintf(out, size, "exit %u", g->end_status);
	else if (g->state == GLANCE_ENDED && g->end_kind == HEAPCAST__END_KIND__END_SIGNALLED)
		snprintf(out, size, "signal %u", g->end_status);
	else if (g->state == GLANCE_ENDED && g->end_kind == HEAPCAST__END_KIND__END_OOM_KILLED)
		snprintf(out, size, "no memory");
	else if (g->state == GLANCE_ENDED && g->end_kind == HEAPCAST__END_KIND__END_DETACHED)
		snprintf(out, size, "detached");
	else
		snprintf(out, size, "%s", states[g->state]);
	return out;
}

static void print_file(const struct here_file *file)
{
	char when[32] = "-", took[32] = "-", peak[32] = "-", end[32];
	unsigned used, width, name = terminal_columns(file->path);
	struct glance g;
	struct tm local;
	time_t seconds;
	bool folded;

	if (glance_at(file->path, &g) < 0)
		g = (struct glance){.program = "?", .state = GLANCE_BROKEN_OFF};
	seconds = (time_t)(g.start_wall_ns / 1000000000);
	if (seconds && localtime_r(&seconds, &local))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &local);
	if (g.last_ns)
		format_duration(took, g.last_ns);
	if (g.rss_peak)
		format_size(peak, (double)g.rss_peak);
	used = (unsigned)printf("%-16s ", when);
	used += terminal_text(STYLE_PLAIN, g.program, 14);
	terminal_blanks(used < 31 ? 31 - used : 0);
	used = 31 +
	       (unsigned)printf(" %9s %9s %-10s ", took, peak, end_words(end, sizeof(end), &g));
	terminal_name_ways(&width, &folded);
	if (width && used + name > width)
		used = (unsigned)printf("\n  ");
	terminal_line(STYLE_PLAIN, file->path, 0);
}

void here_print(const struct here_list *l)
{
	size_t shown = l->count < SHOWN_MAX ? l->count : SHOWN_MAX;

	program_printf(stdout, "Files; 'collector report FILE' opens one:\n");
	if (l->count > shown)
		printf("(the newest %zu of %zu)\n", shown, l->count);
	printf("%-16s %-14s %9s %9s %-10s %s\n", "STARTED", "PROGRAM", "TOOK", "PEAK RSS", "END",
	       "FILE");
	for (size_t i = shown; i--;)
		print_file(&l->list[i]);
}

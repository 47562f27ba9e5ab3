/* Shows on a terminal how far a command is. See progress.h. */
#include "collector/cli/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/write.h"
#include "collector/cli/terminal.h"
#include "base/ban.h"

#define SECOND_NS  1000000000u
#define TURN_MS	   200
#define REST_AFTER 2 /* seconds of work, and percent of it, before the rest is estimated */
#define TEXT_MAX   256
#define ERASE	   "\r\033[K"

static struct {
	pthread_mutex_t lock;
	enum { PROGRESS_NEW, PROGRESS_ON, PROGRESS_NEVER } state;
	const char *work, *part;   /* NULL: none */
	uint64_t done, of;	   /* of the part: how much is done, and its total */
	uint64_t work_ns, part_ns; /* when the work and the part began */
	uint64_t first_ns;	   /* when the command's first work began */
	bool drawn;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t progress_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* ---- the line (the lock is held) ---- */

static void progress_wipe(void)
{
	if (progress.drawn)
		write_all(STDERR_FILENO, ERASE, strlen(ERASE));
	progress.drawn = false;
}

/* Formats whole seconds, or minutes and seconds. */
static char *progress_time(char *out, uint64_t ns)
{
	if (ns < 60ull * SECOND_NS)
		snprintf(out, 32, "%u s", (unsigned)(ns / SECOND_NS));
	else
		snprintf(out, 32, "%u min %02u s", (unsigned)(ns / SECOND_NS / 60),
			 (unsigned)(ns / SECOND_NS % 60));
	return out;
}

static void progress_line(char *out, size_t size, uint64_t now)
{
	const char *what = progress.part ? progress.part : progress.work;
	uint64_t spent_ns = now - (progress.part ? progress.part_ns : progress.work_ns);
	unsigned percent = 0;
	char spent[32], rest[32];
	int n = snprintf(out, size, "%s", what);

	if (progress.part && progress.of) {
		percent = (unsigned)((double)progress.done * 100 / (double)progress.of);
		n += snprintf(out + n, size - (size_t)n, " %u %%", percent);
	}
	n += snprintf(out + n, size - (size_t)n, ", %s", progress_time(spent, spent_ns));
	if (percent >= REST_AFTER && spent_ns >= REST_AFTER * (uint64_t)SECOND_NS) {
		double rest_ns = (double)spent_ns * (double)(progress.of - progress.done) /
				 (double)progress.done;

		snprintf(out + n, size - (size_t)n, ", about %s more",
			 progress_time(rest, (uint64_t)rest_ns + SECOND_NS));
	}
}

static void progress_draw(void)
{
	char line[TEXT_MAX], text[TEXT_MAX + sizeof(ERASE)];
	uint64_t now = progress_clock_ns();

	if ((!progress.part && !progress.work) || now - progress.first_ns < SECOND_NS)
		return;
	progress_line(line, sizeof(line), now);
	snprintf(text, sizeof(text), ERASE "%.*s", (int)terminal_width() - 1, line);
	write_all(STDERR_FILENO, text, strlen(text));
	progress.drawn = true;
}

/* ---- the thread ---- */

static void *progress_run(void *context)
{
	const struct timespec turn = {.tv_nsec = TURN_MS * 1000000};

	(void)context;
	for (bool on = true; on;) {
		nanosleep(&turn, NULL);
		pthread_mutex_lock(&progress.lock);
		on = progress.state == PROGRESS_ON;
		if (on)
			progress_draw();
		pthread_mutex_unlock(&progress.lock);
	}
	return NULL;
}

/* Starts the thread. Other threads handle the signals. */
static bool progress_start(void)
{
	sigset_t all, before;
	pthread_t thread;
	bool ok;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = !pthread_create(&thread, NULL, progress_run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ok)
		pthread_detach(thread);
	return ok;
}

/* The caller holds the lock. */
static bool progress_is_on(void)
{
	const char *term = getenv("TERM");

	if (progress.state == PROGRESS_NEW) {
		progress.first_ns = progress_clock_ns();
		progress.state = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 &&
						 progress_start()
					 ? PROGRESS_ON
					 : PROGRESS_NEVER;
	}
	return progress.state == PROGRESS_ON;
}

/* ---- reporting progress ---- */

int progress_show(void *what, uint64_t done, uint64_t of)
{
	bool ends = of && done >= of;

	pthread_mutex_lock(&progress.lock);
	if (progress_is_on()) {
		if (!progress.part || progress.part != what)
			progress.part_ns = progress_clock_ns();
		progress.part = ends ? NULL : what;
		progress.done = done;
		progress.of = of;
		if (ends && !progress.work)
			progress_wipe();
	}
	pthread_mutex_unlock(&progress.lock);
	return 0;
}

void progress_work(const char *what)
{
	pthread_mutex_lock(&progress.lock);
	if (progress_is_on()) {
		if (!progress.work || !what)
			progress.work_ns = progress_clock_ns();
		progress.work = what;
		progress.part = NULL;
		if (!what)
			progress_wipe();
	}
	pthread_mutex_unlock(&progress.lock);
}

void progress_erase(void)
{
	pthread_mutex_lock(&progress.lock);
	progress_wipe();
	pthread_mutex_unlock(&progress.lock);
}

void progress_never(void)
{
	pthread_mutex_lock(&progress.lock);
	progress_wipe();
	progress.state = PROGRESS_NEVER;
	pthread_mutex_unlock(&progress.lock);
}

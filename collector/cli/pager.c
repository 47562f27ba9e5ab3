/* Shows long answers in a pager. See pager.h. */
#include "collector/cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/spawn.h"
#include "base/write.h"
#include "collector/cli/progress.h"
#include "base/ban.h"

#define WORDS_MAX 16
#define ROWS	  24 /* default for a terminal without a size */
#define COLUMNS	  80
/* The shell runs a command that contains one of these. */
#define OF_SHELL "|&;<>()$`\\\"'\n*?[#~=%{}!"

extern char **environ;

enum pager_state {
	PAGER_OFF,
	PAGER_HOLDS,  /* text is held back */
	PAGER_SHOWS,  /* text goes to the pager */
	PAGER_LEFT,   /* the user has left the pager: text is dropped */
	PAGER_DIRECT, /* no pager: text goes to the terminal */
};

static struct pager {
	enum pager_state state;
	FILE *out, *err;	/* the original streams; NULL: not a terminal */
	char *command;		/* NULL: less, if installed */
	struct buf held;	/* held text, in state PAGER_HOLDS */
	unsigned rows, columns; /* size of the screen */
	unsigned row, column;	/* where the held text ends on the screen */
	bool in_escape;
	int to;	   /* in state PAGER_SHOWS: the pager's standard input */
	pid_t pid; /* 0: none was started */
	int error; /* error of writing to the terminal */
} pager;

/* ---- the process ---- */

/* Splits the command into words, in place. Returns their number, or 0 if the shell has to run the
 * command. */
static int pager_split(char *command, const char *words[WORDS_MAX + 1])
{
	int n = 0;
	char *rest = command;

	if (strpbrk(command, OF_SHELL))
		return 0;
	for (char *word; n < WORDS_MAX && (word = strtok_r(rest, " \t", &rest));)
		words[n++] = word;
	words[n] = NULL;
	return n;
}

/* Returns 0 or a negative errno, which is -ENOENT if the program is missing. */
static int pager_spawn(int input)
{
	cleanup(cleanup_free) char *copy = strdup(pager.command ? pager.command : "less -FRX");
	const char *words[WORDS_MAX + 1];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int r;

	if (!copy)
		return -ENOMEM;
	if (!pager_split(copy, words)) {
		words[0] = "/bin/sh";
		words[1] = "-c";
		words[2] = copy;
		words[3] = NULL;
	}
	/* Like git, sets the defaults unless the user did: colours, and no pager for a short
	 * text. */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	sigfillset(&defaults);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	r = -posix_spawnp(&pager.pid, words[0], &actions, &attributes,
			  (char *const *)(uintptr_t)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (r < 0)
		pager.pid = 0;
	return r;
}

/* Starts the pager. From then on Ctrl-C goes to the pager alone. Otherwise this program could end
 * first, and the shell would take the terminal from the pager. */
static int pager_start(void)
{
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = pager_spawn(ends[0]);
	close(ends[0]);
	if (r < 0) {
		close(ends[1]);
		return r;
	}
	pager.to = ends[1];
	progress_never(); /* the pager owns the screen */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	return 0;
}

/* ---- the text ---- */

static void pager_put(int fd, const void *data, size_t length)
{
	int r;

	if (pager.state == PAGER_SHOWS && write_all(pager.to, data, length) < 0)
		pager.state = PAGER_LEFT;
	if (pager.state == PAGER_DIRECT && length) {
		progress_erase();
		r = write_all(fd, data, length);
		if (r < 0)
			pager.error = r;
	}
}

/* Computes where the text ends on the screen. Escape sequences, and all but the first byte of a
 * character, take no column. */
static void pager_measure(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		char c = text[i];

		if (pager.in_escape) {
			pager.in_escape = c == '[' || c == ';' || (c >= '0' && c <= '9');
		} else if (c == '\033') {
			pager.in_escape = true;
		} else if (c == '\n') {
			pager.row++;
			pager.column = 0;
		} else if (((uint8_t)c & 0xc0) != 0x80 && ++pager.column > pager.columns) {
			pager.row++;
			pager.column = 1;
		}
	}
}

/* Stops holding text back, and sends it to the pager, or to the terminal if there is none. */
static void pager_release(bool is_long)
{
	int r = is_long ? pager_start() : 0;

	pager.state = is_long && !r ? PAGER_SHOWS : PAGER_DIRECT;
	if (r < 0 && pager.command)
		fprintf(pager.err ? pager.err : stderr, "%s: the pager '%s' can't be started: %s\n",
			program_title(), pager.command, strerror(-r));
	progress_erase();
	pager_put(STDOUT_FILENO, pager.held.data, pager.held.length);
	buf_done(&pager.held);
}

/* Writes text for the descriptor to which `context` points. */
static ssize_t pager_write(void *context, const char *data, size_t length)
{
	if (pager.state != PAGER_HOLDS) {
		pager_put(*(int *)context, data, length);
		return pager.error ? 0 : (ssize_t)length;
	}
	buf_append(&pager.held, data, length);
	if (buf_error(&pager.held)) {
		pager.state = PAGER_DIRECT;
		pager.error = buf_error(&pager.held);
		return 0;
	}
	pager_measure(data, length);
	/* The last line of the screen is for the shell's prompt. */
	if (pager.row >= pager.rows)
		pager_release(true);
	return (ssize_t)length;
}

/* ---- the streams ---- */

/* Returns a stream that replaces `of`, or NULL if `of` is not a terminal. */
static FILE *pager_stream(FILE *of, int mode)
{
	static int descriptors[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
	int fd = fileno(of);
	FILE *stream;

	if (!isatty(fd))
		return NULL;
	fflush(of);
	stream = fopencookie(&descriptors[fd], "w", (cookie_io_functions_t){.write = pager_write});
	if (stream)
		setvbuf(stream, NULL, mode, 0);
	return stream;
}

static void pager_screen(void)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		size.ws_row = size.ws_col = 0;
	pager.rows = size.ws_row ? size.ws_row : ROWS;
	pager.columns = size.ws_col ? size.ws_col : COLUMNS;
}

static bool pager_wanted(const char *command)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0 &&
	       !(command && (!*command || !strcmp(command, "cat")));
}

void pager_begin(bool pages, const char *command)
{
	FILE *out, *err;

	if (pager.state)
		return;
	if (!command)
		command = getenv("HEAPCAST_PAGER");
	if (!command)
		command = getenv("PAGER");
	pager.state = pages && pager_wanted(command) ? PAGER_HOLDS : PAGER_DIRECT;
	pager.command = command ? strdup(command) : NULL;
	pager_screen();
	out = pager_stream(stdout, _IOLBF);
	err = pager_stream(stderr, _IONBF);
	if (!out && pager.state == PAGER_HOLDS)
		pager.state = PAGER_DIRECT;
	if (out) {
		pager.out = stdout;
		stdout = out;
	}
	if (err) {
		pager.err = stderr;
		stderr = err;
	}
}

static void pager_wait(void)
{
	if (pager.to)
		close(pager.to);
	while (pager.pid && waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (pager.pid) {
		signal(SIGINT, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
	}
}

int pager_end(void)
{
	int error;

	if (!pager.state)
		return 0;
	if (pager.out)
		fflush(stdout);
	if (pager.state == PAGER_HOLDS)
		pager_release(false);
	pager_wait();
	if (pager.out) {
		fclose(stdout);
		stdout = pager.out;
	}
	if (pager.err) {
		fclose(stderr);
		stderr = pager.err;
	}
	free(pager.command);
	error = pager.error;
	pager = (struct pager){0};
	return error;
}

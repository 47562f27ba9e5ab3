/*
 * heapcast: one name for all commands. It only starts the agent or the collector, which it finds in
 * its own folder.
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cli/program.h"
#include "base/cli/nearest.h"
#include "base/ban.h"

#define AGENT	   "agent" /* selects the agent if the collector has a command of the same name */
#define EXIT_USAGE 2
#define EXIT_FAULT 3

static const char help[] =
	"Usage: heapcast COMMAND [OPTION...] [ARGUMENT...]\n"
	"\n"
	"Shows where the memory of running programs goes: here, on a board, on a fleet.\n"
	"\n"
	"Record, on the machine that runs the program:\n"
	"  run         start a program, record it, and say where its memory went\n"
	"  attach      record programs that run already\n"
	"  agent       the rest of what an agent does: agent serve, agent ctl, agent pair\n"
	"\n"
	"Collect, on the machine where you look at it:\n"
	"  gather      find agents on the network and store what they record\n"
	"  list        the recordings that there are\n"
	"  tag         tags of streams, by which --select chooses\n"
	"  pair        give a board a key, so that strangers learn nothing\n"
	"  pairs       the boards that have a key; takes keys back\n"
	"  ctl         order recorded programs: stop, start, mode, snapshot, mark\n"
	"  snapshot    the heaps of all programs at one moment\n"
	"  share       send sums to a data base that many collectors share\n"
	"  import      add recordings, and files of other tools\n"
	"\n"
	"Look:\n"
	"  report      totals, peak, leaks, top call sites, on one page\n"
	"  top         the call sites that allocate, hold or leak most\n"
	"  leaks       what was never freed\n"
	"  temporary   what was freed before the next allocation\n"
	"  timeline    what was in use over time\n"
	"  tree        allocations from main down\n"
	"  histogram   sizes and lifetimes of blocks\n"
	"  diff        what has changed between two recordings or moments\n"
	"  fleet       what grows on which boards, in which build, since when\n"
	"  maps        what was mapped, and how much of it was in memory\n"
	"  sql         any other question\n"
	"  analyze     a report by rules: findings and why, as text or a page to print\n"
	"  ledger      is anything missing in the recording?\n"
	"  page        look at all of that in the browser\n"
	"  serve       the page and the REST API, for other machines, too\n"
	"\n"
	"Pass on:\n"
	"  flamegraph  an SVG with search and zoom\n"
	"  export      files for other tools: pprof, speedscope, massif, heaptrack...\n"
	"  pack        a recording with its names, for another machine\n"
	"  strip       a smaller recording\n"
	"  extract     the files that came with a recording\n"
	"  decompress  undo 'gather --compress-after'\n"
	"  symbols     find, add and fetch symbol files\n"
	"\n"
	"To begin:\n"
	"  heapcast run -- CMD        records CMD, and says where its memory went\n"
	"  heapcast report last       says more about it\n"
	"'heapcast help COMMAND' tells more about one of them.\n";

static const char *const sides[] = {[PROGRAM_AGENT] = "agent", [PROGRAM_COLLECTOR] = "collector"};

static int start(enum program_side side, char **argv)
{
	char path[PATH_MAX];

	if (program_beside(side, path) < 0) {
		fprintf(stderr,
			"heapcast: the %s is not installed here: %s is missing (package "
			"heapcast-%s)\n",
			sides[side], path, sides[side]);
		return EXIT_FAULT;
	}
	execv(path, argv);
	fprintf(stderr, "heapcast: can't start %s: %s\n", path, strerror(errno));
	return EXIT_FAULT;
}

static void print_version(enum program_side side)
{
	char path[PATH_MAX], version[] = "--version", name[] = PROGRAM_HEAPCAST,
			     *argv[] = {name, version, NULL};
	pid_t pid;

	if (program_beside(side, path) < 0) {
		printf("%s: not installed here\n", sides[side]);
		return;
	}
	fflush(stdout);
	pid = fork();
	if (!pid) {
		execv(path, argv);
		_exit(EXIT_FAULT);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static int version(void)
{
	printf("heapcast %s\n", HEAPCAST_VERSION);
	print_version(PROGRAM_AGENT);
	print_version(PROGRAM_COLLECTOR);
	return fflush(stdout) ? EXIT_FAULT : 0;
}

/* ---- which command ---- */

struct search {
	const char *typed;
	const char *only; /* a command that begins with the typed word */
	unsigned count;	  /* of the commands that do */
	struct nearest nearest;
};

static void heapcast_look(void *context, const char *command)
{
	struct search *s = context;

	nearest_try(&s->nearest, command);
	if (strncmp(command, s->typed, strlen(s->typed)) != 0)
		return;
	s->only = command;
	s->count++;
}

static int unknown(const struct search *s)
{
	const char *peer = nearest_of_peer(s->typed), *meant = peer ? peer : s->nearest.found;

	fprintf(stderr, "heapcast: there is no command '%.60s'", s->typed);
	if (!access(s->typed, F_OK))
		fprintf(stderr, "; to look at a recording: heapcast report %.200s", s->typed);
	else if (meant)
		fprintf(stderr, "; did you mean '%s'?", meant);
	fprintf(stderr, "\n'heapcast help' lists the commands.\n");
	return EXIT_USAGE;
}

/* Finds the command that `typed` names or abbreviates, or reports that there is none. */
static const char *find_command(const char *typed)
{
	struct search s = {.typed = typed};

	if (program_of(typed) != PROGRAM_NONE || !strcmp(typed, AGENT))
		return typed;
	nearest_begin(&s.nearest, typed, strlen(typed));
	program_each(heapcast_look, &s);
	heapcast_look(&s, AGENT);
	if (s.count == 1 && *typed)
		return s.only;
	unknown(&s);
	return NULL;
}

static int start_agent(char **argv)
{
	static char name[] = PROGRAM_HEAPCAST_AGENT;

	argv[1] = name;
	return start(PROGRAM_AGENT, argv + 1);
}

/* argv[1] is the command. */
static int start_command(char **argv)
{
	static char name[] = PROGRAM_HEAPCAST;
	const char *command = find_command(argv[1]);

	if (!command)
		return EXIT_USAGE;
	if (!strcmp(command, AGENT))
		return start_agent(argv);
	argv[0] = name;
	argv[1] = (char *)(uintptr_t)command;
	return start(program_of(command), argv);
}

static int help_of(char *command)
{
	static char option[] = "--help";

	return start_command((char *[]){NULL, command, option, NULL});
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : NULL;

	if (!command) {
		fputs(help, stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(command, "--help") || !strcmp(command, "-h") || !strcmp(command, "help")) {
		if (argc > 2)
			return help_of(argv[2]);
		fputs(help, stdout);
		return fflush(stdout) ? EXIT_FAULT : 0;
	}
	if (!strcmp(command, "--version") || !strcmp(command, "version"))
		return version();
	return start_command(argv);
}

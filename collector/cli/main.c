/*
 * collector: finds agents, stores what they record, and answers questions about it. This file only
 * picks the command. Each command has a file of its name (commands.h).
 */
#include <errno.h>
#include <libwebsockets.h>
#include <lz4.h>
#include <protobuf-c/protobuf-c.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/cli/program.h"
#include "base/log.h"
#include "base/cli/nearest.h"
#include "base/secure/secure.h"
#include "base/standard.h"
#include "collector/cli/commands.h"
#include "collector/cli/output.h"
#include "collector/cli/pager.h"
#include "collector/page/page.h"
#include "base/ban.h"

static const struct command *const commands[] = {
#define X(name) &command_##name,
	COMMANDS(X)
#undef X
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	program_printf(out, "Usage: collector COMMAND [OPTION...] [ARGUMENT...]\n\n"
			    "Collects what heapcast agents record and shows where the memory "
			    "goes.\n\nCommands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!commands[i]->hidden)
			fprintf(out, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
	program_print(
		out,
		"\nA STREAM is named by its id, a unique beginning of it, 'last', or the path of\n"
		"a recording.\n"
		"Every option --some-name can also be given as the variable HEAPCAST_SOME_NAME.\n"
		"Exit status: 0 done, 1 the answer is \"no\", 2 wrong usage, 3 a fault outside.\n\n"
		"First steps:\n"
		"  collector gather --once &                    wait for a program to be recorded\n"
		"  agent run --announce -- CMD                  on the board: record it\n"
		"  collector report last                        where its memory went\n"
		"'collector help COMMAND' tells more about one of them.\n");
}

static const struct command *main_find(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static int unknown(const char *name)
{
	const char *peer = nearest_of_peer(name);
	struct nearest nearest;

	nearest_begin(&nearest, name, strlen(name));
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!commands[i]->hidden)
			nearest_try(&nearest, commands[i]->name);
	if (peer && main_find(peer))
		nearest.found = peer;
	program_printf(stderr, "%s: there is no command '%s'", program_title(), name);
	if (nearest.found)
		program_printf(stderr, "; did you mean '%s'?", nearest.found);
	program_printf(stderr, "\n'collector help' lists the commands.\n");
	return EXIT_USAGE;
}

static int help_of(const char *name)
{
	const struct command *command = main_find(name);

	if (!command)
		return unknown(name);
	command_help(command);
	return EXIT_DONE;
}

/* Prints what this build can do, and the libraries that it uses here. */
static int version(void)
{
	printf("heapcast collector %s\n", HEAPCAST_VERSION);
	printf("  TLS: %s\n", secure_library());
	printf("  page: %s\n", page_asset_count ? "yes" : "no (built without node)");
	printf("  libraries: libuv %s, protobuf-c %s, lz4 %s,\n"
	       "    sqlite %s, libwebsockets %s\n",
	       uv_version_string(), protobuf_c_version(), LZ4_versionString(), sqlite3_libversion(),
	       lws_get_library_version());
	return fflush(stdout) ? EXIT_FAULT : EXIT_DONE;
}

static int dispatch(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		if (argc > 2)
			return help_of(argv[2]);
		help(stdout);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
		return version();
	}
	command = main_find(argv[1]);
	if (!command)
		return unknown(argv[1]);
	return command_main(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
	int status, error, flushed;

	standard_reserve();
	program_started(argv[0], "collector");
	signal(SIGPIPE, SIG_IGN);
	log_open("warn", NULL);
	status = dispatch(argc, argv);
	error = pager_end();
	/* An answer that could not be written must not look like success. */
	flushed = fflush(stdout) ? -errno : 0;
	if (flushed || ferror(stdout) || error) {
		error = error ? error : flushed;
		if (!error && status != EXIT_DONE)
			return status; /* the command has reported the error */
		output_failed(error ? -error : errno);
		program_printf(stderr, "%s: writing to standard output %s%s\n", program_title(),
			       error ? "failed: " : "failed", error ? strerror(-error) : "");
		return status == EXIT_DONE ? EXIT_FAULT : status;
	}
	return status;
}

/* Replaces `agent attach` in a build without the eBPF programs. */
#include <errno.h>

#include "agent/cli/command.h"
#include "base/error.h"

const char *attach_library(void)
{
	return "no";
}

int command_attach(int argc, char **argv)
{
	struct err_text err;

	(void)argc;
	(void)argv;
	return command_fail(
		EXIT_FAULT, &err,
		err_set(&err, -ENOTSUP,
			"this build can't record programs that run already: it was made without "
			"eBPF, or for 32-bit ARM, where kernels probe ARM code only, and libraries "
			"are Thumb code (agent run can)"));
}

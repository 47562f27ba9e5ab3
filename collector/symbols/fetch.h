#pragma once
/*
 * Debug information from debuginfod servers, by build id. The client library (libdebuginfod, loaded
 * when it is needed) talks to the network in a process of its own, `PROGRAM symbols-fetch
 * BUILD-ID`, which prints the path of the file that came; so what a server sends is never parsed
 * here, and a server that does not answer is ended by a signal.
 */
#include <stdbool.h>
#include <stdint.h>

struct err_text;

#define FETCH_COMMAND "symbols-fetch"

struct fetcher {
	const char *program;
	const char *const *urls; /* NULL-terminated; NULL or empty: nobody is asked */
	const char *cache; /* folder for what comes, made with its parent if need be; NULL, or it
			      can't be made: the client's usual one */
	uint64_t seconds;  /* without an answer, or without 100 KiB, for so long: given up */
	bool down;	   /* a server did not answer: no more questions */
};

/* Path of the debug file, to be freed. -ENOENT: no server has it; others: `down` is set, and the
 * sentence says why. */
int fetch_debug_file(struct fetcher *fetcher, const uint8_t *build_id, uint32_t length,
		     char **ret_path, struct err_text *err);

#pragma once
/*
 * Debug information from debuginfod servers, by build id. The client library (libdebuginfod, loaded
 * on demand) runs in a separate process, `PROGRAM symbols-fetch BUILD-ID`, which prints the path of
 * the downloaded file. The collector therefore never parses what a server sends, and ends an
 * unresponsive transfer with a signal.
 */
#include <stdbool.h>
#include <stdint.h>

struct err_text;

#define FETCH_COMMAND "symbols-fetch"

struct fetcher {
	const char *program;
	const char *const *urls; /* NULL-terminated; NULL or empty: no server is asked */
	const char *cache; /* folder for downloads, created with its parent if necessary; NULL, or
			    * if it cannot be created: the client's default */
	uint64_t seconds;  /* give up after this time without an answer, or without 100 KiB of
			    * data */
	bool down;	   /* a server did not answer, so no more requests are made */
};

/*
 * Returns the path of the debug file, which the caller frees. Returns -ENOENT if no server has it,
 * or another negative errno with a sentence; `down` is then set.
 */
int fetch_debug_file(struct fetcher *fetcher, const uint8_t *build_id, uint32_t length,
		     char **ret_path, struct err_text *err);

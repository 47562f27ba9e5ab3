#pragma once
/*
 * POST /import turns a file of another tool, or a recording, into a stream. The server writes the
 * body to an unnamed file on disk as it arrives. A separate process (import_worker) then reads the
 * file under limits on memory and disk. So a hostile file can end only that process, and not the
 * collector, which holds the agents' connections.
 *
 *	body --upload_add--> DIR/(no name) --stdin--> `collector import-worker` --> DIR/streams/ID
 *	                                               stdout: the answer, or "STATUS sentence"
 */
#include <stddef.h>
#include <stdint.h>

struct answer;
struct exchange;
struct sources;

/* The worker's arguments: DATA DISK MEMORY NAME FORMAT UNIT. "-" stands for an absent FORMAT or
 * UNIT. */
#define IMPORT_WORKER	"import-worker"
#define IMPORT_NAME_MAX 255

/* Returns the size limit of a file in bytes at this moment: the limit in the options, but at most
 * half of the free disk space. Returns 0 if the server cannot import. */
uint64_t import_bytes_max(const struct sources *sources);

/* Prepares for a body of `bytes`. Returns 0, or a negative errno with a status and a message in
 * `x`. */
int upload_begin(struct exchange *x, uint64_t bytes);
int upload_add(struct exchange *x, const void *data, size_t length);

/* The answer to the client. */
struct import_told {
	const char *file, *id, *format, *tool, *note;
	uint64_t events;
};
extern const struct answer import_answer;

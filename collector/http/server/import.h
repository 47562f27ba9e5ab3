#pragma once
/*
 * POST /import: a file of another tool, or a recording, becomes a stream. Its body goes to the disk
 * as it comes, into a file without a name, and is then read by a process of its own
 * (import_worker), which may take so much memory and disk and no more: a hostile file ends that,
 * and not the collector that has the links.
 *
 *	body --upload_add--> DIR/(no name) --stdin--> `collector import-worker` --> DIR/streams/ID
 *	                                               stdout: the answer, or "STATUS sentence"
 */
#include <stddef.h>
#include <stdint.h>

struct answer;
struct exchange;
struct sources;

/* DATA DISK MEMORY NAME FORMAT UNIT; "-" stands for none of the last two */
#define IMPORT_WORKER	"import-worker"
#define IMPORT_NAME_MAX 255

/* The most bytes that a file may have now: as the options say, and half of what the disk has left.
 * 0: nothing can be imported here. */
uint64_t import_bytes_max(const struct sources *sources);

/* The body has so many bytes. 0, or a negative errno with status and sentence. */
int upload_begin(struct exchange *x, uint64_t bytes);
int upload_add(struct exchange *x, const void *data, size_t length);
void upload_done(struct exchange *x);

/* What is answered. */
struct import_told {
	const char *file, *id, *format, *tool, *note;
	uint64_t events;
};
extern const struct answer import_answer;

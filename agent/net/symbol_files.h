#pragma once
/*
 * Sends symbol files to collectors, which ask for them by build id. The files are those of modules
 * that programs announced while the agent recorded them (symbol_place.h says which may be sent).
 * Events have priority: a piece is sent only when the link has nothing else to send and hardly any
 * data in flight, and at most once per SYMBOL_FILES_TURN_MS.
 *
 *    FileRequest --> [worker: open] --> [worker: read a piece]
 *                <--> [main loop: the link is idle, its turn] --> FilePiece
 *
 * The agent sends one file at a time. All memory is reserved at the start: one piece, and a table
 * of the modules of ended programs (the newest replace the oldest). Everything except the worker's
 * part runs in the main loop.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "agent/core/arena.h"
#include "agent/net/symbol_place.h"
#include "heapcast.pb-c.h"

struct link;
struct packer;
struct stream;

#define SYMBOL_PIECE	     (16u << 10)
#define SYMBOL_KNOWN	     (16u << 10) /* bytes of the module table */
#define SYMBOL_FILES_TURN_MS 5
#define SYMBOL_FILES_SIZE    (SYMBOL_PIECE + SYMBOL_KNOWN + 128) /* of the arena */
#define SYMBOL_PLACES_MAX    4

struct symbol_request {
	uint8_t build_id[MODULE_BUILD_ID_MAX];
	uint32_t build_id_length;
	uint64_t offset, identity;
	uint32_t crc;
};

struct symbol_files {
	struct stream *const *stream;
	uint32_t streams;
	enum symbol_policy policy;
	uint8_t *known; /* records, described in symbol_files.c */
	size_t known_length;
	void (*pump)(struct link *link);

	struct link *to; /* the link that gets the file; NULL: none */
	struct symbol_request request;
	/* The request was checked: `file` or `refusal` has the result. */
	bool opened;
	int refusal;	   /* enum FileRefusal: sent to the collector, and ends the request */
	bool ready;	   /* a piece waits to be sent */
	bool turn;	   /* the timer allows to send the piece now */
	uint64_t moved_ns; /* CLOCK_MONOTONIC of the last request or piece; 0: never */
	struct link *turned_away; /* a link that asked while another one is served */
	struct symbol_request turned_away_request;
	uv_timer_t timer;

	/* Owned by the worker while `working`. */
	uv_work_t work;
	bool working;
	bool outdated; /* ignore the worker's result */
	struct symbol_place place[SYMBOL_PLACES_MAX];
	uint32_t places;
	enum symbol_policy policy_then;
	int found;		   /* enum FileRefusal: the result of opening the file */
	struct symbol_opened file; /* fd -1: none */
	uint64_t offset;	   /* of `piece` */
	uint32_t crc;		   /* of the file up to the end of `piece` */
	uint8_t *piece;
	size_t length; /* 0: the piece could not be read */
};

/* Takes SYMBOL_FILES_SIZE bytes of `arena`. `pump` makes a link send what it has. Returns 0 or
 * -ENOMEM. */
int symbol_files_init(struct symbol_files *files, struct arena *arena, uv_loop_t *loop,
		      struct stream *const *stream, uint32_t streams,
		      void (*pump)(struct link *link));
/* Frees everything, after the event loop has ended. */
void symbol_files_done(struct symbol_files *files);
/* Handles a collector's request, which is untrusted. */
void symbol_files_ask(struct symbol_files *files, struct link *link,
		      const Heapcast__FileRequest *order);
/* Packs the next piece for this link as a frame in `out`, if it is the link's turn. `fd` is the
 * link's socket. Returns its length, 0 if nothing is ready to be sent, or a negative errno, which
 * is a bug. */
long symbol_files_next(struct symbol_files *files, const struct link *link, int fd,
		       struct packer *packer, uint8_t *out, size_t size);
/* Ends the work for a link that is gone. */
void symbol_files_leave(struct symbol_files *files, const struct link *link);
/* Keeps the modules of a stream that is about to be forgotten in the table. */
void symbol_files_keep(struct symbol_files *files, const struct stream *stream);
/* Returns true if a file is being sent, or if a collector has just got one and may ask for
 * another. */
bool symbol_files_busy(const struct symbol_files *files, uint64_t now_ns);

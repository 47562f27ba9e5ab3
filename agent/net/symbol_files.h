#pragma once
/*
 * Sends symbol files to a collector that asks for them by build id: those of modules that programs
 * have announced while this agent recorded them (symbol_place.h says which may leave). Events come
 * first: a piece goes only when a link has nothing else to send and hardly anything on its way, and
 * no more often than each SYMBOL_FILES_TURN_MS.
 *
 *   FileRequest --> [worker: open] --> [worker: read a piece]
 *               <--> [main loop: the link is idle, its turn] --> FilePiece
 *
 * One file at a time for the whole agent. All memory was set aside at the start: one piece, and a
 * table of the modules of programs that have ended (the oldest make room for the newest). All but
 * the worker's part runs in the main loop.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "agent/core/budget.h"
#include "agent/net/symbol_place.h"
#include "heapcast.pb-c.h"

struct link;
struct packer;
struct stream;

#define SYMBOL_PIECE	     (16u << 10)
#define SYMBOL_KNOWN	     (16u << 10) /* bytes of the table of modules */
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
	uint8_t *known; /* records: see symbol_files.c */
	size_t known_length;
	void (*pump)(struct link *link);

	struct link *to; /* who gets the file; NULL: nobody */
	struct symbol_request request;
	bool opened; /* the request has been looked into: `file` or `refusal` say with what result
		      */
	int refusal; /* enum FileRefusal: goes to the collector, and ends it */
	bool ready;  /* a piece waits to be sent */
	bool turn;   /* and may be */
	uint64_t moved_ns;	  /* when a collector last asked or a piece last went; 0: never */
	struct link *turned_away; /* asks while another one is served */
	struct symbol_request turned_away_request;
	uv_timer_t timer;

	/* The worker's, while `working`. */
	uv_work_t work;
	bool working;
	bool outdated; /* nobody wants the result any more */
	struct symbol_place place[SYMBOL_PLACES_MAX];
	uint32_t places;
	enum symbol_policy policy_then;
	int found;		   /* enum FileRefusal: what became of opening it */
	struct symbol_opened file; /* fd -1: none */
	uint64_t offset;	   /* of `piece` */
	uint32_t crc;		   /* up to its end */
	uint8_t *piece;
	size_t length; /* 0: it could not be read */
};

/* Takes SYMBOL_FILES_SIZE bytes of `arena`. `pump` makes a link send what it has. 0 or -ENOMEM. */
int symbol_files_init(struct symbol_files *files, struct arena *arena, uv_loop_t *loop,
		      struct stream *const *stream, uint32_t streams,
		      void (*pump)(struct link *link));
/* After the loop has ended. */
void symbol_files_done(struct symbol_files *files);
/* A collector asks. The order may hold anything. */
void symbol_files_ask(struct symbol_files *files, struct link *link,
		      const Heapcast__FileRequest *order);
/* Makes the link's next piece, if it is its turn, as a frame in `out`. Its length; 0: nothing now;
 * negative: a fault of ours. */
long symbol_files_next(struct symbol_files *files, const struct link *link, int fd,
		       struct packer *packer, uint8_t *out, size_t size);
/* The link is gone. */
void symbol_files_leave(struct symbol_files *files, const struct link *link);
/* The stream is about to be forgotten: its modules are not. */
void symbol_files_keep(struct symbol_files *files, const struct stream *stream);
/* A file is on its way, or a collector has only just got one and may ask for another. */
bool symbol_files_busy(const struct symbol_files *files, uint64_t now_ns);

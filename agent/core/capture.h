#pragma once
/*
 * The seam between what captures events and what streams them. A *source* (the ring that
 * libheapcast.so writes, or the kernel's probes) finds events, puts them into the order of their
 * stamps and hands them to the *stream*, which interns stacks, batches, compresses and spools.
 *
 *   source --(capture_* functions below)--> stream --> batch --> spool --> file, links
 *
 * All of it runs in the drain thread, under the stream's lock. Nothing here allocates. A function
 * that takes something returns -EAGAIN when the batch under construction has no room for it: the
 * source returns that to its caller, which closes the batch and calls the source again; the source
 * then offers the same thing once more.
 *
 * A *lane* is a row of events of one thread with a common stack history (a slice of the ring):
 * lanes are numbered from 0 and an event's `keep` refers to the last event with a stack in its
 * lane.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/columns.h"

struct stream;
struct thread;

struct capture_event {
	struct event
		event; /* times since the start of the stream, as all times here; `class` is set;
			  `weight` 0: its own size. The stream fills in `thread` and `stack` */
	bool has_stack;
	uint32_t keep;	/* outer frames of the lane's last stack that are still there */
	uint32_t count; /* new frames */
	const uint64_t
		*pcs;	/* innermost first; values below CAPTURE_PSEUDO_LIMIT are PseudoFrames */
	uint32_t epoch; /* of the modules, as of when the stack was walked */
};

#define CAPTURE_PSEUDO_LIMIT 4096

struct capture_losses {
	uint64_t events;
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes;
};

struct capture_module {
	uint32_t id; /* the source's own number of it */
	uint32_t epoch;
	uint64_t time_ns;
	uint64_t bias;
	uint64_t start;
	uint64_t end;
	const uint8_t *path;
	uint32_t path_length;
	const uint8_t *build_id;
	uint32_t build_id_length;
	uint32_t print; /* of a file without a build id: two files under one name have, most likely,
			   two */
	uint32_t segment_count;
	struct capture_segment {
		uint64_t address;
		uint64_t size;
		uint64_t file_offset;
		uint64_t flags;
	} segment[8];
};

/* A thread was seen. `continues`: it was in another lane before; then the thread that has this tid
 * goes on. */
int capture_thread_begin(struct stream *stream, uint32_t tid, uint64_t time_ns, bool continues,
			 struct thread **ret_thread);
/* What the program says that it is called, 16 bytes: holds for one that the kernel did not know any
 * more. */
void capture_thread_called(struct stream *stream, struct thread *thread, const char *name);
/* Does a thread with this tid live, for all that is known? */
bool capture_thread_known(struct stream *stream, uint32_t tid);
/* A thread that an agent before us has numbered, and what that one had sent of it: it keeps its
 * number. `ret_known`: it had come up already, in another lane. */
struct capture_past {
	uint64_t delivered, lost;
};
int capture_thread_resume(struct stream *stream, uint32_t tid, uint32_t number,
			  const struct capture_past *past, struct thread **ret_thread,
			  bool *ret_known);
/* It has this lane no more: once for each capture_thread_begin, after all else about the lane. */
void capture_thread_leave(struct stream *stream, struct thread *thread);
/* It is gone. Its counts must have been given by capture_thread_counts before. */
int capture_thread_end(struct stream *stream, struct thread *thread, uint64_t time_ns);
/* Adds to what the thread began, and to what of that was passed over by sampling. */
void capture_thread_counts(struct stream *stream, struct thread *thread, uint64_t produced,
			   uint64_t not_sampled);
/* How many allocations were not sampled for lack of room in the target's set of sampled blocks, so
 * far. */
void capture_samples_refused(struct stream *stream, uint64_t count);
/* Likewise: stacks that end where the loader could not be asked; namespaces of the loader whose
 * malloc is not recorded. */
void capture_loader_counts(struct stream *stream, uint32_t stacks_unknown, uint32_t namespaces);

/* A lane begins, or its stack is lost: the next event must bring its whole stack (else it is shown
 * truncated). */
void capture_lane_reset(struct stream *stream, uint32_t lane);
int capture_event(struct stream *stream, uint32_t lane, struct thread *thread,
		  struct capture_event *event);
/* Events that will never come. `thread` may be NULL: of threads without a lane; these also count as
 * produced. */
int capture_gap(struct stream *stream, struct thread *thread, const struct capture_losses *lost,
		int reason, uint64_t from_ns, uint64_t to_ns);
int capture_module_load(struct stream *stream, const struct capture_module *module);
int capture_module_unload(struct stream *stream, uint32_t id, uint32_t epoch, uint64_t time_ns);
int capture_mark(struct stream *stream, struct thread *thread, int kind, uint64_t value,
		 uint64_t time_ns, const uint8_t *text, uint32_t text_length);
/* No event older than this will follow, as far as the source knows. */
void capture_watermark(struct stream *stream, uint64_t time_ns);

/* What a source is to the stream. */
struct capture_source {
	const struct capture_ops *ops;
};

struct capture_ops {
	/* Hands over what there is. `final`: the process (or its image) is gone, so all that is
	 * left is complete. 0: everything up to the watermark was taken; 1: there may be more at
	 * once; -EAGAIN: see above. */
	int (*drain)(struct capture_source *source, struct stream *stream, bool final);
	/* Brings the counts of live threads up to date (capture_thread_counts). */
	void (*count)(struct capture_source *source, struct stream *stream);
	/* So much waits that it should be drained at once. */
	bool (*filling)(const struct capture_source *source);
	/* At the begin of each turn of the drain thread. `away`: the last one is so long ago that
	 * programs may have given the agent up. */
	void (*turn)(struct capture_source *source, bool away);
	/* Before a batch is closed, after count. */
	void (*seal)(struct capture_source *source, const struct stream *stream);
	/* The process has another program now (exec), and all that the old one left is drained. */
	void (*begin_image)(struct capture_source *source, const struct stream *stream);
	/* The stream's mode or sample interval is another one. */
	void (*obey)(struct capture_source *source, const struct stream *stream);
	/* The program is to go on unrecorded. What it has recorded is still drained. */
	void (*detach)(struct capture_source *source);
	/* Events that the program has begun and that `count` has not told yet. */
	uint64_t (*uncounted)(const struct capture_source *source);
	/* The stream will be over: what of that takes its time. In the main loop and without the
	 * lock; the drain thread waits for nothing of it, and may call the others meanwhile. */
	void (*retire)(struct capture_source *source);
	/* The stream is over: nothing is asked of the source any more. */
	void (*close)(struct capture_source *source);
};

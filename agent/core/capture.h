#pragma once
/*
 * The interface between capturing events and streaming them. A *source* (the ring that
 * libheapcast.so writes, or the kernel's probes) finds events, sorts them by their stamps and hands
 * them to the *stream*. The stream interns stacks, batches, compresses and spools.
 *
 *   source --(capture_* functions below)--> stream --> batch --> spool --> file, links
 *
 * All of this runs in the drain thread, under the stream's lock. Nothing here allocates. A function
 * that takes something returns -EAGAIN if the batch under construction has no room for it. The
 * source then returns -EAGAIN to its caller, which closes the batch and calls the source again, and
 * the source offers the same thing once more.
 *
 * A *lane* is a sequence of events of one thread with a common stack history (a slice of the ring).
 * Lanes are numbered from 0. An event's `keep` refers to the last event with a stack in its lane.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/columns.h"

struct stream;
struct thread;

struct capture_event {
	/* Times count from the start of the stream, as all times in this file. The source sets
	 * `class`, and a `weight` of 0 means the event's own size. The stream fills in `thread` and
	 * `stack`. */
	struct event event;
	bool has_stack;
	uint32_t keep;	/* number of outer frames kept from the lane's last stack */
	uint32_t count; /* number of new frames */
	/* Innermost frame first. Values below CAPTURE_PSEUDO_LIMIT are PseudoFrames. */
	const uint64_t *pcs;
	uint32_t epoch; /* module epoch at the time of the stack walk */
};

#define CAPTURE_PSEUDO_LIMIT 4096

struct capture_losses {
	uint64_t events;
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes;
};

struct capture_module {
	uint32_t id; /* the source's own number of the module */
	uint32_t epoch;
	uint64_t time_ns;
	uint64_t bias;
	uint64_t start;
	uint64_t end;
	const uint8_t *path;
	uint32_t path_length;
	const uint8_t *build_id;
	uint32_t build_id_length;
	/* Tells apart files without a build id: two files with the same name very likely differ in
	 * it. */
	uint32_t print;
	uint32_t segment_count;
	struct capture_segment {
		uint64_t address;
		uint64_t size;
		uint64_t file_offset;
		uint64_t flags;
	} segment[8];
};

/* A thread was seen. `continues`: the thread was in another lane before, so the living thread with
 * this tid is used, if there is one. Returns 0, or -EAGAIN as above. */
int capture_thread_begin(struct stream *stream, uint32_t tid, uint64_t time_ns, bool continues,
			 struct thread **ret_thread);
/* Sets the thread's name as the program reports it (16 bytes). It is used only if the thread has no
 * name yet, because the kernel no longer knew the thread. */
void capture_thread_called(struct stream *stream, struct thread *thread, const char *name);
/* Returns true if a thread with this tid is alive, as far as the stream knows. */
bool capture_thread_known(struct stream *stream, uint32_t tid);
/* A thread that an earlier agent has numbered keeps its number. `past` says how many of its events
 * that agent has delivered and lost. Sets *ret_known if the thread is already known from another
 * lane. */
struct capture_past {
	uint64_t delivered, lost;
};
int capture_thread_resume(struct stream *stream, uint32_t tid, uint32_t number,
			  const struct capture_past *past, struct thread **ret_thread,
			  bool *ret_known);
/* The thread leaves a lane. Called once for each capture_thread_begin, after everything else about
 * the lane. */
void capture_thread_leave(struct stream *stream, struct thread *thread);
/* The thread has ended. Report its last counts with capture_thread_counts before. */
int capture_thread_end(struct stream *stream, struct thread *thread, uint64_t time_ns);
/* Adds to the number of events that the thread began, and to the number that sampling skipped. */
void capture_thread_counts(struct stream *stream, struct thread *thread, uint64_t produced,
			   uint64_t not_sampled);
/* Sets the total number of allocations that were not sampled because the target's set of sampled
 * blocks was full. */
void capture_samples_refused(struct stream *stream, uint64_t count);
/* Sets two totals: the stacks that end because the loader could not be asked, and the loader's
 * namespaces whose malloc is not recorded. */
void capture_loader_counts(struct stream *stream, uint32_t stacks_unknown, uint32_t namespaces);

/* A lane begins, or its stack is lost. The next event must bring its whole stack; otherwise its
 * stack is shown as truncated. */
void capture_lane_reset(struct stream *stream, uint32_t lane);
/* Takes an event of this lane. Returns 0 or -EAGAIN. */
int capture_event(struct stream *stream, uint32_t lane, struct thread *thread,
		  struct capture_event *event);
/* Events are lost. `thread` is NULL for threads without a lane; their lost events also count as
 * produced. */
int capture_gap(struct stream *stream, struct thread *thread, const struct capture_losses *lost,
		int reason, uint64_t from_ns, uint64_t to_ns);
/* A module was loaded or unloaded. They return 0, -EAGAIN, or -EBADMSG if the data is invalid or
 * the module is unknown. */
int capture_module_load(struct stream *stream, const struct capture_module *module);
int capture_module_unload(struct stream *stream, uint32_t id, uint32_t epoch, uint64_t time_ns);
/* Puts a mark (enum MarkKind). `thread` NULL: a mark of the whole program. `text` is copied.
 * Returns 0 or -EAGAIN. */
int capture_mark(struct stream *stream, struct thread *thread, int kind, uint64_t value,
		 uint64_t time_ns, const uint8_t *text, uint32_t text_length);
/* No event older than `time_ns` will follow, as far as the source knows. */
void capture_watermark(struct stream *stream, uint64_t time_ns);

/* A source, as the stream sees it. */
struct capture_source {
	const struct capture_ops *ops;
};

struct capture_ops {
	/* Hands over all available events. `final`: the process (or its image) is gone, so what is
	 * left is complete. Returns 0 if everything up to the watermark was taken, 1 if more may be
	 * available at once, or -EAGAIN as described above. */
	int (*drain)(struct capture_source *source, struct stream *stream, bool final);
	/* Updates the counts of live threads (capture_thread_counts). */
	void (*count)(struct capture_source *source, struct stream *stream);
	/* Returns true if so much data waits that it should be drained at once. */
	bool (*filling)(const struct capture_source *source);
	/* Called at the beginning of each turn of the drain thread. `away`: the last turn was so
	 * long ago that programs may have given up on the agent. */
	void (*turn)(struct capture_source *source, bool away);
	/* Called before a batch is closed, after `count`. */
	void (*seal)(struct capture_source *source, const struct stream *stream);
	/* The process runs a new program (exec), and everything that the old one left is
	 * drained. */
	void (*begin_image)(struct capture_source *source, const struct stream *stream);
	/* The stream's mode or sample interval has changed. */
	void (*obey)(struct capture_source *source, const struct stream *stream);
	/* Lets the program continue unrecorded. What it has recorded is still drained. */
	void (*detach)(struct capture_source *source);
	/* Returns the number of events that the program has begun and `count` has not reported
	 * yet. */
	uint64_t (*uncounted)(const struct capture_source *source);
	/* The stream is about to end: does the part of the cleanup that takes time. Runs in the
	 * main loop without the lock. The drain thread does not wait for it and may call the other
	 * functions meanwhile. */
	void (*retire)(struct capture_source *source);
	/* The stream has ended. The source is not called again. */
	void (*close)(struct capture_source *source);
};

#pragma once
/* What is known about a recording besides its rows: its process, modules, threads, losses and
 * readings. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/columns/row_block.h"
#include "collector/recording/labels.h"
#include "collector/recording/stream_id.h"

struct module_info {
	uint32_t number;
	char *path; /* for display and comparison */
	char *file; /* the file's name, byte for byte, if it differs from `path`; else NULL. See
		       module_file */
	uint8_t build_id[32];
	uint32_t build_id_length;
	uint32_t print; /* fingerprint of a file without a build id; most likely differs between two
			   files under one path; 0: unknown */
	uint64_t bias, start, end;
	uint64_t code_address, code_size,
		code_offset;		 /* the executable segment in the file; size 0: unknown */
	uint64_t loaded_ns, unloaded_ns; /* unloaded_ns: NO_TIME if it was not unloaded */
};
/* Returns the name to open the file with. It must not be displayed. */
static inline const char *module_file(const struct module_info *module)
{
	return module->file ? module->file : module->path;
}

struct thread_info {
	uint32_t number, tid;
	char *name; /* "" if unknown */
	uint64_t started_ns, ended_ns;
	uint64_t produced, delivered, culled, lost;
	uint64_t culled_before;	   /* part of `culled`: by earlier agents */
	uint32_t incarnation;	   /* the agent that reported the thread last */
	uint64_t unarrived;	   /* part of `lost`: in batches that were lost with their agent */
	uint64_t stored;	   /* events of this thread in the recording */
	uint64_t marked_ns;	   /* time of the thread's last mark whose place among its events is
				      known */
	uint64_t thinned_interval; /* largest interval, in bytes, at which the thread was sampled
				      for lack of room; 0: never */
};

/* struct stack_node (proto/columns.h) is a node of the stack tree. Nodes are numbered from 1, and a
 * parent has a lower number than its children. */

/* The source of a recording that no agent wrote (message Origin). */
struct origin_info {
	bool imported;			   /* false: the members below are empty */
	bool exact;			   /* weights are counts of blocks, not estimates */
	char *format, *tool, *file, *note; /* "" if unknown */
	uint64_t wall_ns;		   /* when the numbers were taken; 0: unknown */
};

struct process_info {
	uint32_t pid, parent_pid, uid;
	char *name; /* the usual name: "redis-server", even if its file has another name */
	char *executable, *command_line, *host, *architecture, *agent_version;
	struct labels labels; /* as the agent has them */
	uint32_t pointer_bits, page_size, images;
	uint64_t start_wall_ns;
	uint32_t mode; /* enum Mode */
	uint64_t sample_interval;
	uint64_t cull_ns; /* blocks that live for a shorter time are culled; 0: none */
	bool ended;
	uint32_t end_kind; /* enum EndKind */
	uint32_t end_status;
	bool core_dumped;
	uint32_t end_source;  /* enum EndSource */
	uint32_t oom_counter; /* enum OomCounter */
	uint64_t rss_peak;    /* highest resident memory over the whole life, from the kernel at the
				 end; 0: only the readings are known */
	uint64_t ran_before_ns; /* for a program that was joined while it ran: its run time when
				   recording began; 0: recorded from its start */
	bool forked; /* a followed fork child: its parent's stream, and the number of the parent's
			events at the fork */
	struct stream_id parent;
	uint64_t parent_event;
	struct origin_info origin;
};

struct gap_info {
	uint32_t thread, reason;
	uint64_t from, to, allocations, frees, bytes, from_ns, to_ns;
	uint64_t events; /* of all kinds; may exceed allocations + frees, because some events are of
			    unknown kind */
};

struct mark_info {
	uint64_t time_ns, value;
	uint32_t kind, thread;
	char *text;
	char *by; /* who requested it from outside; NULL: nobody */
};

/* The process as the kernel counted it (message Figures, which explains each figure). Sizes are in
 * bytes. */
struct figures_info {
	uint64_t time_ns;     /* stream time; NO_TIME: no reading */
	uint64_t detailed_ns; /* when pss, dirty and clean were read, which happens less often;
				 NO_TIME: never */
	uint64_t rss, rss_peak, pss, anonymous, swap, address_space, dirty, clean;
	uint64_t minor_faults, major_faults; /* since the process began */
};

/* What the program's allocator reported about itself (message Allocator): mallinfo2 of glibc. */
struct allocator_info {
	uint64_t time_ns; /* NO_TIME: it was not asked, or does not report */
	uint64_t took_ns, arena, hblkhd, uordblks, fordblks, keepcost, ordblks, hblks;
};

/* An event that is not a block of the heap: the program's own mapping or pool, or a setting of its
 * allocator. proto/event.h says what address and size mean. */
struct other_event_info {
	uint64_t time_ns, address, old_address, size;
	uint32_t thread, stack; /* node; 0: none */
	uint8_t kind;		/* enum EventKind */
};

/* The account: the agent's counts and our own. Events that an agent delivered shortly before its
 * death and that never arrived are moved from `delivered` to `lost`, for the stream and for each
 * thread. The account adds up if these equations hold:
 *
 *   produced = delivered + culled + not_sampled + lost + pending
 *   delivered = stored + before_join + missed
 *   culled = culled_stored + culled_missed */
struct ledger_info {
	uint64_t produced, delivered, culled, not_sampled, lost, pending, before_join;
	uint64_t lost_allocations, lost_frees, lost_bytes, stacks_cut;
	uint64_t samples_refused; /* part of not_sampled: chosen, but the target's set had no
				     room */
	uint64_t unrecorded, unrecorded_uncounted; /* processes that descend from this one and are
						      in no recording; and those of them whose
						      events are unknown */
	uint64_t unrecorded_events, unrecorded_bytes; /* events and bytes of the other processes */
	uint64_t before_recording; /* events before the agent answered the program */
	uint64_t not_begun;	   /* 1: the program has not begun to record */
	uint64_t stacks_unknown;   /* stacks that end where the program's loader could not be
				      asked */
	uint64_t namespaces;	   /* loader namespaces that the program has opened and whose own
				      malloc is not recorded; no number here includes its events */
	uint64_t culled_stored;	   /* part of `culled`: events in the sums here */
	uint64_t culled_missed;	   /* part of `culled`: events in sums that were sent before this
				      collector joined, or while it was away */
	uint64_t stored;	   /* events in the recording */
	uint64_t stored_allocations, stored_frees, stored_reallocations;
	uint64_t stored_apart; /* part of `stored`: not blocks of the heap, but mappings, pools,
				  settings */
	uint64_t missed; /* delivered while this collector was too slow or away, and gone; also in
			    gaps (spool full) of thread 0 */
	uint64_t elsewhere; /* part of before_join and missed: another collector has these events
			       (struct part_info) */
	uint64_t missing_batches; /* batch numbers that are absent */
	uint64_t cut_bytes; /* at the end of the file: the beginning of a frame that was cut off, or
			       is still being written */
	uint64_t skipped_bytes;	    /* damaged */
	uint64_t damaged_places;    /* number of damaged ranges */
	uint64_t first_damage;	    /* offset of the first damage; NO_TIME: none */
	uint64_t duplicate_batches; /* repeated batches, which were skipped */
	uint64_t marks_left_out;    /* marks beyond those that are kept */
};

/* Returns how many missed events no other collector is known to have. Those of `elsewhere` count as
 * before_join first: a collector that comes later has them from the start. */
static inline uint64_t ledger_missed_for_good(const struct ledger_info *l)
{
	uint64_t between = l->elsewhere > l->before_join ? l->elsewhere - l->before_join : 0;

	return l->missed > between ? l->missed - between : 0;
}

#define OTHER_PARTS_MAX 16
#define PART_HOST_MAX	96

/* Batches that another collector has acknowledged before the agent moved here (message Part). */
struct part_info {
	struct stream_id collector; /* zeros: it said no id */
	char host[PART_HOST_MAX];   /* for people: "desk (10.0.0.5)" */
	uint32_t incarnation;
	uint64_t from, upto; /* batches */
	uint64_t events;
	bool lacking; /* not all of them are here */
};

/* What pairing found. */
struct pairing_info {
	uint64_t orphan_frees;	  /* frees of blocks whose birth was not recorded (allocated before
				     recording began) */
	uint64_t inherited_frees; /* in a fork child, before an exec: frees of blocks that its
				     parent had allocated */
	uint64_t inferred;
	uint64_t repaired; /* deaths and births whose order was corrected within the clock's
			      error */
	uint64_t censored;
	uint64_t failed;	 /* allocations that returned NULL */
	uint64_t bad_references; /* events with an undefined thread or stack number; shown without a
				    stack */
	/* When row numbers have run out (NO_BLOCK - 1 of them): allocations without a row, the time
	 * of the first one, and frees of these allocations. */
	uint64_t rowless, rowless_bytes, rowless_from_ns, rowless_frees;
};

struct named_frame {
	const char *function, *file; /* NULL: unknown; owned by the recording */
	uint32_t line;
};

/* A process that should have been recorded but could not be (message Unrecorded). */
struct unrecorded_info {
	uint64_t events, allocations, frees, bytes;
	uint32_t pid;
	bool counted;  /* false: the other numbers are unknown */
	char name[48]; /* 15 bytes, made safe to display */
};

/* What the agent culled: totals over blocks without rows (struct culled_row of proto/culled.h). The
 * rows of sums are in no order; their thread and stack are 0 if unknown. */
struct culled_totals {
	uint64_t blocks, bytes; /* unweighted: a sampled block counts once */
	uint64_t frees;		/* blocks that were freed; reallocations ended the others */
	uint64_t early;		/* blocks that were sent early because the agent had no room */
	uint64_t left_out; /* blocks without a place in the sums, because there are too many keys */
};

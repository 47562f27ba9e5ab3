#pragma once
/* What is known of a recording beside its rows: its process, modules, threads, losses and readings.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/columns/row_block.h"
#include "collector/recording/stream_id.h"

struct module_info {
	uint32_t number;
	char *path; /* to show and to compare */
	char *file; /* where that is not what the file is called, byte for byte; NULL: it is. See
		       module_file */
	uint8_t build_id[32];
	uint32_t build_id_length;
	uint32_t print; /* without a build id: of two files under one path, two; 0: not known */
	uint64_t bias, start, end;
	uint64_t code_address, code_size,
		code_offset; /* its executable segment, in the file; size 0: not known */
	uint64_t loaded_ns, unloaded_ns; /* NO_TIME: not unloaded */
};
/* To open it, never to show it. */
static inline const char *module_file(const struct module_info *module)
{
	return module->file ? module->file : module->path;
}

struct thread_info {
	uint32_t number, tid;
	char *name; /* "" if nobody knew */
	uint64_t started_ns, ended_ns;
	uint64_t produced, delivered, culled, lost;
	uint64_t culled_before; /* of culled: by agents before that one */
	uint32_t incarnation;	/* of the agent that last spoke of it */
	uint64_t unarrived;	/* of lost: in batches that were lost with their agent */
	uint64_t stored;	/* events of this thread in the recording */
	uint64_t marked_ns; /* its last mark of which it is known what came before and what after */
};

/* struct stack_node (proto/columns.h) is a node of the stack tree; nodes are numbered from 1, a
 * parent comes before its children. */

/* What a recording was made from, if no agent wrote it (message Origin). */
struct origin_info {
	bool imported;			   /* else nothing below */
	bool exact;			   /* weights are counts of blocks, and no estimates */
	char *format, *tool, *file, *note; /* "" where nothing is said */
	uint64_t wall_ns;		   /* when the numbers were taken; 0: not said */
};

struct process_info {
	uint32_t pid, parent_pid, uid;
	char *name; /* what people call it: "redis-server", whatever the file behind it is called */
	char *executable, *command_line, *host, *architecture, *agent_version;
	uint32_t pointer_bits, page_size, images;
	uint64_t start_wall_ns;
	uint32_t mode; /* Mode */
	uint64_t sample_interval;
	uint64_t cull_ns; /* blocks that live shorter are culled; 0: none are */
	bool ended;
	uint32_t end_kind; /* EndKind */
	uint32_t end_status;
	bool core_dumped;
	uint32_t end_source;  /* EndSource */
	uint32_t oom_counter; /* OomCounter */
	uint64_t rss_peak;    /* most resident over all its life, as the kernel said at its end; 0:
				 only what looks have shown is known */
	uint64_t ran_before_ns; /* how long it had run when recording began: it was joined in
				   mid-life; 0: from its start */
	bool forked; /* a followed fork child: of which stream, and after how many of its events */
	struct stream_id parent;
	uint64_t parent_event;
	struct origin_info origin;
};

struct gap_info {
	uint32_t thread, reason;
	uint64_t from, to, allocations, frees, bytes, from_ns, to_ns;
	uint64_t events; /* how many in all; those that are neither allocations nor frees: nobody
			    could tell */
};

struct mark_info {
	uint64_t time_ns, value;
	uint32_t kind, thread;
	char *text;
	char *by; /* from outside: who wanted it; NULL: nobody */
};

/* The process as the kernel counted it (message Figures, where the single ones are explained).
 * Bytes. */
struct figures_info {
	uint64_t time_ns;     /* stream time; NO_TIME: there are none */
	uint64_t detailed_ns; /* when pss, dirty and clean were read, which is done less often;
				 NO_TIME: never */
	uint64_t rss, rss_peak, pss, anonymous, swap, address_space, dirty, clean;
	uint64_t minor_faults, major_faults; /* since it began */
};

/* What its allocator said of itself (message Allocator): mallinfo2 of glibc. */
struct allocator_info {
	uint64_t time_ns; /* NO_TIME: it was not asked, or does not say */
	uint64_t took_ns, arena, hblkhd, uordblks, fordblks, keepcost, ordblks, hblks;
};

/* An event that is no block of the heap: a mapping or a pool of the program's own, a setting of its
 * allocator. What address and size mean is in proto/event.h. */
struct other_event_info {
	uint64_t time_ns, address, old_address, size;
	uint32_t thread, stack; /* node; 0: none */
	uint8_t kind;		/* EventKind */
};

/* The account: what the agent said, and what was counted here. What an agent has delivered with its
 * last breath and never came is moved from `delivered` to `lost`, for the stream and for each
 * thread. It adds up if these equations hold:
 *   produced = delivered + culled + not_sampled + lost + pending     and delivered = stored +
 *                                                                    before_join + missed,
 * and culled = culled_stored + culled_missed. */
struct ledger_info {
	uint64_t produced, delivered, culled, not_sampled, lost, pending, before_join;
	uint64_t lost_allocations, lost_frees, lost_bytes, stacks_cut;
	uint64_t samples_refused; /* of not_sampled: chosen, but without room in the target's set */
	uint64_t unrecorded, unrecorded_uncounted; /* processes that descend from this one and are
						      in no recording; of these, uncounted */
	uint64_t unrecorded_events, unrecorded_bytes; /* of the others */
	uint64_t before_recording; /* events before the program had an agent that answered */
	uint64_t not_begun;	   /* 1: it has not begun to record */
	uint64_t stacks_unknown;   /* end where the program's loader could not be asked */
	uint64_t namespaces; /* that the program has opened, and whose own malloc is not recorded:
				in no number here */
	uint64_t culled_stored; /* of culled: events in the sums here; */
	uint64_t culled_missed; /* and in sums that went before this collector joined, or while it
				   was away */
	uint64_t stored;	/* events in the recording */
	uint64_t stored_allocations, stored_frees, stored_reallocations;
	uint64_t stored_apart; /* no blocks of the heap: mappings, pools, settings */
	uint64_t missed; /* delivered while this collector was too slow or away, and gone: in gaps
			    (spool full) of thread 0 */
	uint64_t missing_batches; /* numbers that are not there */
	uint64_t cut_bytes; /* at the end of the file: the beginning of a frame that never became
			       whole, or is not yet */
	uint64_t skipped_bytes;	    /* damaged, passed over */
	uint64_t damaged_places;    /* how many such places */
	uint64_t first_damage;	    /* offset of the first; NO_TIME: none */
	uint64_t duplicate_batches; /* were there twice; the second was passed over */
	uint64_t marks_left_out;    /* beyond the many that are kept at hand */
};

/* What pairing met. */
struct pairing_info {
	uint64_t orphan_frees; /* of blocks whose birth was not recorded (allocated before recording
				  began) */
	uint64_t inherited_frees; /* of a fork child, before an exec: of blocks that its parent had
				     allocated */
	uint64_t inferred;
	uint64_t repaired; /* the clock's order was overruled */
	uint64_t censored;
	uint64_t failed;	 /* allocations that returned NULL */
	uint64_t bad_references; /* events with a thread or stack number that nothing defined: shown
				    without a stack */
	/* Where rows have no more numbers (NO_BLOCK - 1 of them): allocations that have none, the
	 * first one's time, and frees of these. */
	uint64_t rowless, rowless_bytes, rowless_from_ns, rowless_frees;
};

struct named_frame {
	const char *function, *file; /* NULL: not known; the recording's */
	uint32_t line;
};

/* A process that was to be recorded and could not be (message Unrecorded). */
struct unrecorded_info {
	uint64_t events, allocations, frees, bytes;
	uint32_t pid;
	bool counted;  /* else nothing more is known */
	char name[48]; /* 15 bytes, cleaned */
};

/* What the agent culled: sums of blocks that are among no rows (struct culled_row of
 * proto/culled.h). Thread and stack are 0 where they are not known. In no order. */
struct culled_totals {
	uint64_t blocks, bytes; /* as they are: a sampled one counts once */
	uint64_t frees;		/* the rest was ended by reallocations */
	uint64_t early; /* blocks that were sent before their time, for lack of room at the agent */
	uint64_t left_out; /* blocks in no row: there are too many */
};

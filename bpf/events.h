#pragma once
/*
 * The interface between the programs in the kernel and the agent: the records in a stream's ring
 * buffer, and the memory that the agent maps. The agent validates all of it.
 *
 * Each stream (a watched process between two execs) has its own ring buffer, so a slowly drained
 * stream costs the others nothing. Records are in the order of their reservation. `before` is taken
 * just before a record's reservation, and the stamp after it. A later record's stamp is therefore
 * never below the `before` of an earlier record.
 */
#include <stdint.h>

#define CAPTURE_CALLS  8     /* calls of one thread in flight, nested; a power of two */
#define CAPTURE_SAVED  6     /* ARCH_SAVED_MAX */
#define CAPTURE_THEIRS 16    /* files */
#define CAPTURE_PAGE   4096u /* as WALK_PAGE */
#define CAPTURE_COPY   (16 * CAPTURE_PAGE) /* of a stack, at most */

enum capture_type {
	CAPTURE_EVENT = 1,
	CAPTURE_RAW = 2,    /* an event whose stack the agent has to walk: struct capture_raw */
	CAPTURE_LOADER = 3, /* not an event: the loader is about to change the mappings, or has
			     * changed them; `keep` is the number of the call */
	CAPTURE_EXEC = 4,   /* not an event: later records are of the process's next program */
};

enum capture_flags {
	CAPTURE_HAS_STACK = 1,
};

/* `count` program counters follow, innermost first. The record may have room for more. */
struct capture_record {
	uint8_t type; /* enum capture_type */
	uint8_t kind; /* proto/event.h */
	uint16_t flags;
	uint32_t thread; /* the number of its struct capture_thread */
	uint32_t tid;
	uint32_t keep; /* outer frames of the thread's last stack that are unchanged */
	uint32_t count;
	uint32_t loads;	 /* capture_stream.loads at the event */
	uint64_t before; /* CLOCK_MONOTONIC in ns, like all times */
	uint64_t stamp;
	uint64_t address;
	uint64_t size;
	uint64_t old_address;
	uint64_t call_stamp;
	uint64_t interval; /* for a sample: the sampling interval in bytes; otherwise 0. For an
			    * mremap: the size of the old range */
};

struct capture_raw {
	struct capture_record record;
	uint64_t pc, sp, fp;	       /* the caller's frame */
	uint64_t saved[CAPTURE_SAVED]; /* arch_saved_registers */
	uint32_t miss;		       /* enum walk_miss */
	uint32_t length; /* bytes of `copy`, which starts with the page that contains sp */
	uint8_t copy[];
};

_Static_assert(sizeof(struct capture_record) == 80, "shared");
_Static_assert(sizeof(struct capture_raw) == 160, "shared");

/* A call in flight. */
struct capture_call {
	uint64_t word;	/* bpf/site.h */
	uint64_t frame; /* site_frame */
	uint64_t pc;	/* return address */
	uint64_t stamp;
	uint64_t size; /* as requested */
	uint64_t old;  /* the block that is moved or resized; POSIX: the address where the result is
			* stored */
	uint32_t was_sampled;
	uint32_t nowhere; /* TEXT_OWN: the result is not a block */
	uint32_t chosen;  /* the entry has decided to sample this call */
	uint32_t reserved;
	uint64_t interval; /* at the entry; for an mremap the size of the old range */
};

enum capture_thread_state { CAPTURE_THREAD_FREE, CAPTURE_THREAD_USED, CAPTURE_THREAD_DEAD };

/*
 * A thread of a watched process. Only programs that run in this thread write here, and only the
 * agent frees it (FREE). The counters only grow. Once the thread is dead and the ring is empty,
 * produced = records + not_sampled + lost + unanswered.
 */
struct capture_thread {
	/* The members that a call without a sample touches, in one cache line. */
	uint32_t tid;
	uint32_t tgid;
	uint32_t stream;
	uint32_t state;
	uint64_t produced;
	uint64_t not_sampled;
	uint64_t distance, interval; /* sampling */
	uint32_t depth;
	uint32_t reserved;
	uint64_t passed; /* further events that are produced and not sampled (bpf/pass.h) */
	uint64_t inner;	 /* events of the allocator's own calls */
	uint64_t random;
	uint64_t lost_allocations, lost_frees, lost_bytes; /* the ring was full */
	uint64_t unanswered, unanswered_bytes;		   /* allocations whose end was not seen */
	uint64_t left; /* calls that never returned, including the allocator's own */
	/* The current event. */
	uint64_t address, size, old_address, call_stamp, event_interval;
	uint64_t pc, sp, fp, saved[CAPTURE_SAVED]; /* of the caller */
	uint64_t chosen_interval;
	uint32_t kind, was_sampled, chosen;
	uint32_t image; /* of its stream when the thread got its place */
	struct capture_call call[CAPTURE_CALLS];
} __attribute__((aligned(64)));

/* A live sampled block. */
struct capture_block {
	uint64_t address;
	uint32_t stream;
	uint32_t image; /* of the stream */
};

/*
 * Counters of live sampled blocks, by a hash of their address. A counter has four bits, so that all
 * counters stay in the cache. Additions are to whole words: a counter that overflows carries into
 * the next one, and borrows back when it falls.
 */
#define CAPTURE_TALLIES 16 /* words, a power of two */
struct capture_tally {
	uint32_t word[CAPTURE_TALLIES];
};

/* From the lowest bit: the counter in a word, the word, the element of the map. */
#define CAPTURE_TALLY_BITS 7
static inline uint32_t capture_tally_hash(uint64_t address)
{
	return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15ull >> 32);
}

static inline uint32_t capture_tally_shift(uint32_t hash)
{
	return hash % 8 * 4;
}

enum capture_mode { CAPTURE_OFF, CAPTURE_FULL, CAPTURE_SAMPLE };

/* Reports to the agent's main loop, in a separate ring. They are about processes without a stream,
 * or about facts that a stream does not report. */
enum capture_news_type {
	CAPTURE_NEWS_EXEC = 1, /* the process has called exec */
	CAPTURE_NEWS_FORK = 2, /* the process has a child, or a new thread */
};

struct capture_news {
	uint32_t type;
	uint32_t tgid;
};

/* A watched process. The agent writes the first part. */
struct capture_stream {
	uint32_t tgid;	/* 0: unused */
	uint32_t ready; /* all its probes are set */
	uint32_t mode;
	uint32_t free_stacks;
	uint32_t closed; /* the map of sampled blocks lacks some of the recorded blocks */
	uint32_t space;	 /* walk_begin */
	uint64_t interval;
	uint64_t salt; /* changes with each change of the probes, which invalidates every struct
			* capture_word */
	uint64_t seed;
	uint64_t wake_bytes;				 /* this many bytes in the ring wake the
							  * agent */
	uint32_t rung;					 /* the agent was woken; the agent clears
							  * it */
	uint32_t image;					 /* execs so far */
	uint64_t no_thread_allocations, no_thread_frees; /* of threads without a place */
	uint64_t refused;				 /* samples refused because the map had no
							  * room */
	uint64_t cut;	       /* stacks that were not copied because the ring had no room */
	uint64_t waited_ns;    /* time that the program had to wait */
	uint32_t block;	       /* make the program wait when the ring fills. Written by the agent */
	uint32_t loads;	       /* changes of the mappings: by the loader, and by execs */
	uint32_t calls;	       /* calls of the loader: CAPTURE_LOADER */
	uint32_t answered;     /* last call that was answered. Written by the agent */
	uint32_t answers;      /* the agent will answer, so wait for it. Written by the agent */
	uint64_t loader_state; /* address of its r_debug.r_state; 0: not known. Written by the
				* agent */
	uint32_t follow;       /* report its children. Written by the agent */
	uint64_t break_at; /* where libc stores the break; 0: not known. Written by the agent, like
			    * `theirs`, the code whose mappings are not the program's own */
	struct {
		uint64_t start, size;
	} theirs[CAPTURE_THEIRS];
};

/*
 * The site word of a place, stored by the last hit there. Any thread may write here at any time.
 * The word is valid only if check ^ word ^ the stream's salt is the place's address.
 */
#define CAPTURE_WORDS 256 /* as many as a byte can index */
struct capture_word {
	uint64_t check;
	uint64_t word;
};

#pragma once
/*
 * What the programs in the kernel and the agent share: the records in a stream's ring buffer, and
 * the memory that the agent maps. The agent believes none of it unchecked.
 *
 * Each stream (a watched process between two execs) has a ring buffer of its own: who is drained
 * slowly loses nothing of the others. Records are in the order in which their places were reserved.
 * A record's stamp was taken after that, and `before` a moment before it: so whatever is reserved
 * later has a stamp that is not below the `before` of any record in front of it.
 */
#include <stdint.h>

#define CAPTURE_CALLS  8     /* of one thread in flight, one inside the other; a power of two */
#define CAPTURE_SAVED  6     /* ARCH_SAVED_MAX */
#define CAPTURE_THEIRS 16    /* files */
#define CAPTURE_PAGE   4096u /* of WALK_PAGE */
#define CAPTURE_COPY   (16 * CAPTURE_PAGE) /* of a stack, at most */

enum capture_type {
	CAPTURE_EVENT = 1,
	CAPTURE_RAW = 2,    /* an event whose stack the agent is to walk: struct capture_raw */
	CAPTURE_LOADER = 3, /* no event: the loader is about to change what is mapped, or has done
			       so; the `keep`-th time */
	CAPTURE_EXEC = 4,   /* no event: what follows is of the process's next program */
};

enum capture_flags {
	CAPTURE_HAS_STACK = 1,
};

/* `count` program counters follow, innermost first. The space for more is not part of them. */
struct capture_record {
	uint8_t type; /* enum capture_type */
	uint8_t kind; /* proto/event.h */
	uint16_t flags;
	uint32_t thread; /* the number of its struct capture_thread */
	uint32_t tid;
	uint32_t keep; /* outer frames of the thread's last stack that are still there */
	uint32_t count;
	uint32_t loads;	 /* of the process, when it happened */
	uint64_t before; /* CLOCK_MONOTONIC in ns, as all times */
	uint64_t stamp;
	uint64_t address;
	uint64_t size;
	uint64_t old_address;
	uint64_t call_stamp;
	uint64_t interval; /* sampled: of how many bytes on average one was hit; else 0. Of an
			      mremap: the size of the old range */
};

struct capture_raw {
	struct capture_record record;
	uint64_t pc, sp, fp;	       /* the caller's frame */
	uint64_t saved[CAPTURE_SAVED]; /* arch_saved_registers */
	uint32_t miss;		       /* enum walk_miss */
	uint32_t length; /* bytes of `copy`, which begins with the page that sp lies in */
	uint8_t copy[];
};

_Static_assert(sizeof(struct capture_record) == 80, "shared");
_Static_assert(sizeof(struct capture_raw) == 160, "shared");

/* A call under way. */
struct capture_call {
	uint64_t word;	/* bpf/site.h */
	uint64_t frame; /* site_frame */
	uint64_t pc;	/* return address */
	uint64_t stamp;
	uint64_t size; /* as asked for */
	uint64_t old;  /* the block that is moved or resized; POSIX: where the result goes */
	uint32_t was_sampled;
	uint32_t nowhere; /* TEXT_OWN: the result is no block */
	uint32_t chosen;  /* to be sampled: known at its entry */
	uint32_t reserved;
	uint64_t interval; /* then; of an mremap: the size of the old range */
};

enum capture_thread_state { CAPTURE_THREAD_FREE, CAPTURE_THREAD_USED, CAPTURE_THREAD_DEAD };

/*
 * A thread of a watched process. Only its own programs write here, and only the agent gives it back
 * (FREE). The counters only grow; produced = records + not_sampled + lost + unanswered once the
 * thread is dead and the ring is empty.
 */
struct capture_thread {
	/* All that a call which is no sample touches: one line of the cache. */
	uint32_t tid;
	uint32_t tgid;
	uint32_t stream;
	uint32_t state;
	uint64_t produced;
	uint64_t not_sampled;
	uint64_t distance, interval; /* sampling */
	uint32_t depth;
	uint32_t reserved;
	uint64_t passed; /* produced and not sampled, beside those above (bpf/pass.h) */
	uint64_t inner;	 /* events of an allocator's own */
	uint64_t random;
	uint64_t lost_allocations, lost_frees, lost_bytes; /* the ring was full */
	uint64_t unanswered, unanswered_bytes;		   /* allocations whose end was not seen */
	uint64_t left; /* calls that never came back, an allocator's own among them */
	/* The event under way. */
	uint64_t address, size, old_address, call_stamp, event_interval;
	uint64_t pc, sp, fp, saved[CAPTURE_SAVED]; /* of the caller */
	uint64_t chosen_interval;
	uint32_t kind, was_sampled, chosen;
	uint32_t image; /* of its stream, which it began in */
	struct capture_call call[CAPTURE_CALLS];
} __attribute__((aligned(64)));

/* A sampled block that lives. */
struct capture_block {
	uint64_t address;
	uint32_t stream;
	uint32_t image; /* of it */
};

/*
 * How many of them there are, by a hash of their address: four bits each, so that it all stays in
 * the cache. They are added to as a whole; a sum that is too large for its place runs over into the
 * next one, and comes back from there.
 */
#define CAPTURE_TALLIES 16 /* words, a power of two */
struct capture_tally {
	uint32_t word[CAPTURE_TALLIES];
};

/* From the lowest bit: which of a word, which word, which element of the map. */
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

/* What the agent's main loop is told, of processes that have no stream or whose stream does not say
 * it, in a ring of its own. */
enum capture_news_type {
	CAPTURE_NEWS_EXEC = 1, /* it has another program */
	CAPTURE_NEWS_FORK = 2, /* it has a child, or a new thread */
};

struct capture_news {
	uint32_t type;
	uint32_t tgid;
};

/* A watched process. The agent writes the first part. */
struct capture_stream {
	uint32_t tgid;	/* 0: nobody */
	uint32_t ready; /* all its probes are set */
	uint32_t mode;
	uint32_t free_stacks;
	uint32_t closed; /* the map of sampled blocks has not all that is on record */
	uint32_t space;	 /* walk_begin */
	uint64_t interval;
	uint64_t salt; /* another one after each change of the probes: no struct capture_word is
			  right any more */
	uint64_t seed;
	uint64_t wake_bytes;				 /* so much in the ring wakes the agent */
	uint32_t rung;					 /* and has; the agent clears it */
	uint32_t image;					 /* execs so far */
	uint64_t no_thread_allocations, no_thread_frees; /* of threads without a place */
	uint64_t refused;				 /* samples, for lack of room in the map */
	uint64_t cut;	    /* stacks that were not copied, for lack of room in the ring */
	uint64_t waited_ns; /* for which the program was held up */
	uint32_t block;	    /* hold it up where the ring fills. The agent's */
	uint32_t loads; /* changes of what is mapped: those that the loader has made, and execs */
	uint32_t calls; /* of the loader's: CAPTURE_LOADER */
	uint32_t answered;     /* of them. The agent's */
	uint32_t answers;      /* it does, so wait for it. The agent's */
	uint64_t loader_state; /* address of its r_debug.r_state; 0: not known. The agent's */
	uint32_t follow;       /* its children are of interest. Likewise */
	uint64_t break_at; /* where libc keeps the break; 0: that is not known. Likewise, as is the
			      code of those whose mappings are not the program's */
	struct {
		uint64_t start, size;
	} theirs[CAPTURE_THEIRS];
};

/*
 * The site word of a place, as the last hit there has found it. Any thread may write here at any
 * time: it is right only if check ^ word ^ the stream's salt is the place's address.
 */
#define CAPTURE_WORDS 256 /* as many as a byte tells apart */
struct capture_word {
	uint64_t check;
	uint64_t word;
};

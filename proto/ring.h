#pragma once
/*
 * The ring: memory that one recorded process and its agent share.
 *
 * The agent makes it (memfd_create, sealed against shrinking and growing), and sends the descriptor
 * in answer to a ring_hello. It outlives the program: what was published before a SIGKILL is read
 * afterwards.
 *
 * It has its largest size from the start, but may be sparse: there are the header, the channel, the
 * set, and the first `slice_count` slices with their data, on pages that the agent has allocated,
 * so that they are charged to it and not to the program. As the program needs more (`wants`) and
 * the agent has memory for it, it allocates those of further slices and then raises `slice_count`.
 * The program touches nothing beyond.
 *
 *   0                 struct ring_header one page and more, see RING_HEADER_SIZE
 *   slices_offset     struct ring_slice [slice_count]
 *   modules_offset    module channel, modules_size bytes       records of struct ring_module
 *   set_offset        struct ring_set_line [set_lines]         sampled blocks that are alive
 *   data_offset       the slices' data, each a power of two
 *   size
 *
 * A slice belongs to one thread of the program, its only writer; the agent is its only reader.
 * Positions count words of 8 bytes and never wrap; the place in the data is `position & (words -
 * 1)`.
 *
 *        tail                head
 *         | records to read   | free record: ring_word 0..2, extra words, program counters
 *   ------+===================+--------------------
 *
 * Invariants
 *  1. A record lies in one piece. What is left at the end of the data and too short is skipped by a
 *     RING_PAD record.
 *  2. `head` is stored with release order after the record is complete; `tail` with release order
 *     after it was read.
 *  3. A module is published in the channel before the first program counter inside it is published
 *     in any slice. The agent reads all heads, then the channel, then records up to those heads.
 *  4. `events` is raised before the first word of an event is written, and for events that are
 *     lost. So for a thread that is dead: the sum over its slices of events - (events read) -
 *     lost.events is 1 if it died in the middle of one, else 0. (Who moves on in the middle of one
 *     writes it in the next slice, whose `thread_first` counts it.) What sampling passes over is
 *     counted in `not_sampled` and nowhere else: one store is all that such an event costs here.
 *  5. While `entered` is not 0, no record that the thread is about to publish has a stamp older
 *     than it. While it is 0, none has a stamp older than the moment of looking, less the store
 *     buffer's delay (the agent takes RING_STAMP_SLACK_NS off).
 *
 * Who trusts whom: the program trusts the agent (same user, or root). The agent does not trust the
 * ring: it reads each word once, checks it, and never follows a pointer out of it.
 *
 * Byte order and word size. The layout is one for all processors: fields have a fixed width and lie
 * at a multiple of it, addresses take 64 bits. All words are in the byte order of the program, from
 * the first that the agent writes on: it is the ring_hello that says which order that is (its
 * `magic` reads backwards in the other one). An agent reads rings of either; so a program that an
 * emulator runs is recorded by the agent of the machine that it really is on. In the agent's own
 * order are only the notes that no program reads: ring_account but `incarnation`, and ring_slice
 * from `thread` to `thread_passed`.
 */
#include <stdint.h>
#include <assert.h>

#define RING_MAGIC	    0x474e4952u /* "RING" read as little-endian */
#define RING_VERSION	    1
#define RING_HEADER_SIZE    4096
#define RING_STREAM_ID_SIZE 16
#define RING_STAMP_SLACK_NS 50000

/* Longest stack of a record: `keep` has 12 bits and `count` 10. */
#define RING_MAX_KEEP  4095
#define RING_MAX_COUNT 1023

/* A thread begins in a slice of RING_FIRST_WORDS. If there is none, in a smaller one, down to
 * RING_MIN_WORDS, where stacks deeper than about 90 frames are cut; else in what is left. */
#define RING_FIRST_WORDS 1024
#define RING_MIN_WORDS	 256

/* States of a slice. The program claims a free one by compare-and-swap and puts it to OWNED once
 * its owner word is locked; the agent sets FREE again after it has read all that a dead or moved
 * owner left. */
enum ring_slice_state {
	RING_SLICE_FREE = 0,
	RING_SLICE_CLAIMING =
		1, /* between the two steps; `owner_tid` says who, should it die there */
	RING_SLICE_OWNED = 2,
	RING_SLICE_LEFT = 3, /* its owner has gone on in another slice (RING_MOVE) or given it up */
};

/* Cumulative counts of what was not recorded. Written by the owner (in the header: by anybody,
 * atomically). */
struct ring_losses {
	uint64_t events;
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes; /* of the allocations */
};

struct ring_slice {
	/* Set by the agent before the ring is handed out. */
	uint64_t data_offset; /* from the start of the ring, multiple of 64 */
	uint64_t words;	      /* a power of two, at least RING_MIN_WORDS */
	char name[16]; /* of the owner when it claimed this (PR_GET_NAME), stored by it; empty: not
			  known */
	uint64_t reserved0[4];

	/* The program's line: stored by the owner only. */
	uint64_t head;	  /* words published */
	uint64_t entered; /* stamp: see invariant 5; 0: the thread is in no hook */
	uint64_t events;  /* events begun in this slice since it was claimed, those passed over left
			     out */
	uint64_t not_sampled; /* events passed over by sampling */
	struct ring_losses lost;

	/* Who owns it. `state` is claimed by the program and freed by the agent. */
	uint32_t state;
	uint32_t owner_tid;
	uint32_t generation; /* raised with each claim */
	uint32_t full_waits; /* times that the owner waited for room */
	uint64_t claim_stamp;
	uint64_t thread_first; /* events that this thread had begun in slices before this one */
	/* A robust, process-shared mutex of the program's own libc, locked by the owner for as long
	 * as it lives: at its end, by exit, kill or exec, the kernel sets FUTEX_OWNER_DIED in the
	 * word at ring_header.owner_word_offset in here. */
	uint8_t owner[64];
	uint32_t incarnation; /* of the agent that the owner knew when it claimed this; another one
				 waits for a RING_CUT */
	uint32_t reserved1[3];
	uint64_t waited_ns;    /* for room, all together */
	uint64_t waited_stamp; /* when the last of those waits ended */

	/* The agent's line. */
	uint64_t tail;	 /* words read */
	uint64_t wanted; /* set by the owner: it waits until `tail` is there; 0: it does not wait */
	uint32_t tail_futex; /* raised when `tail` is where the owner wants it: that is what it
				waits on */
	/* The owner's account over all of its slices, for an agent that takes the ring up (struct
	 * ring_account). */
	uint32_t thread; /* its number in the stream; 0: the agent has not seen this slice yet */
	uint64_t thread_delivered; /* events in batches that were closed, and perhaps in the one
				      under construction */
	uint64_t thread_lost;	   /* in gaps, likewise */
	uint64_t thread_passed;	   /* passed over by sampling in slices before this one */
	uint64_t reserved2[2];
};
static_assert(sizeof(struct ring_slice) == 320, "layout of struct ring_slice");

/*
 * Sampled blocks that are alive, in a set that all threads of the program share: the free of any
 * other block is passed over after a look at a count (agent/preload/record/sample.h). A line is the
 * home of the addresses that hash to it; where it is full they go to one of the next
 * (RING_SET_REACH lines in all). `spilled` is raised before an address of this home is put outside
 * of it, and lowered after it is gone. Only the program reads and writes it; where there is no room
 * for a block it is not sampled, and counted in ring_header.samples_refused.
 */
#define RING_SET_ENTRIES 7
#define RING_SET_REACH	 4

struct ring_set_line {
	uint64_t entry[RING_SET_ENTRIES]; /* addresses; 0: free */
	uint32_t reserved;
	uint32_t spilled;
};
static_assert(sizeof(struct ring_set_line) == 64, "one line of the cache");

/* Sample intervals above this are taken for this one: 4 GiB. */
#define RING_INTERVAL_MAX ((uint64_t)1 << 32)

enum ring_mode { RING_OFF = 0, RING_FULL = 1, RING_SAMPLE = 2 };
/* What a thread does that finds no room, nor a larger slice:
 *	RING_BLOCK	it waits, up to block_max_ms at a time
 *	RING_THIN	it waits while the account of all its process's waits permits (struct
 *			ring_waits); then it is sampled more thinly
 *	RING_COUNT	it goes on, and counts what it does not record */
enum ring_policy { RING_BLOCK = 0, RING_THIN = 1, RING_COUNT = 2 };

/*
 * The agent's notes for the one that takes the ring up when it is gone (agent/serve/takeup.h);
 * the program reads none of it but `incarnation`. The numbers are those of before the last batch
 * that the collector may have, or higher: written before the batch leaves, so that what they say
 * was delivered is all that can have been.
 */
struct ring_account {
	uint32_t incarnation; /* of the agent's life with this stream, from 1. A new one raises it,
				 then `control` */
	uint32_t lockable;    /* the agent holds a lock (flock) on the memory, on a file description
				 that nobody else has */
	uint64_t start_ns;    /* CLOCK_MONOTONIC and */
	uint64_t start_wall_ns; /* CLOCK_REALTIME at stream time 0 */
	uint64_t start_ticks;	/* of the program: with its pid, as the agent sees it, names it once
				   and for all */
	uint32_t pid;
	uint32_t image;
	uint32_t threads; /* the highest number that was given to one */
	uint32_t has_parent;
	uint8_t parent_stream[RING_STREAM_ID_SIZE];
	uint64_t parent_event;
	uint64_t watermark_ns;
	uint64_t stacks_cut;
	uint64_t delivered[3];	     /* allocations, frees, bytes */
	struct ring_losses lost;     /* in all gaps */
	struct ring_losses no_slice; /* of these, those of ring_header.no_slice */
	/* Sums of the threads that have no slice any more. [turn & 1] holds; the other one is
	 * written, `turn` raised, and then the slice named in it is freed: whatever comes in
	 * between, each thread is counted once. */
	uint32_t turn;
	uint32_t reserved;
	struct ring_gone {
		uint64_t produced, delivered, lost, not_sampled;
		uint32_t slice; /* index + 1 of the one that was counted last */
		uint32_t generation;
	} gone[2];
};
static_assert(sizeof(struct ring_account) == 264, "layout of struct ring_account");

/*
 * Where the ring belongs to, and what was settled for its program when it asked: notes of the agent
 * for the one that takes the ring up, which must have the same `mark`. That is a MAC under the
 * agent's key, so it tells nothing of it.
 */
#define RING_MARK_SIZE	32
#define RING_OUTPUT_MAX 1024

struct ring_home {
	uint8_t mark[RING_MARK_SIZE]; /* of socket, network namespace, key and stream
					 (agent/serve/home.h) */
	uint32_t file_number; /* the recording's name was taken: it is NAME-number; 0: it was not */
	uint32_t follow;
	uint32_t allocator;
	uint32_t output_owner; /* the highest: nobody else */
	uint64_t figures_ns;
	uint64_t maps_ns;
	uint64_t cull_ns;
	char output[RING_OUTPUT_MAX]; /* that the program has asked for; empty: it has not */
};
static_assert(sizeof(struct ring_home) == 1096, "layout of struct ring_home");

/* What `clock` says about stamps. */
enum ring_clock {
	RING_CLOCK_NONE = 0,
	RING_CLOCK_TSC =
		1, /* x86 time stamp counter, ordered (rdtscp); same in all processes of the host */
	RING_CLOCK_MONOTONIC = 2, /* CLOCK_MONOTONIC in ns */
	RING_CLOCK_CNTVCT = 3,	  /* AArch64 virtual counter, ordered (isb) */
};

/*
 * What the program's allocator says of itself (mallinfo2 of glibc). The agent raises `asked`, and
 * ring_header.control so that it is seen; the first thread that sees it answers at the start of a
 * hook. `sequence` is 2 * asked once that was answered, and one less while a thread writes: who
 * takes it from even to odd is the only writer.
 */
#define RING_ALLOCATOR_FIGURES 10 /* the members of struct mallinfo2, in their order */

struct ring_allocator {
	uint32_t asked;	   /* by the agent */
	uint32_t sequence; /* atomic; 0: never answered */
	uint64_t stamp[2]; /* before and after */
	uint64_t figure[RING_ALLOCATOR_FIGURES];
};

/*
 * How long the program's threads have waited for room, all together: with RING_THIN no more than
 * RING_WAIT_MOST_NS in any RING_WAIT_WINDOW_NS. Time (CLOCK_MONOTONIC) is cut into pieces of 1 <<
 * RING_WAIT_SHIFT ns. The word of piece n is number n modulo RING_WAIT_PIECES: the low half of n,
 * and below it the ns that were waited in it. Only the program reads and writes these, atomically
 * (agent/preload/record/patience.h).
 */
#define RING_WAIT_MOST_NS   10000000
#define RING_WAIT_WINDOW_NS 100000000
#define RING_WAIT_SHIFT	    23
#define RING_WAIT_PIECES    16

struct ring_waits {
	uint64_t piece[RING_WAIT_PIECES];
};

struct ring_header {
	/* Set by the agent before the ring is handed out, constant from then on but for
	 * `slice_count`. */
	uint32_t magic;
	uint32_t version;
	uint64_t size;
	uint64_t slices_offset;
	uint32_t slice_count; /* that are there; raised by the agent, never lowered */
	uint32_t slices_most; /* that there will be at most: where this is more, `wants` may be
				 heard */
	uint64_t modules_offset;
	uint64_t modules_size; /* a power of two */
	uint64_t data_offset;
	uint8_t stream[RING_STREAM_ID_SIZE];
	uint64_t set_offset;
	uint64_t set_lines; /* a power of two; 0: there is no set, and nothing can be sampled */
	uint32_t counter;   /* enum ring_clock: the processor's counter whose stamps the agent can
			     * read; 0: none. A program that an emulator runs sees another counter, or
			     * another rate: what is not this one is no clock for stamps */
	uint32_t unflagged; /* not 0: an emulator runs the program, and the kernel flags no ends of
			       its threads in ring_slice.owner */
	uint64_t reserved1[4];

	/* Set by the agent at any time, read by the program at every event (one line, shared). */
	uint32_t control;	  /* raised after each change below */
	uint32_t mode;		  /* enum ring_mode */
	uint32_t policy;	  /* enum ring_policy */
	uint32_t block_max_ms;	  /* RING_BLOCK: longest stall for lack of room, then as RING_COUNT
				     until half empty */
	uint64_t sample_interval; /* bytes */
	uint32_t frees_have_stacks;
	uint32_t depth_limit; /* frames kept of a stack, the outer ones */
	uint32_t heartbeat;   /* raised by the agent at least ten times a second */
	uint32_t detached;    /* not 0: the agent wants nothing more of this process */
	uint32_t verify;      /* 0: walk every stack in full (USE_SHADOW_STACK=0) */
	uint32_t resume;   /* enum ring_mode to go on in after RING_OFF: the agent's note, for one
			      that takes the ring up */
	uint32_t filtered; /* enum ring_filtered: what holds in the program and was not told by it
			      (`filters`) */
	uint32_t reserved2;

	/* Set by the program at the handshake. */
	uint32_t byte_order; /* 0x01020304, stored by the program */
	uint32_t pointer_bits;
	uint32_t clock;		    /* enum ring_clock */
	uint32_t owner_word_offset; /* of the futex word in ring_slice.owner */
	uint32_t page_size;
	uint32_t pid;
	uint32_t image;	  /* raised with each exec */
	uint32_t machine; /* e_machine of ELF */
	uint32_t reserved3[8];

	/* Set by the program while it runs. */
	uint32_t doorbell; /* futex: raised when a slice crosses half full and `sleeping` is set */
	uint32_t sleeping; /* set by the agent before it waits on the doorbell */
	uint32_t epoch;	   /* raised with each change of the modules that could make an address mean
			      another thing */
	uint32_t modules_lost; /* announcements that found no room in time */
	uint64_t modules_head; /* bytes published in the channel */
	uint64_t modules_tail; /* bytes read; stored by the agent */
	uint64_t settled; /* events of owners that are gone, whose slices begin at 0 again; by the
			     agent */
	struct ring_losses no_slice; /* atomic: threads without a slice */
	uint32_t exit_kind;	     /* enum ring_exit, stored when the program asks for its end */
	uint32_t exit_status;
	uint32_t claims;  /* atomic: raised after each claim of a slice, before its first record */
	uint32_t patched; /* functions of the program's own that were patched (struct ring_entry);
			     all images */
	uint64_t samples_refused; /* atomic: blocks that found no room in the set of sampled ones */
	uint32_t strict;	  /* RING_STRICT_*: what the program has forbidden itself */
	uint32_t filters;	  /* seccomp filters that it knows of: of a thread the most */
	uint64_t tick;	/* RING_STRICT_TICKS: what was stamped last, atomically raised by 1 for each
			 * stamp; the agent lifts it to what the clock says whenever it looks, and at
			 * least each millisecond */
	uint32_t wants; /* atomic: raised when a thread has found no free slice, or none that is
			   larger than its own */
	uint32_t refused; /* as much of `wants` as the agent has heard and could do nothing about;
			     by the agent */
	uint64_t before;  /* events that the program had begun before it had this ring */
	uint32_t stacks_unknown; /* atomic: stacks that end where the loader could not be asked what
				    holds an address */
	uint32_t namespaces; /* atomic: that the program has opened (dlmopen, LM_ID_NEWLM): their
				own malloc is not recorded */
	uint64_t reserved4[1];

	struct ring_allocator allocator;
	struct ring_account account;
	struct ring_home home;
	struct ring_waits waits;
};
static_assert(sizeof(struct ring_header) <= RING_HEADER_SIZE, "the header fits its page");

/*
 * A program may forbid itself system calls (seccomp), or to read its counter (prctl, PR_SET_TSC).
 * POLLED: threads of it neither wake nor wait; the agent looks each millisecond. TICKS: stamps come
 * from `tick`, from here on in all threads. So their order is exact, and their time is that of the
 * agent's last look: none that is taken after a look is below what `tick` was there.
 */
#define RING_STRICT_POLLED 1u
#define RING_STRICT_TICKS  2u

/* A filter that was set without the library's knowledge, by a bare instruction: as the agent sees
 * it in /proc. */
enum ring_filtered {
	RING_FILTERED_NOT = 0,
	RING_FILTERED_CALLS = 1,
	RING_FILTERED_STRICT = 2 /* mode strict: the counter, too */
};

enum ring_exit {
	RING_EXIT_NONE = 0,
	RING_EXIT_EXIT = 1,
	RING_EXIT_IMMEDIATE = 2,
	RING_EXIT_QUICK = 3,
	RING_EXIT_ABORT = 4
};

/*
 * Records. Word 0, from the lowest bit:
 *
 *   kind 8 | count 10 | keep 12 | large 1 | weighted 1 | size 32
 *
 *   kind      an EventKind of heapcast.proto below RING_AUX, else an enum ring_aux
 *   count     new program counters at the end of the record, innermost first
 *   keep      outer frames of this thread's last stack that are still there
 *   large     the size does not fit 32 bits: `size` is 0 and an extra word has it
 *   weighted  sampled: an extra word has the sample interval R in bytes that was in force. A block
 *             of `size` S below R was recorded with the probability 1 - exp(-max(S, 1) / R); one of
 *             R bytes or more always is, and is not weighted
 *
 * Word 1: address. Word 2: stamp (allocations: after the allocator returned; frees: before it is
 * called). Extra words, in this order, where they apply: size (large), interval (weighted), and for
 * reallocations the old address and the stamp of the call. Then `count` program counters. Each lies
 * one past an instruction of the call (or of the interrupted instruction), so that `pc - 1` is
 * always inside it.
 *
 * An event without a stack has keep = 0 and count = 0, and leaves the thread's last stack as it
 * was. Values below 4096 among the program counters are no addresses: they stand for what could not
 * be walked, numbered as enum PseudoFrame in heapcast.proto (1, outermost: outer frames are
 * missing; 2, innermost: inner frames were left out). The first event in a slice, and the first
 * after RING_LOST, RING_EPOCH or RING_CUT, has its whole stack (keep = 0).
 */
#define RING_AUX 128

enum ring_aux {
	RING_PAD = 128,	 /* word 0 only: go to the start of the data */
	RING_LOST = 129, /* 5 words: word 1 stamp; then events, allocations << 32 | frees, bytes:
			    lost since the last event. Counts saturate; ring_slice.lost is exact */
	RING_EPOCH =
		130, /* 3 words: word 1 epoch: what follows was walked with the modules as of then;
			word 2 stamp. A slice begins in epoch 0 each time that it is claimed */
	RING_MOVE = 131, /* 3 words: word 1: index of the slice in which this thread goes on; the
			    last in its slice */
	RING_MARK = 132, /* 3 words: word 1 value, word 2 stamp; `size` is a MarkKind */
	RING_CUT = 134,	 /* 8 words: word 1 incarnation, word 2 stamp, `events` and `lost` of the
			    slice as of here. Another agent  has taken the ring up: what this thread
			    put before is of no use to it, and the next event has  its whole stack.
			    The slice is in epoch 0 again */
	RING_TEXT = 133, /* 3 + count words: word 1 length in bytes, word 2 stamp; then the text;
			    `size` is a MarkKind */
};

#define RING_WORD0(kind, count, keep, large, weighted, size)                                       \
	((uint64_t)(kind) | (uint64_t)(count) << 8 | (uint64_t)(keep) << 18 |                      \
	 (uint64_t)(large) << 30 | (uint64_t)(weighted) << 31 | (uint64_t)(size) << 32)

static inline unsigned ring_kind(uint64_t word0)
{
	return word0 & 0xff;
}

static inline unsigned ring_count(uint64_t word0)
{
	return word0 >> 8 & 0x3ff;
}

static inline unsigned ring_keep(uint64_t word0)
{
	return word0 >> 18 & 0xfff;
}

static inline unsigned ring_large(uint64_t word0)
{
	return word0 >> 30 & 1;
}

static inline unsigned ring_weighted(uint64_t word0)
{
	return word0 >> 31 & 1;
}

/* Neither large nor weighted. */
static inline unsigned ring_plain(uint64_t word0)
{
	return !(word0 & UINT64_C(3) << 30);
}

static inline uint32_t ring_size(uint64_t word0)
{
	return (uint32_t)(word0 >> 32);
}

/* An announcement in the module channel. Positions there count bytes; a record is a multiple of 8
 * bytes long, lies in one piece, and `kind` RING_MODULE_PAD skips what is left at the end. After
 * the struct: segments, then the path. */
enum ring_module_kind { RING_MODULE_PAD = 0, RING_MODULE_LOAD = 1, RING_MODULE_UNLOAD = 2 };

struct ring_module {
	uint32_t length; /* bytes, all included */
	uint16_t kind;
	uint16_t path_length;
	uint32_t id;	/* from 1; an UNLOAD names the id of its LOAD */
	uint32_t epoch; /* first epoch in which it is there, or is there no more */
	uint64_t stamp;
	uint64_t bias;	/* address = bias + p_vaddr */
	uint64_t start; /* lowest and one past the highest mapped address */
	uint64_t end;
	uint8_t build_id_length;
	uint8_t segment_count;
	uint8_t reserved[2];
	uint32_t print; /* of a file without a build id: two files under one name have, most likely,
			   two */
	uint8_t build_id[32];
	struct {
		uint64_t address; /* p_vaddr */
		uint64_t size;	  /* p_memsz */
		uint64_t file_offset;
		uint64_t flags; /* p_flags */
	} segment[];
};
static_assert(sizeof(struct ring_module) == 88, "layout of struct ring_module");

/*
 * The handshake: one message each way (more back, if RING_WAIT or RING_SAY come before the answer)
 * on a Unix socket of type SOCK_SEQPACKET (an inherited descriptor named by HEAPCAST_FD as
 * "NUMBER:INODE", so that no other socket is taken for it in a child that has inherited the
 * variable only; or the path in HEAPCAST_SOCKET, where one that begins with '@' is abstract). The
 * answer to an accepted hello carries the ring's descriptor. Who the peer is the agent takes from
 * the socket's credentials, not from here. Both messages are in the program's byte order, but for a
 * RING_WAIT that was sent before the hello: that is in the agent's.
 */
enum ring_answer_kind {
	RING_ACCEPTED = 1,
	RING_REFUSED = 2, /* this process is not to be recorded (a child that nobody asked for) */
	RING_BUSY = 3,	  /* no room for another ring */
	RING_BAD_VERSION = 4,
	RING_WAIT = 5, /* the answer may take longer than a second (a large program is looked
			* through for an allocator, a ring is emptied for the next image; whoever
			* started the program is in no hurry): another follows, once. It may lie
			* there before the hello is sent */
	RING_SAY = 6,  /* up to RING_SAY_MAX bytes of text follow, without a newline: a setting of
			* this program that is not honoured, for its standard error. The answer comes
			* behind it */
	RING_COUNTED =
		7, /* no room for a ring: the descriptor is of a header alone, without a slice and
		    * without a channel. What the program begins is counted in `no_slice` */
};

#define RING_SAY_MAX 480

/*
 * Behind the hello: the settings in the program's environment, NAME=VALUE each with its zero, as
 * they are, all whose names begin with HEAPCAST_ or MEMORY_PROFILER_; RING_SETTINGS_MAX bytes at
 * most. Those that mean this program hold for it alone (agent/program_settings.h); an agent that
 * has other ones of those that mean an agent keeps its own, and says so.
 */
#define RING_SETTINGS_MAX 4096

struct ring_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t byte_order; /* 0x01020304 */
	uint32_t pointer_bits;
	uint32_t pid; /* as the program sees it; differs from the agent's view in a pid namespace */
	uint32_t flags; /* RING_HELLO_* */
	uint32_t reserved0;
	uint16_t machine;    /* e_machine of ELF; 0: not said */
	uint16_t page_shift; /* a page has 1 << page_shift bytes; 0: not said */
	uint64_t reserved1;
	uint8_t parent_stream[RING_STREAM_ID_SIZE]; /* of a followed fork child, else zero */
	uint64_t parent_event;			    /* 0: the agent counts, when it is asked */
};
static_assert(sizeof(struct ring_hello) == 64, "layout of struct ring_hello");

#define RING_HELLO_FORKED 1u /* a fork child that goes on without exec */
/* and that can't be recorded: it wants no ring, the agent is to count it */
#define RING_HELLO_UNREADY 2u
/* main has not begun, and the library can patch functions: it asks for entries */
#define RING_HELLO_EARLY 4u

struct ring_answer {
	uint32_t magic;
	uint32_t version;
	uint32_t kind;	/* enum ring_answer_kind */
	uint32_t flags; /* RING_ANSWER_* */
	uint64_t size;	/* of the ring */
};
#define RING_ANSWER_FOLLOW 1u /* a fork child is to say hello as well, with RING_HELLO_FORKED */

static_assert(sizeof(struct ring_answer) == 24, "layout of struct ring_answer");

/*
 * Behind the answer to an early hello, up to RING_ENTRIES_MAX of these: functions of an allocator
 * that is linked into the program itself, whose calls pass no table of the loader. The library
 * writes a jump to its hook over the first instructions of each, after it has seen that they are
 * what the agent has read in the file, and puts what they do elsewhere:
 *
 *	address: jmp hook             moved: what stood there
 *	address + length: the rest <-------- jmp
 *
 * `moved` does what the `length` bytes in `was` do, wherever it lies, once the 32-bit distances at
 * fix[] (each one more than where it is in `moved`; 0: none) have been corrected: they are right
 * for code at `address`.
 */
#define RING_ENTRIES_MAX 96
#define RING_ENTRY_WAS	 24
#define RING_ENTRY_MOVED 40

struct ring_entry {
	uint64_t address; /* p_vaddr in the program */
	uint8_t function; /* which it is: index of allocator_functions (agent/allocator_functions.h)
			   */
	uint8_t heap;	  /* 1: its first argument is a heap */
	uint8_t length;
	uint8_t moved_length;
	uint8_t fix[2];
	uint8_t reserved[2];
	uint8_t was[RING_ENTRY_WAS];
	uint8_t moved[RING_ENTRY_MOVED];
};
static_assert(sizeof(struct ring_entry) == 80, "layout of struct ring_entry");

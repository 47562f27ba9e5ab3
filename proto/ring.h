#pragma once
/*
 * The ring: shared memory between one recorded process and its agent.
 *
 * The agent creates the ring (memfd_create, sealed against shrinking and growing) and sends the
 * descriptor in its answer to a ring_hello (ring_handshake.h). The ring outlives the program: the
 * agent can still read what the program published before a SIGKILL.
 *
 * The ring has its largest size from the start, but the file may be sparse. The agent allocates the
 * pages of the header, the module channel, the set, and the first `slice_count` slices with their
 * data. The kernel charges these pages to the agent and not to the program. When the program needs
 * more slices (`wants`) and the agent has memory for them, the agent allocates their pages and then
 * raises `slice_count`. The program touches no slice beyond `slice_count`.
 *
 *   0                 struct ring_header one page and more, see RING_HEADER_SIZE
 *   slices_offset     struct ring_slice [slice_count]
 *   modules_offset    module channel, modules_size bytes       records of struct ring_module
 *   set_offset        struct ring_set_line [set_lines]         sampled blocks in use
 *   data_offset       the slices' data, each a power of two
 *   size
 *
 * Each slice belongs to one thread of the program. This thread is the only writer, and the agent is
 * the only reader. Positions count words of 8 bytes and never wrap; the index into the data is
 * `position & (words - 1)`.
 *
 *        tail                head
 *         | records to read   | free record: ring_word 0..2, extra words, program counters
 *   ------+===================+--------------------
 *
 * Invariants
 *  1. A record is contiguous. If it does not fit before the end of the data, a RING_PAD record
 *     skips the rest.
 *  2. The program stores `head` with release order after the record is complete. The agent stores
 *     `tail` with release order after it has read the record.
 *  3. The program publishes a module in the channel before it publishes the first program counter
 *     inside that module in any slice. The agent reads all heads, then the channel, then the
 *     records up to those heads.
 *  4. The program raises `events` before it writes the first word of an event, and also for events
 *     that are lost. For a dead thread, the sum over its slices of events - (events read) -
 *     lost.events is therefore 1 if the thread died in the middle of an event, and 0 otherwise. (A
 *     thread that moves to another slice in the middle of an event writes the event in the next
 *     slice; `thread_first` of that slice counts it.) Events that sampling skips are counted in
 *     `not_sampled` and nowhere else: such an event costs a single store here.
 *  5. While `entered` is not 0, the thread will publish no record whose stamp is older than
 *     `entered`. While `entered` is 0, it will publish no record whose stamp is older than the
 *     moment at which the agent looks, less the delay of the store buffer (the agent subtracts
 *     RING_STAMP_SLACK_NS).
 *
 * Trust: the program trusts the agent, which runs as the same user or as root. The agent does not
 * trust the ring: it reads each word once, checks it, and never follows a pointer from the ring.
 *
 * Byte order and word size: the layout is the same on all processors. Fields have a fixed width and
 * natural alignment; addresses take 64 bits. All words are in the byte order of the machine, which
 * agent and program share. A program under an emulator may have the other order: the `magic` of its
 * hello then reads backwards, and the agent refuses the program. The agent of the emulated
 * processor, run in the same emulator, can record it.
 */
#include <stdint.h>
#include <assert.h>

#define RING_MAGIC	       0x474e4952u /* "RING" read as little-endian */
#define RING_MAGIC_OTHER_ORDER 0x52494e47u /* as it is read in the other byte order */
#define RING_ORDER_MARK	       0x01020304u /* byte_order in hello and header */
#define RING_VERSION	       1
#define RING_HEADER_SIZE       4096
#define RING_STREAM_ID_SIZE    16
#define RING_STAMP_SLACK_NS    50000

/* Longest stack of a record: `keep` has 12 bits and `count` 10. */
#define RING_MAX_KEEP  4095
#define RING_MAX_COUNT 1023

/* A thread and the agent can number up to RING_SAVED_MAX of the thread's stacks (RING_SAVE). An
 * event whose `count` is 0 and whose `keep` is RING_RECALL + number has that stack. */
#define RING_SAVED_MAX 32
#define RING_RECALL    2048

/* A thread starts in a slice of RING_FIRST_WORDS. If no slice of this size is free, it takes a
 * smaller one, down to RING_MIN_WORDS, where stacks deeper than about 90 frames are cut. Otherwise
 * it takes the smallest of the larger ones. */
#define RING_FIRST_WORDS 1024
#define RING_MIN_WORDS	 256

/* States of a slice. The program claims a free slice by compare-and-swap and sets OWNED once its
 * owner word is locked. The agent sets FREE again after it has read all records of an owner that
 * died or moved on. */
enum ring_slice_state {
	RING_SLICE_FREE = 0,
	/* Between the two steps. `owner_tid` names the thread in case it dies there. */
	RING_SLICE_CLAIMING = 1,
	RING_SLICE_OWNED = 2,
	/* The owner has moved to another slice (RING_MOVE) or has given this slice up. */
	RING_SLICE_LEFT = 3,
};

/* Cumulative counts of unrecorded events. The owner writes them; in the header, any thread does,
 * atomically. */
struct ring_losses {
	uint64_t events;
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes; /* of the allocations */
};

struct ring_slice {
	/* The agent sets these before it hands out the ring. */
	uint64_t data_offset; /* from the start of the ring, multiple of 64 */
	uint64_t words;	      /* a power of two, at least RING_MIN_WORDS */
	/* Name of the owner when it claimed the slice (PR_GET_NAME), stored by the owner; empty if
	 * unknown. */
	char name[16];
	uint64_t reserved0[4];

	/* The program's cache line: only the owner stores here. */
	uint64_t head;	  /* words published */
	uint64_t entered; /* stamp, see invariant 5; 0: the thread is in no hook */
	/* Events begun in this slice since it was claimed, without those that sampling skipped. */
	uint64_t events;
	uint64_t not_sampled; /* events skipped by sampling */
	struct ring_losses lost;

	/* Ownership. The program claims `state` and the agent frees it. */
	uint32_t state;
	uint32_t owner_tid;
	uint32_t generation; /* raised by each claim */
	uint32_t full_waits; /* number of times that the owner waited for room */
	uint64_t claim_stamp;
	uint64_t thread_first; /* events that this thread began in earlier slices */
	/* A robust, process-shared mutex of the program's own libc. The owner holds it for its
	 * whole life. When the owner ends by exit, kill or exec, the kernel sets FUTEX_OWNER_DIED
	 * in the word at ring_header.owner_word_offset within this array. */
	uint8_t owner[64];
	/* Incarnation of the agent that the owner knew when it claimed the slice. An agent of
	 * another incarnation waits for a RING_RESTART. */
	uint32_t incarnation;
	/* Stored by the owner: frames of all its numbered stacks (RING_SAVE). */
	uint32_t saved_frames;
	uint32_t reserved1[2];
	uint64_t waited_ns;    /* total time spent waiting for room */
	uint64_t waited_stamp; /* end of the last such wait */

	/* The agent's cache line. */
	uint64_t tail; /* words read */
	/* Set by the owner: the `tail` that it waits for; 0 if it does not wait. */
	uint64_t wanted;
	/* The owner waits on this futex. The agent raises it when `tail` has reached `wanted`. */
	uint32_t tail_futex;
	/* The owner's account over all of its slices, for an agent that takes over the ring (struct
	 * ring_account). */
	uint32_t thread; /* thread number in the stream; 0: the agent has not seen this slice yet */
	/* Events in closed batches, and possibly events in the open batch. */
	uint64_t thread_delivered;
	uint64_t thread_lost;	     /* events in gaps, with the same caveat */
	uint64_t thread_not_sampled; /* events skipped by sampling in earlier slices */
	uint64_t reserved2[2];
};
static_assert(sizeof(struct ring_slice) == 320, "layout of struct ring_slice");

/*
 * The set of sampled blocks that are in use. All threads of the program share it. A free of any
 * other block is skipped after a look at a counter (agent/preload/record/sample.h). A line is the
 * home of the addresses that hash to it. If the line is full, its addresses go to one of the next
 * lines (RING_SET_REACH lines in all). `spilled` of the home line is raised before an address is
 * stored in another line, and lowered after that address is removed. Only the program reads and
 * writes the set. A block that finds no room in the set is not sampled; ring_header.samples_refused
 * counts it.
 */
#define RING_SET_ENTRIES 7
#define RING_SET_REACH	 4

struct ring_set_line {
	uint64_t entry[RING_SET_ENTRIES]; /* addresses; 0: free */
	uint32_t reserved;
	uint32_t spilled;
};
static_assert(sizeof(struct ring_set_line) == 64, "one line of the cache");

/* Longer sample intervals are clamped to this one: 4 GiB. */
#define RING_INTERVAL_MAX ((uint64_t)1 << 32)

enum ring_mode { RING_OFF = 0, RING_FULL = 1, RING_SAMPLE = 2 };
/*
 * What a thread does when it finds neither room nor a larger slice:
 *	RING_BLOCK	it waits, up to block_max_ms at a time
 *	RING_THIN	it waits while the process's wait budget permits (struct ring_waits);
 *			then it samples more sparsely
 *	RING_COUNT	it continues, and counts the events that it does not record
 */
enum ring_policy { RING_BLOCK = 0, RING_THIN = 1, RING_COUNT = 2 };

/*
 * Notes of the agent for a successor that takes over the ring (agent/serve/takeup.h). The program
 * reads only `incarnation`. The numbers are those from before the last batch that the collector may
 * have, or higher. The agent writes them before the batch leaves, so the events that they count as
 * delivered include everything that can have been delivered.
 */
struct ring_account {
	/* Counts the agents that have served this stream, from 1. A new agent raises it, then
	 * `control`. */
	uint32_t incarnation;
	/* The agent holds a lock (flock) on the memory, on a file description that no other process
	 * has. */
	uint32_t lockable;
	uint64_t start_ns;	/* CLOCK_MONOTONIC at stream time 0 */
	uint64_t start_wall_ns; /* CLOCK_REALTIME at stream time 0 */
	/* Start time of the program. Together with the pid as the agent sees it, it identifies the
	 * program for good. */
	uint64_t start_ticks;
	uint32_t pid;
	uint32_t image;
	uint32_t threads; /* highest thread number given out */
	uint32_t has_parent;
	uint8_t parent_stream[RING_STREAM_ID_SIZE];
	uint64_t parent_event;
	uint64_t watermark_ns;
	uint64_t stacks_cut;
	uint64_t delivered[3];	     /* allocations, frees, bytes */
	struct ring_losses lost;     /* in all gaps */
	struct ring_losses no_slice; /* the part of `lost` that ring_header.no_slice counted */
	/* Sums over the threads that no longer have a slice. gone[turn & 1] is valid. The agent
	 * writes the other element, raises `turn`, and then frees the slice that this element
	 * names. Each thread is counted once, wherever the agent is interrupted. */
	uint32_t turn;
	uint32_t reserved;
	struct ring_gone {
		uint64_t produced, delivered, lost, not_sampled;
		uint32_t slice; /* index + 1 of the slice that was counted last */
		uint32_t generation;
	} gone[2];
};
static_assert(sizeof(struct ring_account) == 264, "layout of struct ring_account");

/*
 * Where the ring belongs, and the settings that were agreed for its program at the handshake. These
 * are notes of the agent for a successor that takes over the ring. The successor must have the same
 * `mark`. `mark` is a MAC under the agent's key, so it does not reveal the key.
 */
#define RING_MARK_SIZE	32
#define RING_OUTPUT_MAX 1024

struct ring_home {
	/* MAC over socket, network namespace, key and stream (agent/serve/home.h). */
	uint8_t mark[RING_MARK_SIZE];
	/* If the recording's name was taken, the file is called NAME-number; 0 if the name was
	 * free. */
	uint32_t file_number;
	uint32_t follow;
	uint32_t allocator;
	uint32_t output_owner; /* the highest value: no owner */
	uint64_t figures_ns;
	uint64_t maps_ns;
	uint64_t cull_ns;
	char output[RING_OUTPUT_MAX]; /* path that the program asked for; empty: none */
};
static_assert(sizeof(struct ring_home) == 1096, "layout of struct ring_home");

/* Source of the stamps, for `clock`. */
enum ring_clock {
	RING_CLOCK_NONE = 0,
	/* x86 time stamp counter, ordered (rdtscp); the same in all processes of the host. */
	RING_CLOCK_TSC = 1,
	RING_CLOCK_MONOTONIC = 2, /* CLOCK_MONOTONIC in ns */
	RING_CLOCK_CNTVCT = 3,	  /* AArch64 virtual counter, ordered (isb) */
};

/*
 * What the program's allocator reports about itself (mallinfo2 of glibc). The agent raises `asked`,
 * and ring_header.control so that threads notice. The first thread that notices answers at the
 * start of a hook. `sequence` is 2 * asked once this request is answered, and one less while a
 * thread writes. The thread that changes it from even to odd is the only writer.
 */
#define RING_ALLOCATOR_FIGURES 10 /* the members of struct mallinfo2, in their order */

struct ring_allocator {
	uint32_t asked;	   /* by the agent */
	uint32_t sequence; /* atomic; 0: never answered */
	uint64_t stamp[2]; /* before and after */
	uint64_t figure[RING_ALLOCATOR_FIGURES];
};

/*
 * How long the program's threads have waited for room, in total. With RING_THIN they wait at most
 * RING_WAIT_MOST_NS in any RING_WAIT_WINDOW_NS. Time (CLOCK_MONOTONIC) is divided into pieces of 1
 * << RING_WAIT_SHIFT ns. The word for piece n has the index n modulo RING_WAIT_PIECES: its upper
 * half holds the low half of n, its lower half the ns that were waited in this piece. Only the
 * program reads and writes these words, atomically (agent/preload/record/patience.h).
 */
#define RING_WAIT_MOST_NS   10000000
#define RING_WAIT_WINDOW_NS 100000000
#define RING_WAIT_SHIFT	    23
#define RING_WAIT_PIECES    16

struct ring_waits {
	uint64_t piece[RING_WAIT_PIECES];
};

struct ring_header {
	/* The agent sets these before it hands out the ring. They stay constant, except for
	 * `slice_count`. */
	uint32_t magic;
	uint32_t version;
	uint64_t size;
	uint64_t slices_offset;
	uint32_t slice_count; /* slices that exist; raised by the agent, never lowered */
	/* Upper limit of `slice_count`. While it is higher than `slice_count`, raising `wants` can
	 * help. */
	uint32_t slices_most;
	uint64_t modules_offset;
	uint64_t modules_size; /* a power of two */
	uint64_t data_offset;
	uint8_t stream[RING_STREAM_ID_SIZE];
	uint64_t set_offset;
	uint64_t set_lines; /* a power of two; 0: no set exists, and nothing can be sampled */
	/* enum ring_clock: the processor's counter whose stamps the agent can read; 0 if none. A
	 * program under an emulator sees another counter or another rate, and must not use a
	 * counter other than this one for stamps. */
	uint32_t counter;
	/* Not 0: an emulator runs the program, and the kernel does not flag the end of its threads
	 * in ring_slice.owner. */
	uint32_t unflagged;
	uint64_t reserved1[4];

	/* The agent sets these at any time; the program reads them at every event (one shared cache
	 * line). */
	uint32_t control; /* raised after each change below */
	uint32_t mode;	  /* enum ring_mode */
	uint32_t policy;  /* enum ring_policy */
	/* RING_BLOCK: longest stall for lack of room. After it the thread behaves as with
	 * RING_COUNT until the slice is half empty. */
	uint32_t block_max_ms;
	uint64_t sample_interval; /* bytes */
	uint32_t frees_have_stacks;
	uint32_t depth_limit; /* frames kept of a stack, counted from the outermost */
	uint32_t heartbeat;   /* raised by the agent at least ten times a second */
	uint32_t detached;    /* not 0: detached; the agent wants nothing more of this process */
	uint32_t verify;      /* 0: walk every stack in full (USE_SHADOW_STACK=0) */
	/* enum ring_mode in which to resume after RING_OFF: a note of the agent for a successor
	 * that takes over the ring. */
	uint32_t resume;
	/* enum ring_filtered: filters in force in the program that it has not reported in
	 * `filters`. */
	uint32_t filtered;
	/* How many frames the numbered stacks of all threads together may have. 0: no stack may be
	 * numbered (an agent that does not know RING_SAVE). */
	uint32_t saved_frames_max;

	/* The program sets these at the handshake. */
	uint32_t byte_order; /* 0x01020304, stored by the program */
	uint32_t pointer_bits;
	uint32_t clock;		    /* enum ring_clock */
	uint32_t owner_word_offset; /* of the futex word in ring_slice.owner */
	uint32_t page_size;
	uint32_t pid;
	uint32_t image;	  /* raised by each exec */
	uint32_t machine; /* e_machine of ELF */
	uint32_t reserved3[8];

	/* The program sets these while it runs, unless a member's comment says otherwise. */
	/* Futex: raised when a slice becomes more than half full while `sleeping` is set. */
	uint32_t doorbell;
	uint32_t sleeping; /* set by the agent before it waits on the doorbell */
	/* Raised by each change of the modules that can change the meaning of an address. */
	uint32_t epoch;
	uint32_t modules_lost; /* announcements that found no room in time */
	uint64_t modules_head; /* bytes published in the channel */
	uint64_t modules_tail; /* bytes read; stored by the agent */
	/* Stored by the agent: events of owners that are gone. Their slices count from 0 again. */
	uint64_t settled;
	struct ring_losses no_slice; /* atomic: losses of threads without a slice */
	uint32_t exit_kind;	     /* enum ring_exit, stored when the program asks to end */
	uint32_t exit_status;
	/* Atomic: raised after each claim of a slice, before its first record. */
	uint32_t claims;
	/* Functions of the program's own that the library patched (struct ring_entry), summed over
	 * all images. */
	uint32_t patched;
	/* Atomic: blocks that found no room in the set of sampled blocks. */
	uint64_t samples_refused;
	uint32_t strict; /* RING_STRICT_*: what the program has forbidden itself */
	/* Seccomp filters that the program knows of: the highest count of any thread. */
	uint32_t filters;
	/* RING_STRICT_TICKS: the last stamp. The program raises it atomically by 1 for each stamp.
	 * The agent raises it to the clock's time whenever it looks, at least each millisecond. */
	uint64_t tick;
	/* Atomic: raised when a thread has found no free slice, or no slice larger than its own. */
	uint32_t wants;
	/* Stored by the agent: the value of `wants` up to which it has looked and could not
	 * help. */
	uint32_t refused;
	uint64_t before; /* events that the program began before it had this ring */
	/* Atomic: stacks that end early because the library could not ask the loader which module
	 * holds an address. */
	uint32_t stacks_unknown;
	/* Atomic: namespaces that the program has opened (dlmopen, LM_ID_NEWLM). The malloc of
	 * their own libc is not recorded. */
	uint32_t namespaces;
	uint64_t reserved4[1];

	struct ring_allocator allocator;
	struct ring_account account;
	struct ring_home home;
	struct ring_waits waits;
};
static_assert(sizeof(struct ring_header) <= RING_HEADER_SIZE, "the header fits its page");

/*
 * A program may forbid itself system calls (seccomp) or reads of its counter (prctl, PR_SET_TSC).
 * POLLED: some of its threads neither wake the agent nor wait for it, so the agent looks each
 * millisecond. TICKS: from here on all threads take their stamps from `tick`. The order of these
 * stamps is exact; their time is that of the agent's last look. A stamp taken after a look is never
 * below the value of `tick` at that look.
 */
#define RING_STRICT_POLLED 1u
#define RING_STRICT_TICKS  2u

/* A filter that the program set by a bare instruction, without the library's knowledge. The agent
 * sees it in /proc. */
enum ring_filtered {
	RING_FILTERED_NOT = 0,
	RING_FILTERED_CALLS = 1,
	RING_FILTERED_STRICT = 2 /* mode strict: the counter is forbidden, too */
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
 *   kind      an EventKind of heapcast.proto below RING_AUX, otherwise an enum ring_aux
 *   count     number of new program counters at the end of the record, innermost first
 *   keep      number of outer frames that this stack shares with the thread's last stack
 *   large     the size does not fit in 32 bits: `size` is 0 and an extra word holds it
 *   weighted  sampled: an extra word holds the sample interval R in bytes that was in force. A
 *             block of `size` S below R is recorded with the probability 1 - exp(-max(S, 1) / R). A
 *             block of R bytes or more is always recorded, and is not weighted
 *
 * Word 1 is the address. Word 2 is the stamp: for allocations it is taken after the allocator has
 * returned, for frees before the allocator is called. The extra words follow in this order, where
 * they apply: size (large), interval (weighted), and for reallocations the old address and the
 * stamp of the call. Then follow `count` program counters. Each is a return address, or one more
 * than the address of an interrupted instruction, so that `pc - 1` is always inside the calling or
 * interrupted instruction.
 *
 * An event without a stack has keep = 0 and count = 0, and leaves the thread's last stack
 * unchanged. Values below 4096 among the program counters are not addresses: they stand for frames
 * that could not be walked, numbered as enum PseudoFrame in heapcast.proto (1, outermost: outer
 * frames are missing; 2, innermost: inner frames were left out). The first event in a slice, and
 * the first event after RING_LOST, RING_EPOCH or RING_RESTART, has its whole stack (keep = 0).
 *
 * An event with a numbered stack (RING_RECALL) has no program counters. The next event with a stack
 * has its whole stack, or a numbered one. Wherever an event must have its whole stack because
 * something was lost or has changed, the thread's numbers are void, too, until they are given
 * anew.
 */
#define RING_AUX 128

enum ring_aux {
	RING_PAD = 128, /* word 0 only: continue at the start of the data */
	/* 5 words: word 1 stamp; then events, allocations << 32 | frees, bytes: the losses since
	 * the last event. These counts saturate; ring_slice.lost is exact. */
	RING_LOST = 129,
	/* 3 words: word 1 epoch, word 2 stamp. The following stacks were walked with the modules of
	 * this epoch. A slice starts in epoch 0 with each claim. */
	RING_EPOCH = 130,
	/* 3 words: word 1 index of the slice in which this thread continues. It is the last record
	 * in its slice. */
	RING_MOVE = 131,
	/* 3 words: word 1 value, word 2 stamp; `size` is a MarkKind. */
	RING_MARK = 132,
	/* 8 words: word 1 incarnation, word 2 stamp, then `events` and `lost` of the slice at this
	 * point. Another agent has taken over the ring and cannot use what this thread wrote
	 * before, so the next event has its whole stack. The slice is in epoch 0 again. */
	RING_RESTART = 134,
	/* 3 + count words: word 1 length in bytes, word 2 stamp; then the text; `size` is a
	 * MarkKind. */
	RING_TEXT = 133,
	/* 3 words: word 1 number below RING_SAVED_MAX, word 2 stamp: the stack of the thread's last
	 * event, which the ring had as a whole, has this number from now on. Another stack may have
	 * had it before. */
	RING_SAVE = 135,
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

/* Returns 1 if word 0 is neither large nor weighted, else 0. */
static inline unsigned ring_plain(uint64_t word0)
{
	return !(word0 & UINT64_C(3) << 30);
}

static inline uint32_t ring_size(uint64_t word0)
{
	return (uint32_t)(word0 >> 32);
}

/* An announcement in the module channel. Positions in the channel count bytes. A record is
 * contiguous, and its length is a multiple of 8 bytes; a record of `kind` RING_MODULE_PAD skips the
 * rest before the end. The segments follow the struct, then the path. */
enum ring_module_kind { RING_MODULE_PAD = 0, RING_MODULE_LOAD = 1, RING_MODULE_UNLOAD = 2 };

struct ring_module {
	uint32_t length; /* total, in bytes */
	uint16_t kind;
	uint16_t path_length;
	uint32_t id;	/* from 1; an UNLOAD names the id of its LOAD */
	uint32_t epoch; /* first epoch in which the module is present, or is no longer present */
	uint64_t stamp;
	uint64_t bias;	/* address = bias + p_vaddr */
	uint64_t start; /* lowest mapped address; `end` is one past the highest */
	uint64_t end;
	uint8_t build_id_length;
	uint8_t segment_count;
	uint8_t reserved[2];
	/* Fingerprint of a file without a build id. Two files with the same name most likely differ
	 * in it. */
	uint32_t print;
	uint8_t build_id[32];
	struct {
		uint64_t address; /* p_vaddr */
		uint64_t size;	  /* p_memsz */
		uint64_t file_offset;
		uint64_t flags; /* p_flags */
	} segment[];
};
static_assert(sizeof(struct ring_module) == 88, "layout of struct ring_module");

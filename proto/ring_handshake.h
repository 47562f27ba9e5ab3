#pragma once
/*
 * The handshake by which a program gets its ring (proto/ring.h), and the agent's message about
 * allocators that are linked into the program.
 */
#include <stdint.h>
#include <assert.h>

#include "proto/ring.h"

/*
 * The handshake: one message each way on a Unix socket of type SOCK_SEQPACKET. The agent sends more
 * than one if RING_WAIT or RING_SAY precede the answer. The socket is an inherited descriptor that
 * HEAPCAST_FD names as "NUMBER:INODE", or the path in HEAPCAST_SOCKET, where a path that starts
 * with '@' is abstract. The inode keeps a child that has inherited only the variable from using
 * another socket with the same number. The answer to an accepted hello carries the ring's
 * descriptor. The agent takes the identity of its peer from the socket's credentials, not from the
 * hello. Agent and program must have the same byte order. If the magic is RING_MAGIC_OTHER_ORDER,
 * the agent refuses the program, and the program expects no answer.
 */
enum ring_answer_kind {
	RING_ACCEPTED = 1,
	RING_REFUSED = 2, /* do not record this process (a fork child that must not be followed) */
	RING_BUSY = 3,	  /* no room for another ring */
	RING_BAD_VERSION = 4,
	/* The answer may take longer than a second: the agent looks for an allocator in a large
	 * program, or empties the ring for the next image. An agent that has itself started the
	 * program also sends this, because that program can wait. Sent at most once; the answer
	 * follows. RING_WAIT may be in the socket before the hello is sent. */
	RING_WAIT = 5,
	/* Up to RING_SAY_MAX bytes of text follow, without a newline: a setting of this program
	 * that the agent does not honour. The program prints it to its standard error. The answer
	 * follows. */
	RING_SAY = 6,
	/* No room for a ring: the descriptor is that of a header alone, without slices and
	 * without a channel. The program counts its events in `no_slice`. */
	RING_COUNTED = 7,
};

#define RING_SAY_MAX 480

/*
 * The settings from the program's environment follow the hello: all variables whose names start
 * with HEAPCAST_ or MEMORY_PROFILER_, unchanged, each as NAME=VALUE with its terminating zero, at
 * most RING_SETTINGS_MAX bytes. Settings that concern this program apply to it alone
 * (agent/program_settings.h). If settings that concern an agent differ from the agent's own, the
 * agent keeps its own and reports the difference.
 */
#define RING_SETTINGS_MAX 4096

struct ring_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t byte_order; /* 0x01020304 */
	uint32_t pointer_bits;
	/* As the program sees it; it differs from the agent's view in a pid namespace. */
	uint32_t pid;
	uint32_t flags; /* RING_HELLO_* */
	uint32_t reserved0;
	uint16_t machine;    /* e_machine of ELF; 0: unknown */
	uint16_t page_shift; /* a page has 1 << page_shift bytes; 0: unknown */
	uint64_t reserved1;
	uint8_t parent_stream[RING_STREAM_ID_SIZE]; /* of a followed fork child, otherwise zero */
	uint64_t parent_event; /* 0: the agent counts when it receives the hello */
};
static_assert(sizeof(struct ring_hello) == 64, "layout of struct ring_hello");

#define RING_HELLO_FORKED 1u /* the sender is a fork child that continues without exec */
/* The fork child cannot be recorded. It wants no ring; the agent only counts it. */
#define RING_HELLO_UNREADY 2u
/* main has not started, and the library can patch functions: it asks for entries (below). */
#define RING_HELLO_EARLY 4u

struct ring_answer {
	uint32_t magic;
	uint32_t version;
	uint32_t kind;	/* enum ring_answer_kind */
	uint32_t flags; /* RING_ANSWER_* */
	uint64_t size;	/* of the ring */
};
#define RING_ANSWER_FOLLOW 1u /* fork children must send a hello, too, with RING_HELLO_FORKED */

static_assert(sizeof(struct ring_answer) == 24, "layout of struct ring_answer");

/*
 * Up to RING_ENTRIES_MAX of these structs follow the answer to an early hello. Each describes a
 * function of an allocator that is linked into the program itself; calls to it do not go through
 * the loader's tables. The library compares the function's first instructions with those that the
 * agent has read from the file. If they match, it copies the replacement code elsewhere and
 * overwrites these instructions with a jump to its hook:
 *
 *	address: jmp hook             moved: the instructions that were at `address`
 *	address + length: the rest <-------- jmp
 *
 * `moved` does the same as the `length` bytes in `was`, at any address, once the 32-bit distances
 * at fix[] are corrected. The distances are given for code at `address`. Each element of fix[] is
 * the distance's offset in `moved` plus one; 0 means none.
 */
#define RING_ENTRIES_MAX 96
#define RING_ENTRY_WAS	 24
#define RING_ENTRY_MOVED 40

struct ring_entry {
	uint64_t address; /* p_vaddr in the program */
	/* Index into allocator_functions (agent/allocator_functions.h). */
	uint8_t function;
	uint8_t heap; /* 1: its first argument is a heap */
	uint8_t length;
	uint8_t moved_length;
	uint8_t fix[2];
	uint8_t reserved[2];
	uint8_t was[RING_ENTRY_WAS];
	uint8_t moved[RING_ENTRY_MOVED];
};
static_assert(sizeof(struct ring_entry) == 80, "layout of struct ring_entry");

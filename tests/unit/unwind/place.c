/* Beginnings of functions, in bytes: where a probe of each goes, and what is known there. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unwind/place.h"
#include "tests/unit/unwind/hex.h"

#define AT	0x401000u
#define NOWHERE 63
#define FREES	1, 0 /* argument a is to be known, and of no interest if NULL */
#define ONE	1, -1
#define TWO	3, -1

enum { RAX, RDX, RCX, RBX, RSI, RDI };

static struct place_probe find_for(const char *text, const struct place_question *question)
{
	struct place_probe probe;
	uint8_t code[256];
	struct place_function function = {code, bytes_of(text, code), AT};

	place_own.find(&function, question, &probe);
	return probe;
}

static struct place_probe find(const char *text, unsigned wanted, int not_null)
{
	const struct place_question question = {.wanted = wanted, .not_null = not_null};

	return find_for(text, &question);
}

/* Of a function whose return nobody wants. */
static struct place_probe find_end(const char *text)
{
	const struct place_question question = {.wanted = 1, .not_null = 0, .ends = true};

	return find_for(text, &question);
}

static void assert_at(struct place_probe probe, unsigned offset, unsigned words, unsigned a)
{
	assert_int_equal(probe.address, AT + offset);
	assert_int_equal(probe.words, words);
	assert_int_equal(probe.argument[0], a);
	assert_int_equal(probe.emulated, true);
}

static void assert_entry(struct place_probe probe)
{
	assert_int_equal(probe.address, AT);
	assert_int_equal(probe.words, 0);
	assert_int_equal(probe.argument[0], RDI);
	assert_int_equal(probe.argument[1], RSI);
	assert_int_equal(probe.emulated, false);
}

static void first_emulated_instruction(void **state)
{
	(void)state;
	assert_at(find("55 c3", ONE), 0, 0, RDI);			  /* push; ret */
	assert_at(find("41 54 c3", ONE), 0, 0, RDI);			  /* push %r12 */
	assert_at(find("f3 0f 1e fa 53 c3", ONE), 4, 0, RDI);		  /* endbr64; push */
	assert_at(find("48 89 f8 53 c3", ONE), 3, 0, RDI);		  /* mov %rdi, %rax; push */
	assert_at(find("48 89 f8 31 ff 53 c3", ONE), 5, 0, RAX);	  /* ...xor %edi, %edi */
	assert_at(find("48 83 ec 18 e8 00 00 00 00 c3", ONE), 4, 3, RDI); /* sub $24, %rsp; call */
	assert_at(find("0f 1f 44 00 00 90 c3", ONE), 5, 0, RDI); /* a nop of 5 bytes, and of one */
	assert_at(find("83 3d 00 00 00 00 00 74 01 c3 c3", ONE), 7, 0, RDI); /* cmp of memory; je */
}

static void in_doubt_the_entry(void **state)
{
	(void)state;
	assert_entry(find("31 ff 53 c3", ONE));		/* xor %edi, %edi: the argument is gone */
	assert_entry(find("89 ff 53 c3", ONE));		/* mov %edi, %edi: half of it */
	assert_entry(find("48 89 e5 53 c3", ONE));	/* mov %rsp, %rbp: fp is not the caller's */
	assert_entry(find("48 83 e4 f0 53 c3", ONE));	/* and $-16, %rsp */
	assert_entry(find("48 f7 e6 70 00 c3", 7, -1)); /* mul %rsi: the third one is gone */
	assert_entry(find("f3 48 ab 53 c3", ONE));	/* rep stos */
	assert_entry(find("66 e8 00 00 c3", ONE));	/* a call with a prefix is not emulated */
	assert_entry(find("c3", ONE));
	assert_entry(find("", ONE));
}

static void jumps_within_the_function(void **state)
{
	(void)state;
	/* 0: mov %rdi, %rax; 3: push; 4: jmp 3 */
	assert_entry(find("48 89 f8 53 eb fd c3", ONE));
	/* 0: mov; 3: push; 4: jmp 7 */
	assert_at(find("48 89 f8 53 eb 01 90 c3", ONE), 3, 0, RDI);
	/* 0: push; 1: jmp 0 */
	assert_true(find("53 eb fd c3", ONE).looped);
	/* 0: mov; 3: push; 4: jmp *%rax: to anywhere; but not behind a pop */
	assert_entry(find("48 89 f8 53 ff e0", ONE));
	assert_at(find("48 89 f8 53 5b ff e0", ONE), 3, 0, RDI);
	/* what can't be read to its end */
	assert_entry(find("48 89 f8 53 06", ONE));
}

static void behind_the_test_for_null(void **state)
{
	struct place_probe probe = find("48 85 ff 74 02 53 c3 c3", FREES); /* test; je 7; push */

	(void)state;
	assert_at(probe, 5, 0, RDI);
	assert_true(probe.not_null);
	probe = find("48 85 ff 74 02 53 c3 c3", ONE);
	assert_at(probe, 3, 0, RDI);
	assert_false(probe.not_null);
	probe = find("48 85 f6 74 02 53 c3 c3", FREES); /* of another argument */
	assert_at(probe, 3, 0, RDI);
	assert_false(probe.not_null);
	probe = find("48 85 ff 48 ff c0 74 02 53 c3 c3", FREES); /* inc %rax: other flags */
	assert_at(probe, 6, 0, RDI);
	assert_false(probe.not_null);
	probe = find("48 85 ff 74 02 31 ff 53 c3", FREES); /* gone before the push: on the branch */
	assert_at(probe, 3, 0, RDI);
	assert_false(probe.not_null);
}

static void assert_pushed(struct place_probe probe, unsigned first, unsigned second)
{
	assert_int_equal(probe.pushed[0], first);
	assert_int_equal(probe.pushed[1], second);
}

/* A branch costs less than a push. */
static void behind_pushes_where_it_ends(void **state)
{
	/* 0: test; 3: je 21; 5: push %rbp; 6: push %rbx; 7: sub $24, %rsp; 11: mov -8(%rdi), %rbp;
	 * 15: test $2, %bpl; 19: jne 21 */
	static const char glibc[] = "48 85 ff 74 10 55 53 48 83 ec 18 48 8b 6f f8 "
				    "40 f6 c5 02 75 00 c3";
	struct place_probe probe = find_end(glibc);

	(void)state;
	assert_at(probe, 19, 5, RDI);
	assert_true(probe.not_null);
	assert_pushed(probe, 6, RBX);
	probe = find(glibc, FREES);
	assert_at(probe, 5, 0, RDI);
	assert_pushed(probe, 0, 0);
	/* push %rbx; push %r12; push %r14, which stays as it was */
	probe = find_end("53 41 54 41 56 85 c0 75 00 c3");
	assert_at(probe, 7, 3, RDI);
	assert_pushed(probe, RBX, 12);
	/* push; mov %rdi, %rbx; xor %edi, %edi */
	assert_at(find_end("53 48 89 fb 31 ff 75 00 c3"), 6, 1, RBX);
	assert_at(find_end("41 54 53 eb 00 c3"), 3, 2, RDI);
}

static void behind_pushes_in_doubt_the_push(void **state)
{
	(void)state;
	assert_at(find_end("53 c3"), 0, 0, RDI);
	/* xor %edi, %edi: the argument is gone */
	assert_at(find_end("53 31 ff 75 00 c3"), 0, 0, RDI);
	/* xor %ebp, %ebp, which was not pushed; %r13d, as the third one; %ebx, behind %rax; and
	 * before its push */
	assert_at(find_end("53 31 ed 75 00 c3"), 0, 0, RDI);
	assert_at(find_end("53 41 54 41 55 49 89 fd 75 00 c3"), 0, 0, RDI);
	assert_at(find_end("53 41 54 41 55 45 31 ed 75 00 c3"), 0, 0, RDI);
	assert_at(find_end("50 53 31 db 75 00 c3"), 0, 0, RDI);
	assert_at(find_end("31 db 53 75 00 c3"), 2, 0, RDI);
	/* they write: mov %rsi, (%rdi); lock cmpxchg; call */
	assert_at(find_end("53 48 89 37 75 00 c3"), 0, 0, RDI);
	assert_at(find_end("53 f0 48 0f b1 37 75 00 c3"), 0, 0, RDI);
	assert_at(find_end("53 e8 00 00 00 00 c3"), 0, 0, RDI);
	/* pop, and another one in its place */
	assert_at(find_end("53 5b 31 db 50 75 00 c3"), 0, 0, RDI);
	/* and $-16, %rsp */
	assert_at(find_end("53 48 83 e4 f0 75 00 c3"), 0, 0, RDI);
	/* jne 1: calls may come by again */
	assert_at(find_end("53 85 c0 75 fc c3"), 0, 0, RDI);
}

static bool is_target(void *context, uint64_t address, bool pointer)
{
	(void)context;
	return address == 0x402000 && !pointer;
}

static size_t read_nothing(void *context, uint64_t address, uint8_t *out, size_t size)
{
	(void)context;
	(void)address;
	(void)out;
	(void)size;
	return 0;
}

static bool hands_on(const char *text, bool frees)
{
	const struct place_code nothing = {.read = read_nothing};
	struct place_hand_on question = {.is_target = is_target, .code = &nothing, .frees = frees};
	uint8_t code[256];
	struct place_function function = {code, bytes_of(text, code), AT};

	return place_own.hands_on(&function, &question);
}

static void what_only_hands_on(void **state)
{
	(void)state;
	assert_true(hands_on("e9 fb 0f 00 00", true));			 /* jmp */
	assert_true(hands_on("48 85 ff 74 05 e9 f6 0f 00 00 c3", true)); /* unless NULL */
	assert_true(hands_on("48 83 ec 08 e8 f7 0f 00 00 48 83 c4 08 c3",
			     false)); /* call, and return what it gave */
	assert_true(hands_on("48 85 ff 74 05 e9 f6 0f 00 00 31 c0 c3", false)); /* or 0 */
	assert_false(hands_on("48 85 ff 74 05 e9 f6 0f 00 00 48 89 f8 c3",
			      false)); /* or something else */
	assert_false(
		hands_on("48 85 ff 74 05 e9 f6 0f 00 00 48 89 37 c3", true)); /* or writes to it */
	assert_false(hands_on("e9 00 00 00 00 c3", true)); /* to nobody we know */
	assert_false(hands_on("c3", true));
}

struct bytes {
	uint8_t code[256];
	size_t size;
};

static size_t read_bytes(void *context, uint64_t address, uint8_t *out, size_t size)
{
	const struct bytes *bytes = context;
	size_t at = (size_t)(address - AT);

	if (at >= bytes->size)
		return 0;
	size = size < bytes->size - at ? size : bytes->size - at;
	memcpy(out, bytes->code + at, size);
	return size;
}

static uint64_t no_slot(void *context, uint64_t address)
{
	(void)context;
	(void)address;
	return 0;
}

/* A second function lies at 16. */
static bool begins(void *context, uint64_t address)
{
	(void)context;
	return address == AT + 16;
}

static int exits(const char *text, uint64_t found[PLACE_EXITS_MAX])
{
	struct bytes bytes;
	const struct place_code code = {read_bytes, no_slot, begins, &bytes};

	bytes.size = bytes_of(text, bytes.code);
	return place_own.exits(&code, AT, found);
}

static void all_returns(void **state)
{
	uint64_t found[PLACE_EXITS_MAX];

	(void)state;
	assert_int_equal(exits("48 85 ff 74 01 c3 f3 c3", found), 2); /* test; je; ret; repz ret */
	assert_int_equal(found[0] + found[1], 2 * AT + 5 + 6);
	/* jmp to the second function, which returns */
	assert_int_equal(exits("eb 0e 90 90 90 90 90 90 90 90 90 90 90 90 90 90 c3", found), 1);
	assert_int_equal(found[0], AT + 16);
	/* a call that does not return, in front of it */
	assert_int_equal(exits("90 90 90 90 90 90 90 90 90 90 90 e8 00 00 00 00 c3", found), 0);
	assert_int_equal(exits("ff e0", found), -1);		 /* jmp *%rax */
	assert_int_equal(exits("ff 25 00 00 00 00", found), -1); /* through a pointer, elsewhere */
	assert_int_equal(exits("06 c3", found), -1);		 /* no instruction */
}

static bool reaches(const char *text)
{
	struct bytes bytes;
	const struct place_code code = {read_bytes, no_slot, begins, &bytes};
	struct place_hand_on question = {.is_target = is_target, .code = &code};

	bytes.size = bytes_of(text, bytes.code);
	return place_own.reaches(&code, AT, &question);
}

static void what_is_reached(void **state)
{
	(void)state;
	assert_true(reaches("e8 fb 0f 00 00 c3")); /* call */
	assert_true(reaches(
		"e8 0b 00 00 00 c3 90 90 90 90 90 90 90 90 90 90 " /* call the second function */
		"e8 eb 0f 00 00 c3"));				   /* which does */
	assert_true(reaches("74 02 ff e0 e8 f7 0f 00 00 c3"));	   /* on one of two paths */
	assert_false(reaches("e8 0b 00 00 00 c3 90 90 90 90 90 90 90 90 90 90 c3"));
	assert_false(reaches("e8 fb ff ff ff c3")); /* itself */
}

/* MIPS64, by words of 32 bits. */
static struct place_probe find_mips(const uint32_t *words, size_t count, int not_null)
{
	const struct place_question question = {.wanted = 1, .not_null = not_null};
	struct place_function function = {(const uint8_t *)words, count * sizeof(*words), AT};
	struct place_probe probe;

	place_reader(EM_MIPS)->find(&function, &question, &probe);
	return probe;
}

#define FIND_MIPS(not_null, ...)                                                                   \
	find_mips((const uint32_t[]){__VA_ARGS__},                                                 \
		  sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), not_null)

static void mips_branches_are_not_probed(void **state)
{
	const uint32_t room = 0x67bdffc0, nop = 0, back = 0x03e00008;
	struct place_probe probe;

	(void)state;
	probe = FIND_MIPS(-1, room, nop, back, nop);
	assert_int_equal(probe.address, AT);
	assert_int_equal(probe.argument[0], 4);
	assert_true(probe.link && !probe.unsafe && !probe.not_null);
	/* beqz a0, 59 instructions farther */
	probe = FIND_MIPS(0, 0x10800059, nop, room, back, nop);
	assert_int_equal(probe.address, AT + 8);
	assert_int_equal(probe.argument[0], 4);
	assert_true(probe.link && !probe.unsafe && probe.not_null);
	assert_true(FIND_MIPS(-1, 0x10800059, nop, room, back, nop).unsafe);
	assert_true(FIND_MIPS(1, 0x10800059, nop, room, back, nop).unsafe);
	assert_true(FIND_MIPS(0, 0x10800059, room, back, nop).unsafe);
	/* a loop to behind the test: bne a0, a1, 2 instructions back */
	assert_true(FIND_MIPS(0, 0x10800059, nop, room, 0x1485fffe, nop, back, nop).unsafe);
	assert_true(FIND_MIPS(-1, 0x0320f809, nop).unsafe);  /* jalr t9 */
	assert_true(FIND_MIPS(-1, 0x03200008, nop).unsafe);  /* jr t9 */
	assert_false(FIND_MIPS(-1, 0x10000010, nop).unsafe); /* b: always the same way */
	assert_true(find_mips(&nop, 0, -1).unsafe);	     /* its code is not known */
}

/* Behind mov %rdi, %rax: what the kernel emulates, and what is only like it. */
static void what_is_emulated(void **state)
{
	static const char *const are[] = {"53",
					  "57",
					  "41 53",
					  "90",
					  "70 00",
					  "7f 00",
					  "eb 00",
					  "e8 00 00 00 00",
					  "e9 00 00 00 00",
					  "0f 80 00 00 00 00",
					  "0f 8f 00 00 00 00"};
	static const char *const are_not[] = {"48 53",
					      "66 53",
					      "41 66 53",
					      "66 90",
					      "41 90",
					      "2e 74 00",
					      "48 eb 00",
					      "48 e8 00 00 00 00",
					      "2e 0f 84 00 00 00 00",
					      "0f 1f 00",
					      "6a 00",
					      "68 00 00 00 00",
					      "ff 37",
					      "58",
					      "e2 00",
					      "e3 00",
					      "0f 05",
					      "9c"};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(are) / sizeof(are[0]); i++) {
		snprintf(text, sizeof(text), "48 89 f8 %s c3", are[i]);
		assert_at(find(text, ONE), 3, 0, RDI);
	}
	for (size_t i = 0; i < sizeof(are_not) / sizeof(are_not[0]); i++) {
		snprintf(text, sizeof(text), "48 89 f8 %s c3", are_not[i]);
		assert_entry(find(text, ONE));
	}
}

/* A test of the argument in front of je; and what is only like it. */
static void tests_for_null(void **state)
{
	static const char *const are[] = {"48 85 ff",	       "48 83 ff 00",
					  "48 89 fb 48 85 db", "48 85 ff 48 89 f8",
					  "49 89 fc 4d 85 e4", "49 89 fc 49 83 fc 00"};
	static const char *const are_not[] = {"85 ff",
					      "83 ff 00",
					      "48 85 3f",
					      "48 83 3f 00",
					      "48 85 f7",
					      "48 85 fe",
					      "48 83 ff 01",
					      "48 39 ff",
					      "40 84 ff",
					      "48 85 f6",
					      "48 83 fe 00",
					      "48 85 ff 48 85 f6",
					      "48 85 ff 48 01 c0",
					      "89 fb 48 85 db",
					      "48 85 c0"};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(are) / sizeof(are[0]); i++) {
		unsigned before = (unsigned)(strlen(are[i]) + 1) / 3;
		struct place_probe probe;

		snprintf(text, sizeof(text), "%s 74 02 53 c3 c3", are[i]);
		probe = find(text, FREES);
		assert_at(probe, before + 2, 0, RDI);
		assert_true(probe.not_null);
		snprintf(text, sizeof(text), "%s 0f 84 02 00 00 00 53 c3 c3", are[i]);
		probe = find(text, FREES);
		assert_at(probe, before + 6, 0, RDI);
		assert_true(probe.not_null);
		snprintf(text, sizeof(text), "%s 75 02 53 c3 c3", are[i]); /* not of NULL */
		probe = find(text, FREES);
		assert_at(probe, before, 0, RDI);
		assert_false(probe.not_null);
		snprintf(text, sizeof(text), "%s 0f 85 02 00 00 00 53 c3 c3", are[i]);
		assert_false(find(text, FREES).not_null);
	}
	for (size_t i = 0; i < sizeof(are_not) / sizeof(are_not[0]); i++) {
		struct place_probe probe;

		snprintf(text, sizeof(text), "%s 74 02 53 c3 c3", are_not[i]);
		probe = find(text, FREES);
		assert_at(probe, (unsigned)(strlen(are_not[i]) + 1) / 3, 0, RDI);
		assert_false(probe.not_null);
	}
}

/* Where the first argument is when its own register has something else. */
static void copies_of_arguments(void **state)
{
	(void)state;
	assert_at(find("48 89 fb 31 ff 53 c3", ONE), 5, 0, RBX);
	assert_at(find("48 8b df 31 ff 53 c3", ONE), 5, 0, RBX);
	assert_at(find("49 89 fc 31 ff 53 c3", ONE), 5, 0, 12);
	assert_at(find("48 89 fb 48 89 d8 31 ff 31 db 53 c3", ONE), 10, 0, RAX);
	assert_at(find("48 89 fb 53 c3", ONE), 3, 0, RDI); /* its own is preferred */
	assert_entry(find("89 fb 31 ff 53 c3", ONE));	   /* half of it */
	assert_entry(find("48 89 3b 31 ff 53 c3", ONE));   /* to memory */
	assert_entry(find("48 8b 3b 53 c3", ONE));	   /* from memory */
	assert_entry(find("48 89 fb 31 ff 31 db 53 c3", ONE));
	assert_entry(find("48 89 fb 48 89 f3 31 ff 53 c3", ONE));
	assert_entry(find("0f a2 53 c3", ONE));	      /* cpuid: what it writes is not known */
	assert_entry(find("48 0f 44 e0 53 c3", ONE)); /* cmov to sp */
	assert_entry(find("48 89 fc 53 c3", ONE));
	assert_entry(find("5b 53 c3", ONE)); /* pops its return address */
	assert_entry(find("48 83 ec 04 e8 00 00 00 00 c3", ONE));
	assert_at(find("48 81 ec f8 07 00 00 e8 00 00 00 00 c3", ONE), 7, 255, RDI);
	assert_entry(find("48 81 ec 00 08 00 00 e8 00 00 00 00 c3", ONE));
}

/* All six, in the order of the calling convention; one that is gone is nowhere, or wanted. */
static void all_arguments(void **state)
{
	static const char *const gone[] = {"31 ff", "31 f6",	"31 d2",
					   "31 c9", "45 31 c0", "45 31 c9"};
	static const uint8_t numbers[] = {5, 4, 1, 2, 8, 9};
	char text[32];

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct place_probe probe;

		snprintf(text, sizeof(text), "%s 53 c3", gone[i]);
		probe = find(text, 0x3f & ~(1u << i), -1);
		assert_int_equal(probe.address, AT + strlen(gone[i]) / 3 + 1);
		for (unsigned k = 0; k < 6; k++)
			assert_int_equal(probe.argument[k], k == i ? NOWHERE : numbers[k]);
		assert_entry(find(text, 1u << i, -1));
	}
}

/* 48 instructions are read, to a place and from there. */
static void how_far(void **state)
{
	for (unsigned count = 45; count < 52; count++) {
		char text[512] = "", end[512];

		for (unsigned i = 0; i < count; i++)
			memcpy(text + 9 * i, "0f 1f 00 ", 9);
		snprintf(end, sizeof(end), "%s 53 c3", text);
		(void)state;
		if (count < 48)
			assert_at(find(end, ONE), 3 * count, 0, RDI);
		else
			assert_entry(find(end, ONE));
		snprintf(end, sizeof(end), "53 %s 75 00 c3", text); /* the push is the first */
		assert_at(find_end(end), count < 47 ? 1 + 3 * count : 0, count < 47, RDI);
	}
}

/* A jump to anywhere is one out of the function only where a frame has been removed. */
static void jumps_to_anywhere(void **state)
{
	static const char *const removes[] = {"58", "5d",	   "41 5c",
					      "c9", "48 83 c4 08", "48 81 c4 08 00 00 00"};
	static const char *const does_not[] = {
		"50",	    "90",	"48 83 ec 08", "48 83 c0 08", "48 83 04 24 08",
		"0f 58 c0", "48 01 c4", "48 83 cc 08", "58 90"};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(removes) / sizeof(removes[0]); i++) {
		snprintf(text, sizeof(text), "48 89 f8 53 %s ff e0", removes[i]);
		assert_at(find(text, ONE), 3, 0, RDI);
	}
	for (size_t i = 0; i < sizeof(does_not) / sizeof(does_not[0]); i++) {
		snprintf(text, sizeof(text), "48 89 f8 53 %s ff e0", does_not[i]);
		assert_entry(find(text, ONE));
	}
	/* to the entry: a loop, and the place stays */
	assert_at(find("48 89 f8 53 eb fa c3", ONE), 3, 0, RDI);
	assert_true(find("48 89 f8 53 eb fa c3", ONE).looped);
	assert_true(find("48 89 f8 53 75 fa c3", ONE).looped);
	assert_entry(find("48 89 f8 53 eb fb c3", ONE)); /* behind it */
	assert_false(find("48 89 f8 53 eb f9 c3", ONE).looped);
	/* both: the entry, which is looped */
	assert_entry(find("48 89 f8 53 75 fa eb f9 c3", ONE));
	assert_true(find("48 89 f8 53 75 fa eb f9 c3", ONE).looped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_emulated_instruction),
		cmocka_unit_test(in_doubt_the_entry),
		cmocka_unit_test(jumps_within_the_function),
		cmocka_unit_test(behind_the_test_for_null),
		cmocka_unit_test(behind_pushes_where_it_ends),
		cmocka_unit_test(behind_pushes_in_doubt_the_push),
		cmocka_unit_test(what_is_emulated),
		cmocka_unit_test(tests_for_null),
		cmocka_unit_test(copies_of_arguments),
		cmocka_unit_test(all_arguments),
		cmocka_unit_test(how_far),
		cmocka_unit_test(jumps_to_anywhere),
		cmocka_unit_test(what_only_hands_on),
		cmocka_unit_test(all_returns),
		cmocka_unit_test(what_is_reached),
		cmocka_unit_test(mips_branches_are_not_probed),
	};

	if (place_own.machine != EM_X86_64) {
		puts("SKIPPED: the code is x86-64's");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Where a frame pointer is said to hold: functions in bytes, each as it is and with what makes it
 * doubtful. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unwind/arch/arch.h"
#include "tests/unit/unwind/hex.h"

#define AT     0x400000u
#define BEFORE 32 /* bytes of filling */

static uint8_t memory[65536];

/* `site`: where the call returns to, from the beginning of the function. */
static bool held(const char *hex, unsigned before, unsigned site, struct arch_range *ret_range,
		 struct arch_frame *ret_frame)
{
	struct arch_code code = {.begin = memory, .address = AT};

	memset(memory, 0x90, before);
	code.end = memory + before + bytes_of(hex, memory + before);
	ret_range->begin = ret_range->end = 0;
	return arch_framed(&code, AT + before + site, ret_range, ret_frame);
}

/* By fp, in [begin, end). */
static void expect_held(const char *hex, unsigned site, unsigned begin, unsigned end)
{
	struct arch_frame frame;
	struct arch_range range;

	if (!held(hex, BEFORE, site, &range, &frame))
		fail_msg("%s: not held", hex);
	if (range.begin != AT + BEFORE + begin || range.end != AT + BEFORE + end)
		fail_msg("%s: held from %d to %d", hex, (int)(range.begin - AT - BEFORE),
			 (int)(range.end - AT - BEFORE));
	assert_true(frame.from_fp);
	assert_int_equal(frame.cfa_words, 2);
	assert_int_equal(frame.ra_words, 1);
	assert_int_equal(frame.fp_words, 2);
}

/* By sp, at this call only. */
static void expect_here(const char *hex, unsigned site, unsigned cfa_words)
{
	struct arch_frame frame;
	struct arch_range range;

	if (!held(hex, BEFORE, site, &range, &frame))
		fail_msg("%s: not held", hex);
	assert_int_equal(range.begin, range.end);
	assert_false(frame.from_fp);
	assert_int_equal(frame.cfa_words, cfa_words);
	assert_int_equal(frame.ra_words, 1);
	assert_int_equal(frame.fp_words, 2);
}

static void expect_nothing(const char *hex, unsigned site)
{
	struct arch_frame frame;
	struct arch_range range;

	if (held(hex, BEFORE, site, &range, &frame))
		fail_msg("%s: held from %d to %d", hex, (int)(range.begin - AT - BEFORE),
			 (int)(range.end - AT - BEFORE));
}

#define OPEN "55 48 89 e5 " /* 0: push %rbp; 1: mov %rsp, %rbp */
#define CALL "e8 00 00 00 00 "

static void test_plain(void **state)
{
	(void)state;
	/* 4: push, push; 6: call; 11: pop, pop; 13: pop %rbp; 14: ret */
	expect_held(OPEN "53 50 " CALL "58 5b 5d c3", 11, 4, 15);
	expect_held("55 48 8b ec 53 50 " CALL "58 5b 5d c3", 11, 4, 15);
	expect_held(OPEN "53 50 " CALL "c9 c3", 11, 4, 13);	    /* leave */
	expect_held(OPEN CALL "5d c3", 9, 4, 11);		    /* nothing between */
	expect_held(OPEN "53 50 ff d0 58 5b 5d c3", 8, 4, 12);	    /* call *%rax */
	expect_held(OPEN CALL "90 90 " CALL "90 5d c3", 9, 4, 19);  /* two calls: the first */
	expect_held(OPEN CALL "90 90 " CALL "90 5d c3", 16, 4, 19); /* the second */
	expect_held(OPEN "48 83 e4 c0 48 83 ec 40 " CALL "c9 c3", 17, 4, 19); /* sp is lost */
	expect_held(OPEN CALL "5d ff e0", 9, 4, 11);			      /* jumps away */
	expect_held(OPEN CALL "5d e9 00 01 00 00", 9, 4, 11);
	expect_held(OPEN CALL "5d ff 25 00 01 00 00", 9, 4, 11);
	expect_held(OPEN "48 83 ec 10 " CALL "48 8b 6c 24 10 48 83 c4 18 c3", 13, 4, 23);
}

static void test_no_function(void **state)
{
	(void)state;
	expect_nothing("48 89 e5 53 50 " CALL "58 5b 5d c3", 10);    /* no push */
	expect_nothing("55 90 48 89 e5 53 " CALL "5b 5d c3", 11);    /* not at once */
	expect_nothing(OPEN "53 50 " CALL "58 5b", 11);		     /* never leaves */
	expect_nothing(OPEN "53 50 90 90 90 90 90 58 5b 5d c3", 11); /* no call */
	expect_nothing(OPEN "53 50 " CALL "58 5b 5d c3", 10);	     /* not behind it */
	expect_nothing(OPEN "5d c3 " CALL "c3", 11);		     /* behind its end */
	expect_nothing(OPEN CALL "c3", 9);			     /* leaves its record */
	expect_nothing(OPEN CALL "5d 5d c3", 9);		     /* and the address, too */
	expect_nothing(OPEN "06 " CALL "5d c3", 10);		     /* no instruction */
	expect_nothing(OPEN CALL "5d " CALL "c3", 9);		     /* a call without record */
	expect_nothing(OPEN CALL "5d 74 00 c3", 9);		     /* a branch without it */
	expect_nothing(OPEN CALL "5d 0f 0b", 9);		     /* a trap without it */
	expect_nothing(OPEN CALL "f3 0f 1e fa 5d c3", 9);	     /* another one begins */
}

/* fp gets another value. */
static void test_fp_is_written(void **state)
{
	static const char *const writes[] = {
		OPEN "48 89 c5 90 90 90 90 " CALL "5d c3", /* mov %rax, %rbp */
		OPEN "48 8b 2c 24 90 90 90 " CALL "5d c3", /* mov (%rsp), %rbp */
		OPEN "48 8d 6c 24 08 90 90 " CALL "5d c3", /* lea */
		OPEN "31 ed 90 90 90 90 90 " CALL "5d c3", /* xor */
		OPEN "48 83 c5 08 90 90 90 " CALL "5d c3", /* add */
		OPEN "bd 01 00 00 00 90 90 " CALL "5d c3", /* mov of a constant */
		OPEN "48 0f b6 e8 90 90 90 " CALL "5d c3", /* movzx */
		OPEN "48 0f 45 e8 90 90 90 " CALL "5d c3", /* cmov */
		OPEN "48 87 c5 90 90 90 90 " CALL "5d c3", /* xchg */
		OPEN "f3 0f b8 e8 90 90 90 " CALL "5d c3", /* popcnt: effect not known */
		OPEN "53 5d 90 90 90 90 90 " CALL "5d c3", /* pop of something else */
		OPEN "48 8b 6c 24 08 90 90 " CALL "5d c3", /* from another slot */
		OPEN "48 8b 6c 04 00 90 90 " CALL "5d c3", /* with an index */
		OPEN "8b 6c 24 00 90 90 90 " CALL "5d c3", /* half of it */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		expect_nothing(writes[i], 16);
	/* and these do not write it */
	expect_held(OPEN "48 39 c5 90 90 90 90 " CALL "5d c3", 16, 4, 18); /* cmp */
	expect_held(OPEN "48 85 ed 90 90 90 90 " CALL "5d c3", 16, 4, 18); /* test */
	expect_held(OPEN "48 89 45 f8 90 90 90 " CALL "5d c3", 16, 4, 18); /* mov to its frame */
	expect_held(OPEN "48 89 e8 90 90 90 90 " CALL "5d c3", 16, 4, 18); /* mov %rbp, %rax */
	expect_held(OPEN "55 58 90 90 90 90 90 " CALL "5d c3", 16, 4, 18); /* pushed again */
	expect_held(OPEN "f3 48 0f b8 c0 90 90 " CALL "5d c3", 16, 4, 18); /* popcnt of another */
}

/* sp at calls must be a multiple of 16, or 8 off, at all of them. */
static void test_parity(void **state)
{
	(void)state;
	expect_here(OPEN "50 " CALL "58 5d c3", 10, 3);
	expect_here(OPEN "50 50 50 " CALL "58 58 58 5d c3", 12, 5);
	expect_nothing(OPEN "50 " CALL "58 " CALL "5d c3", 10); /* the second call differs */
	expect_nothing(OPEN CALL "50 " CALL "58 5d c3", 9);
	expect_nothing(OPEN CALL "50 " CALL "58 5d c3", 15);
	expect_held(OPEN CALL "50 50 " CALL "58 58 5d c3", 16, 4, 20);
	expect_nothing(OPEN "48 83 ec 04 " CALL "48 83 c4 04 5d c3", 13); /* 4 off */
	/* not known at this call, known at the other */
	expect_nothing(OPEN "50 " CALL "48 83 e4 c0 " CALL "c9 c3", 19);
}

static void test_jumps(void **state)
{
	(void)state;
	/* 4: je 12; 6: call; 11: nop; 12: pop; 13: ret */
	expect_held(OPEN "74 06 " CALL "90 5d c3", 11, 4, 14);
	/* an early end, over which a branch leads: 9: je 13; 11: pop, ret; 13: call; pop; ret */
	expect_held(OPEN CALL "74 02 5d c3 " CALL "5d c3", 9, 4, 20);
	expect_held(OPEN CALL "74 02 5d c3 " CALL "5d c3", 18, 4, 20);
	/* over which none leads: the code behind is another function's */
	expect_held(OPEN CALL "74 00 5d c3 " CALL "5d c3", 9, 4, 13);
	expect_nothing(OPEN CALL "74 00 5d c3 " CALL "5d c3", 18);
	expect_nothing(OPEN CALL "5d c3 " CALL "5d c3", 16);
	/* a trap, and a jump, over which a branch leads */
	expect_held(OPEN CALL "74 02 0f 0b " CALL "5d c3", 18, 4, 20);
	expect_held(OPEN CALL "74 02 ff e0 " CALL "5d c3", 18, 4, 20);
	expect_held(OPEN CALL "74 02 eb f1 " CALL "5d c3", 18, 4, 20);
	/* a jump forward over a call that another jump leads back to */
	expect_held(OPEN CALL "eb 05 " CALL "5d c3", 9, 4, 18);
	/* behind its last end it goes on with code that jumps back: 9: je 15; 11: pop, ret; 13:
	 * nops; 15: call; 20: jmp 11 */
	expect_held(OPEN CALL "74 04 5d c3 90 90 " CALL "eb f5", 9, 4, 23);
	expect_held(OPEN CALL "74 04 5d c3 90 90 " CALL "eb f5", 20, 4, 23);
	/* which does not return: nothing says that it belongs to the function */
	expect_held(OPEN CALL "74 04 5d c3 90 90 " CALL "0f 0b", 9, 4, 13);
	expect_nothing(OPEN CALL "74 04 5d c3 90 90 " CALL "0f 0b", 20);
	/* jumps before the function */
	expect_nothing(OPEN CALL "74 04 5d c3 90 90 " CALL "eb d0", 20);
}

/* Go's: sub $N, %rsp; mov %rbp, N-8(%rsp); lea N-8(%rsp), %rbp. */
static void test_put(void **state)
{
	static const char end0[] = CALL "48 8b 2c 24 48 83 c4 08 c3",
			  end8[] = CALL "48 8b 6c 24 10 48 83 c4 18 c3",
			  end32[] = CALL "48 8b ac 24 80 00 00 00 48 81 c4 88 00 00 00 c3";
	char text[512];

	(void)state;
#define PUT(begin, end) (snprintf(text, sizeof(text), "%s %s", begin, end), text)
	expect_here(PUT("48 83 ec 08 48 89 2c 24 48 8d 2c 24", end0), 17, 2);
	expect_here(PUT("48 83 ec 18 48 89 6c 24 10 48 8d 6c 24 10", end8), 19, 4);
	expect_here(
		PUT("48 81 ec 88 00 00 00 48 89 ac 24 80 00 00 00 48 8d ac 24 80 00 00 00", end32),
		28, 18);
	expect_here(PUT("48 81 ec 18 00 00 00 48 89 6c 24 10 48 8d 6c 24 10", end8), 22, 4);
	/* other room, another register, another distance, another instruction */
	expect_nothing(PUT("48 83 ec 10 48 89 2c 24 48 8d 2c 24", end0), 17);
	expect_nothing(PUT("48 83 ec 20 48 89 6c 24 10 48 8d 6c 24 10", end8), 19);
	expect_nothing(PUT("48 83 ed 18 48 89 6c 24 10 48 8d 6c 24 10", end8), 19);
	expect_nothing(PUT("48 85 ec 18 48 89 6c 24 10 48 8d 6c 24 10", end8), 19);
	expect_nothing(PUT("49 83 ec 18 48 89 6c 24 10 48 8d 6c 24 10", end8), 19);
	expect_nothing(PUT("48 83 ec 18 48 89 6c 24 08 48 8d 6c 24 10", end8), 19);
	expect_nothing(PUT("48 83 ec 18 49 89 6c 24 10 48 8d 6c 24 10", end8), 19);
	expect_nothing(PUT("48 83 ec 18 48 8b 6c 24 10 48 8d 6c 24 10", end8), 19);
	expect_nothing(PUT("48 83 ec f8 48 89 6c 24 f0 48 8d 6c 24 f0", end8), 19);
	expect_nothing(
		PUT("48 81 ec 90 00 00 00 48 89 ac 24 80 00 00 00 48 8d ac 24 80 00 00 00", end32),
		28);
	expect_nothing(
		PUT("48 81 ed 88 00 00 00 48 89 ac 24 80 00 00 00 48 8d ac 24 80 00 00 00", end32),
		28);
	expect_nothing(
		PUT("48 83 ec 88 00 00 00 48 89 ac 24 80 00 00 00 48 8d ac 24 80 00 00 00", end32),
		28);
#undef PUT
}

/* 1 MiB of room is the most. */
static void test_most_room(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		char text[256], words[] = "00 00 10 00";
		struct arch_frame frame;
		struct arch_range range;

		words[1] = more ? '8' : '0';
		snprintf(text, sizeof(text),
			 "48 81 ec 0%c 00 10 00 48 89 ac 24 %s 48 8d ac 24 %s " CALL
			 "48 8b ac 24 %s 48 81 c4 0%c 00 10 00 c3",
			 '8', words, words, words, '8');
		if (more) /* the room is 8 bytes more, too */
			memcpy(text + 9, "10", 2);
		if (more)
			memcpy(strstr(text, "48 81 c4 08") + 9, "10", 2);
		assert_int_equal(held(text, BEFORE, 28, &range, &frame), !more);
	}
}

/* How far a beginning is sought: 32 bytes must lie before the call, and 8192 may. */
static void test_reach(void **state)
{
	static char text[65536];
	struct arch_frame frame;
	struct arch_range range;
	size_t length;

	(void)state;
	for (unsigned before = 0; before < 64; before++)
		assert_int_equal(held(OPEN CALL "5d c3", before, 9, &range, &frame),
				 before + 9 >= 32 && before >= 32);
	for (unsigned times = 818; times < 821; times++) {
		unsigned site = 4 + 10 * times + 5; /* movabs */

		length = (size_t)snprintf(text, sizeof(text), OPEN);
		for (unsigned i = 0; i < times; i++)
			length += (size_t)snprintf(text + length, sizeof(text) - length,
						   "48 b8 90 90 90 90 90 90 90 90 ");
		snprintf(text + length, sizeof(text) - length, CALL "5d c3");
		assert_int_equal(held(text, BEFORE, site, &range, &frame), site <= 8192);
	}
	for (unsigned times = 1990; times < 2003; times++) { /* instructions to the end */
		length = (size_t)snprintf(text, sizeof(text), OPEN);
		for (unsigned i = 0; i < times - 3; i++)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "90 ");
		snprintf(text + length, sizeof(text) - length, CALL "5d c3");
		assert_int_equal(held(text, BEFORE, 4 + times - 3 + 5, &range, &frame),
				 times <= 2000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	      cmocka_unit_test(test_no_function),
		cmocka_unit_test(test_fp_is_written), cmocka_unit_test(test_parity),
		cmocka_unit_test(test_jumps),	      cmocka_unit_test(test_put),
		cmocka_unit_test(test_most_room),     cmocka_unit_test(test_reach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

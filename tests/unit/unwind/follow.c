/* All paths of a function: where they end, whether they lead to a function, and whether that is all
 * they do. With each limit met, and passed by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unwind/place.h"
#include "tests/unit/unwind/hex.h"

#define AT	 0x401000u
#define TARGET	 0x500000u /* is sought */
#define POINTER	 0x600000u /* points to it */
#define SLOT	 0x700000u /* points to AT + 64 */
#define WORK_MAX 6000

static struct {
	uint8_t bytes[16384];
	size_t size;
	uint64_t begins; /* another function */
} code;

static void put(const char *hex)
{
	code.size += bytes_of(hex, code.bytes + code.size);
}

static void put_times(const char *hex, unsigned times)
{
	while (times--)
		put(hex);
}

/* An instruction whose last four bytes are the distance to a place. */
static void put_to(const char *hex, uint64_t place)
{
	int32_t distance;

	put(hex);
	distance = (int32_t)(place - (AT + code.size + 4));
	memcpy(code.bytes + code.size, &distance, 4);
	code.size += 4;
}

static void begin(const char *hex)
{
	memset(&code, 0, sizeof(code));
	put(hex);
}

static size_t read_code(void *context, uint64_t address, uint8_t *out, size_t size)
{
	size_t at = (size_t)(address - AT);

	(void)context;
	if (at >= code.size)
		return 0;
	size = size < code.size - at ? size : code.size - at;
	memcpy(out, code.bytes + at, size);
	return size;
}

static uint64_t slot_of(void *context, uint64_t address)
{
	(void)context;
	return address == SLOT ? AT + 64 : 0;
}

static bool begins_at(void *context, uint64_t address)
{
	(void)context;
	return code.begins && address == AT + code.begins;
}

static const struct place_code reading = {read_code, slot_of, begins_at, NULL};

/* How many returns; the last of them lies at *ret_last. */
static int exits(uint64_t *ret_last)
{
	uint64_t found[PLACE_EXITS_MAX];
	int count = place_own.exits(&reading, AT, found);

	*ret_last = 0;
	for (int i = 0; i < count; i++) {
		assert_int_equal(code.bytes[found[i] - AT], 0xc3);
		for (int k = 0; k < i; k++)
			assert_true(found[i] != found[k]);
		if (found[i] - AT > *ret_last)
			*ret_last = found[i] - AT;
	}
	return count;
}

static void assert_exits(int count, uint64_t last)
{
	uint64_t got;

	assert_int_equal(exits(&got), count);
	assert_int_equal(got, last);
}

static void test_exits(void **state)
{
	(void)state;
	begin("c3");
	assert_exits(1, 0);
	begin("75 01 c3 eb 01 cc c3"); /* jumps over */
	assert_exits(2, 6);
	begin("90 75 fd c3"); /* back to the begin */
	assert_exits(1, 3);
	begin("eb fe"); /* for ever */
	assert_exits(0, 0);
	begin("0f 0b"); /* traps */
	assert_exits(0, 0);
	begin("f4");
	assert_exits(0, 0);
	begin("c2 08 00"); /* pops arguments: it is a return that can't be probed */
	assert_exits(-1, 0);
	begin("ff e0"); /* anywhere */
	assert_exits(-1, 0);
	begin("75 02 ff e0 c3");
	assert_exits(-1, 0);
	begin("74 02 06 06 c3"); /* no instruction */
	assert_exits(-1, 0);
	begin("90"); /* the end of what can be read */
	assert_exits(-1, 0);
	begin("90 c3");
	put_to("e8", TARGET); /* is not reached */
	assert_exits(1, 1);
	begin("");
	put_to("e8", TARGET); /* returns */
	put_to("0f 85", AT);
	put("c3");
	assert_exits(1, 11);
	begin("");
	put_to("e9", AT + 100);
	code.size = 100;
	put("90 c3");
	assert_exits(1, 101);
}

static void test_exits_through(void **state)
{
	(void)state;
	begin("");
	put_to("ff 25", SLOT);
	code.size = 64;
	put("90 90 c3");
	assert_exits(1, 66);
	begin("");
	put_to("ff 25", SLOT + 8);
	code.size = 64;
	put("90 90 c3");
	assert_exits(-1, 0);
}

/* What goes on into another function did not return. */
static void test_exits_of_others(void **state)
{
	(void)state;
	begin("90 90 c3");
	code.begins = 2;
	assert_exits(0, 0);
	code.begins = 1;
	assert_exits(0, 0);
	begin("eb 02 90 90 c3"); /* a jump leads there */
	code.begins = 4;
	assert_exits(1, 4);
}

static void test_most_exits(void **state)
{
	(void)state;
	begin("");
	put_times("74 01 c3", PLACE_EXITS_MAX - 1);
	put("c3");
	assert_exits(PLACE_EXITS_MAX, 3 * (PLACE_EXITS_MAX - 1));
	begin("");
	put_times("74 01 c3", PLACE_EXITS_MAX);
	put("c3");
	assert_exits(-1, 0);
}

/* 256 branches can be open; 6000 instructions are followed. */
static void test_most_work(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		begin("");
		put_times("74 00", 256 + more);
		put("c3");
		assert_exits(more ? -1 : 1, more ? 0 : 512);
		begin("");
		put_times("90", WORK_MAX - 1 + more);
		put("c3");
		assert_exits(more ? -1 : 1, more ? 0 : WORK_MAX - 1);
	}
}

/* Code is read by parts of 512 bytes, and instructions lie anywhere in them. */
static void test_parts(void **state)
{
	(void)state;
	for (unsigned before = 480; before < 530; before++) {
		begin("");
		put_times("90", before);
		put("48 b8 90 90 90 90 90 90 90 c3 c3");
		assert_exits(1, before + 10);
		code.size--;
		assert_exits(-1, 0);
	}
}

static bool is_target(void *context, uint64_t address, bool pointer)
{
	(void)context;
	return pointer ? address == POINTER : address == TARGET;
}

static bool reaches(void)
{
	const struct place_hand_on question = {.is_target = is_target, .code = &reading};

	return place_own.reaches(&reading, AT, &question);
}

static void test_reaches(void **state)
{
	static const char *const direct[] = {"e8",
					     "e9",
					     "90 e8",
					     "74 00 e8",
					     "ff d0 e9",
					     "75 01 c3 e8",
					     "75 02 ff e0 e9",
					     "75 01 06 e8",
					     "75 02 0f 0b e8",
					     "75 03 c2 00 00 e8"};
	static const char *const through[] = {"ff 15", "ff 25"};

	(void)state;
	for (size_t i = 0; i < sizeof(direct) / sizeof(direct[0]); i++) {
		begin("");
		put_to(direct[i], TARGET);
		assert_true(reaches());
		begin("");
		put_to(direct[i], TARGET + 1);
		assert_false(reaches());
		begin("");
		put_to(direct[i], POINTER); /* is none of the code */
		assert_false(reaches());
	}
	for (size_t i = 0; i < 2; i++) {
		begin("");
		put_to(through[i], POINTER);
		assert_true(reaches());
		begin("");
		put_to(through[i], TARGET);
		assert_false(reaches());
		begin(""); /* another function, which leads there */
		put_to(through[i], SLOT);
		code.size = 64;
		put_to("e9", TARGET);
		assert_true(reaches());
		begin("");
		put_to(through[i], SLOT + 8);
		put("c3");
		code.size = 64;
		put_to("e9", TARGET);
		assert_false(reaches());
	}
	begin("");
	put_to("e8", AT + 64); /* a call to one that does */
	put("c3");
	code.size = 64;
	put_to("e8", TARGET);
	assert_true(reaches());
	begin("c3"); /* not reached */
	put_to("e8", TARGET);
	assert_false(reaches());
	begin("ff 10"); /* call *(%rax): leads nowhere that is known */
	put("c3");
	assert_false(reaches());
}

/* More branches than can be open are passed over, more instructions are not. */
static void test_reaches_far(void **state)
{
	(void)state;
	begin("");
	put_times("74 00", 300);
	put_to("e8", TARGET);
	assert_true(reaches());
	for (unsigned more = 0; more < 2; more++) {
		begin("");
		put_times("90", WORK_MAX - 1 + more);
		put_to("e8", TARGET);
		assert_int_equal(reaches(), !more);
	}
}

static bool hands_on(bool frees)
{
	const struct place_hand_on question = {
		.is_target = is_target, .code = &reading, .frees = frees};
	/* what lies behind the function's end must not be read */
	uint8_t *copy = malloc(code.size);
	struct place_function function = {copy, code.size, AT};
	bool is;

	assert_non_null(copy);
	memcpy(copy, code.bytes, code.size);
	is = place_own.hands_on(&function, &question);
	free(copy);
	return is;
}

/* By `hex`, in front of a jump or call to the target; then `rest`. */
static void assert_hands_on(const char *hex, const char *rest, bool allocates, bool frees)
{
	begin("");
	put_to(hex, TARGET);
	put(rest);
	if (hands_on(false) != allocates || hands_on(true) != frees)
		fail_msg("%s ... %s: %d %d", hex, rest, hands_on(false), hands_on(true));
}

static void test_hands_on(void **state)
{
	(void)state;
	assert_hands_on("e9", "", true, true);
	assert_hands_on("e8", "06", true, true);	 /* what is behind does not matter */
	assert_hands_on("48 89 37 e9", "", true, false); /* writes */
	assert_hands_on("53 e9", "", true, true);
	assert_hands_on("90 90 0f 84", "0f 0b", true, true); /* on a condition */
	assert_hands_on("ff d0 e9", "", true, false);	     /* calls something else */
	assert_hands_on("06 e9", "", false, false);
	assert_hands_on("ff e0 e9", "", false, false);
	assert_hands_on("c3 e9", "", false, false);
	assert_hands_on("0f 0b e9", "", false, false);
	/* or returns: a constant, or nothing; the branch leads over the return */
	assert_hands_on("74 01 c3 e9", "", false, true);
	assert_hands_on("74 03 31 c0 c3 e9", "", true, true);
	assert_hands_on("74 03 33 c0 c3 e9", "", true, true);
	assert_hands_on("74 06 b8 01 00 00 00 c3 e9", "", true, true);
	assert_hands_on("74 06 b9 01 00 00 00 c3 e9", "", false, true); /* mov to %ecx */
	assert_hands_on("74 03 31 c1 c3 e9", "", false, true);		/* xor %eax, %ecx */
	assert_hands_on("74 03 31 c8 c3 e9", "", false, true);		/* xor %ecx, %eax */
	assert_hands_on("74 03 31 00 c3 e9", "", false, false);		/* xor %eax, (%rax) */
	assert_hands_on("74 03 29 c0 c3 e9", "", false, true);		/* sub */
	assert_hands_on("74 06 31 c0 48 89 f8 c3 e9", "", false, true); /* something else */
	assert_hands_on("74 06 31 c0 48 89 c7 c3 e9", "", true, true);
	assert_hands_on("74 05 31 c0 ff d0 c3 e9", "", false, false); /* what a call gave */
	assert_hands_on("74 05 31 c0 0f a2 c3 e9", "", false, false); /* cpuid: nobody knows */
	assert_hands_on("74 02 0f 0b e9", "", true, true);
	assert_hands_on("74 02 ff e0 e9", "", false, false);
}

static void test_hands_on_through(void **state)
{
	static const char *const through[] = {"ff 15", "ff 25"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin("");
		put_to(through[i], POINTER);
		assert_true(hands_on(true));
		assert_true(hands_on(false));
		begin("");
		put_to(through[i], TARGET);
		put("31 c0 c3");
		assert_false(hands_on(true));
		assert_false(hands_on(false));
	}
	begin("");
	put_to("ff 15", SLOT); /* calls another one first */
	put_to("e9", TARGET);
	assert_true(hands_on(false));
	assert_false(hands_on(true));
}

/* Out of the function, to code that never returns; and to code that does. */
static void test_hands_on_elsewhere(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		unsigned returns = i & 1, where = i & 2 ? 11 : 100; /* right behind it, too */
		const struct place_hand_on question = {.is_target = is_target, .code = &reading};
		struct place_function function = {code.bytes, 0, AT};

		begin("");
		put_to("0f 84", AT + where);
		put_to("e9", TARGET);
		function.size = code.size;
		code.size = where;
		put(returns ? "c3" : "0f 0b");
		assert_int_equal(place_own.hands_on(&function, &question), !returns);
	}
}

/* A value that is a constant on one path and none on another. */
static void test_hands_on_both(void **state)
{
	(void)state;
	/* 0: je 15; 2: je 6; 4: xor %eax, %eax; 6: jmp 8; 8: ret */
	begin("74 0d 74 02 31 c0 eb 00 c3 90 90 90 90 90 90");
	put_to("e9", TARGET);
	assert_false(hands_on(false));
	assert_true(hands_on(true));
	begin("74 0d 31 c0 74 00 eb 00 c3 90 90 90 90 90 90");
	put_to("e9", TARGET);
	assert_true(hands_on(false));
	/* round and round, and out of it */
	begin("74 fe 74 fc");
	put_to("e9", TARGET);
	assert_true(hands_on(false));
}

static void test_hands_on_most(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		begin("");
		put_to("e9", TARGET);
		put_times("90", 384 - 5 + more);
		assert_int_equal(hands_on(true), !more);
		begin("");
		put_times("74 00", 64 + more); /* paths that are open */
		put_to("e9", TARGET);
		assert_int_equal(hands_on(true), !more);
	}
	begin("90"); /* leads over its end */
	assert_false(hands_on(true));
	begin("e9 00 00"); /* is cut off */
	assert_false(hands_on(true));
	begin("eb fd"); /* before its begin, where nothing is */
	assert_false(hands_on(true));
}

static void test_stub(void **state)
{
	uint8_t bytes[16];

	(void)state;
	for (unsigned endbr = 0; endbr < 2; endbr++) {
		begin(endbr ? "f3 0f 1e fa" : "");
		put("ff 25 04 03 02 01");
		assert_int_equal(place_own.stub(code.bytes, code.size, AT),
				 AT + code.size + 0x01020304);
		for (size_t size = 0; size < code.size; size++)
			assert_int_equal(place_own.stub(code.bytes, size, AT), 0);
	}
	assert_int_equal(place_own.stub(bytes, bytes_of("e9 00 00 00 00", bytes), AT), 0);
	assert_int_equal(place_own.stub(bytes, bytes_of("ff e0", bytes), AT), 0);
	assert_int_equal(place_own.stub(bytes, bytes_of("90 ff 25 00 00 00 00", bytes), AT), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_exits_through),
		cmocka_unit_test(test_exits_of_others),
		cmocka_unit_test(test_most_exits),
		cmocka_unit_test(test_most_work),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_reaches),
		cmocka_unit_test(test_reaches_far),
		cmocka_unit_test(test_hands_on),
		cmocka_unit_test(test_hands_on_through),
		cmocka_unit_test(test_hands_on_elsewhere),
		cmocka_unit_test(test_hands_on_both),
		cmocka_unit_test(test_hands_on_most),
		cmocka_unit_test(test_stub),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

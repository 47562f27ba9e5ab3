/*
 * ELF files made to harm: cut at any length, with bits turned, with bytes of nonsense. The worker
 * may die of them, the collector may not, and the next file must be read as if nothing had been.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collector/symbols/protocol.h"
#include "collector/symbols/symbols.h"

#define ROUNDS 150

static uint64_t seed = 88172645463325252u;

static uint64_t random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint8_t *load(const char *path, size_t *ret_length)
{
	FILE *file = fopen(path, "r");
	uint8_t *data;
	long length;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	length = ftell(file);
	rewind(file);
	data = malloc((size_t)length);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)length, file), length);
	fclose(file);
	*ret_length = (size_t)length;
	return data;
}

static void save(const char *path, const uint8_t *data, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, length, file), length);
	fclose(file);
}

/* Damages most where it hurts: headers at the begin, section headers and debug information
 * behind. */
static size_t damage(uint8_t *data, size_t length)
{
	unsigned kind = random_number() % 4, count = 1 + random_number() % 40;

	if (kind == 0)
		return random_number() % length;
	for (unsigned i = 0; i < count; i++) {
		size_t at = kind == 1 ? random_number() % 512 : random_number() % length;

		if (kind == 2)
			at = length - 1 - random_number() % 4096;
		data[at] = random_number() % 3 ? (uint8_t)(data[at] ^ 1u << random_number() % 8)
					       : (uint8_t)random_number();
	}
	return length;
}

static void check_sane(struct symbols *symbols)
{
	struct symbol_module module = {.path = TARGETS "/dwarf4.so"};
	const struct symbol *found = NULL;
	uint64_t offset = 0x1121;

	assert_int_equal(symbols_lookup(symbols, &module, &offset, 1, &found, NULL), 0);
	assert_non_null(found->frames[0].function);
}

static void survives_damaged_files(void **state)
{
	static const char *const sources[] = {TARGETS "/dwarf4.so", TARGETS "/packed.so",
					      TARGETS "/mini.so", TARGETS "/dwarf5.so"};
	struct symbols_options options = {.worker_seconds = 2, .worker_memory_bytes = 256 << 20};
	char path[] = "/tmp/heapcast-hostile-XXXXXX";
	uint64_t offsets[64];
	const struct symbol *found[64];
	struct symbols *symbols;
	size_t length, named = 0;

	(void)state;
	close(mkstemp(path));
	for (unsigned i = 0; i < 64; i++)
		offsets[i] = 0x1000 + i * 12;
	assert_int_equal(symbols_new(&options, &symbols, NULL), 0);
	for (unsigned i = 0; i < 4 * ROUNDS; i++) {
		struct symbol_module module = {.path = path};
		uint8_t *data = load(sources[i % 4], &length);

		save(path, data, damage(data, length));
		free(data);
		symbols_refresh(symbols);
		assert_int_equal(symbols_lookup(symbols, &module, offsets, 64, found, NULL), 0);
		for (unsigned k = 0; k < 64; k++) {
			assert_in_range(found[k]->count, 1, FRAMES_MAX);
			named += found[k]->frames[0].function != NULL;
		}
		if (i % 50 == 0)
			check_sane(symbols);
	}
	check_sane(symbols);
	print_message("%u damaged files, %zu places named all the same\n", 4 * ROUNDS, named);
	symbols_free(symbols);
	unlink(path);
}

/* A worker that dies, one that never answers, one that talks nonsense: each costs one file and a
 * note. */
static void survives_bad_workers(void **state)
{
	static const char *const scripts[] = {"exit 1",
					      "exec sleep 1000",
					      "cat /dev/zero",
					      "cat",
					      "head -c 20 /dev/zero; exec sleep 1000",
					      "kill -SEGV $$"};
	char program[] = "/tmp/heapcast-worker-XXXXXX";
	const struct symbols_note *notes;
	uint64_t offset = 0x1121;

	(void)state;
	close(mkstemp(program));
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
		struct symbols_options options = {.worker = program, .worker_seconds = 1};
		struct symbol_module module = {.path = TARGETS "/dwarf4.so"};
		const struct symbol *found = NULL;
		struct symbols *symbols;
		FILE *file = fopen(program, "w");

		assert_non_null(file);
		fprintf(file, "#!/bin/sh\n%s\n", scripts[i]);
		fclose(file);
		assert_int_equal(chmod(program, 0700), 0);
		assert_int_equal(symbols_new(&options, &symbols, NULL), 0);
		assert_int_equal(symbols_lookup(symbols, &module, &offset, 1, &found, NULL), 0);
		assert_null(found->frames[0].function);
		assert_true(symbols_notes(symbols, &notes) >=
			    2); /* "without a check", and the failure */
		symbols_free(symbols);
	}
	unlink(program);
}

static void says_when_there_is_no_worker(void **state)
{
	struct symbols_options options = {.worker = "/no/such/program"};
	struct symbol_module module = {.path = TARGETS "/dwarf4.so"};
	const struct symbol *found = NULL;
	struct symbols *symbols;
	uint64_t offset = 0x1121;

	(void)state;
	assert_int_equal(symbols_new(&options, &symbols, NULL), 0);
	assert_int_equal(symbols_lookup(symbols, &module, &offset, 1, &found, NULL), -ENOENT);
	symbols_free(symbols);
}

/* Every message is read by the other side's decoder, whole and damaged. */
static void checks_the_protocol(void **state)
{
	uint64_t addresses[] = {0, 5, 5000, UINT64_MAX};
	char path[] = "/a/path";
	struct request request = {
		.memory_bytes = 1, .seconds = 2, .path = path, .addresses = addresses, .count = 4};
	struct answer answer = {0}, got;
	struct request read;
	struct buf out = {0};

	(void)state;
	request_encode(&out, &request);
	assert_int_equal(request_decode(out.data + 4, out.length - 4, &read), 0);
	assert_memory_equal(read.addresses, addresses, sizeof(addresses));
	assert_string_equal(read.path, path);
	request_done(&read);
	for (size_t cut = 0; cut + 5 < out.length; cut++)
		assert_int_not_equal(request_decode(out.data + 4, cut, &read), 0);
	buf_clear(&out);
	answer.places = calloc(4, sizeof(*answer.places));
	answer.place_count = 4;
	strings_put(&answer.strings, "name", 4);
	for (unsigned i = 0; i < 4; i++) {
		answer.places[i].first = (uint32_t)answer.frame_count;
		answer.places[i].quality = PLACE_FULL;
		for (unsigned k = 0; k <= i; k++)
			answer_frame(&answer, &answer.places[i])->function = 1;
	}
	answer_encode(&out, &answer);
	assert_int_equal(answer_decode(out.data + 4, out.length - 4, &request, &got), 0);
	assert_int_equal(got.places[3].count, 4);
	answer_done(&got);
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t *damaged = malloc(out.length);

		memcpy(damaged, out.data, out.length);
		damaged[4 + random_number() % (out.length - 4)] = (uint8_t)random_number();
		if (!answer_decode(damaged + 4, out.length - 4 - (i % 2 ? random_number() % 8 : 0),
				   &request, &got))
			answer_done(&got);
		free(damaged);
	}
	answer_done(&answer);
	buf_done(&out);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_the_protocol),
		cmocka_unit_test(survives_bad_workers),
		cmocka_unit_test(says_when_there_is_no_worker),
		cmocka_unit_test(survives_damaged_files),
	};

	if (argc == 2 && !strcmp(argv[1], "symbols-worker"))
		return symbols_worker_main();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

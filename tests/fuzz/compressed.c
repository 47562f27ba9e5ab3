/*
 * Compressed recordings by strangers: never longer than their heads say, or refused. And the other
 * way round: any bytes come back when they were compressed.
 */
#include "collector/recording/compressed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "tests/fuzz/fuzz.h"

#define HEAD_CHECK 36
#define HEAD_SIZE  44

static void check(int truth)
{
	if (!truth)
		abort();
}

static int memory_file(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	check(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	return fd;
}

/* The check of the head is mended, so that what follows is read. */
static void restore(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	struct compressed head;
	int from, to = memory_file("", 0);
	uint64_t sum;

	check(copy != NULL);
	memcpy(copy, data, size);
	if (size >= HEAD_SIZE) {
		sum = htole64(XXH3_64bits(copy, HEAD_CHECK));
		memcpy(copy + HEAD_CHECK, &sum, sizeof(sum));
	}
	from = memory_file(copy, size);
	if (compressed_look("fuzz", from, &head, NULL) == 1) {
		int r = compressed_restore("fuzz", from, to, NULL);
		off_t length = lseek(to, 0, SEEK_END);

		check((uint64_t)length <= head.length);
		check(r || (uint64_t)length == head.length);
	}
	close(from);
	close(to);
	free(copy);
}

static void round_trip(const uint8_t *data, size_t size)
{
	int from = memory_file(data, size), packed = memory_file("", 0), to = memory_file("", 0);
	uint8_t *again = malloc(size + 1);

	check(!compressed_write("fuzz", from, size, packed, NULL, NULL, NULL));
	check(!compressed_restore("fuzz", packed, to, NULL));
	check(again && pread(to, again, size + 1, 0) == (ssize_t)size &&
	      !memcmp(again, data, size));
	free(again);
	close(from);
	close(packed);
	close(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	restore(data, size);
	round_trip(data, size);
	return 0;
}

/*
 * Prints a file of libcounting.so as NAME VALUE lines that a shell reads: one `calls.F`, `bytes.F`, `failed.F` for each
 * function, the frees, and the sums `allocations` and `bytes` over all functions that give blocks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/e2e/counting/counting.h"

static const char *const names[] = {
#define X(name) #name,
	COUNTING_FUNCTIONS(X)
#undef X
};

static void show(const struct counting_file *f)
{
	uint64_t allocations = 0, bytes = 0, failed = 0;

	printf("executable %s\npid %u\n", f->executable, f->pid);
	for (int i = 0; i < COUNTING_FUNCTION_COUNT; i++) {
		printf("calls.%s %" PRIu64 "\n", names[i], f->row[i].calls);
		printf("bytes.%s %" PRIu64 "\n", names[i], f->row[i].bytes);
		printf("failed.%s %" PRIu64 "\n", names[i], f->row[i].failed);
		allocations += f->row[i].calls;
		bytes += f->row[i].bytes;
		failed += f->row[i].failed;
	}
	printf("free %" PRIu64 "\nfree_null %" PRIu64 "\nrealloc_free %" PRIu64 "\n", f->free_,
	       f->free_null, f->realloc_free);
	printf("frees %" PRIu64 "\nreallocated %" PRIu64 "\n", f->free_ + f->realloc_free,
	       f->reallocated);
	printf("allocations %" PRIu64 "\nbytes %" PRIu64 "\nfailed %" PRIu64 "\n", allocations,
	       bytes, failed);
}

int main(int argc, char **argv)
{
	struct counting_file f;
	FILE *in = argc == 2 ? fopen(argv[1], "rb") : NULL;

	if (!in) {
		fprintf(stderr, "usage: counting-show FILE (as written by libcounting.so)\n");
		return 2;
	}
	if (fread(&f, sizeof(f), 1, in) != 1 || f.magic != COUNTING_MAGIC ||
	    !memchr(f.executable, 0, sizeof(f.executable))) {
		fprintf(stderr, "%s is not a file of libcounting.so\n", argv[1]);
		fclose(in);
		return 3;
	}
	fclose(in);
	show(&f);
	return 0;
}

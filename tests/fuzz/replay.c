/*
 * The main of a fuzz target where no fuzzer is linked: gives it each file of the folders and files
 * that are named, and of each file also every prefix (in steps, for long ones) and some damaged
 * copies, always the same ones.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

#define LONGEST	 (16u << 20)
#define PREFIXES 64
#define DAMAGED	 64

static unsigned long inputs;

/* In memory of exactly its length, so that a read beyond the end is seen. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		abort();
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	inputs++;
}

static void run_variants(uint8_t *data, size_t size)
{
	uint32_t random = 2463534242u;

	run(data, size);
	for (size_t i = 0; i < PREFIXES && i < size; i++)
		run(data, size <= PREFIXES ? i : size / PREFIXES * i);
	for (size_t i = 0; i < DAMAGED && size; i++) {
		uint8_t *byte, old;

		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		byte = &data[random % (i % 2 && size > 64 ? 64 : size)];
		old = *byte;
		*byte = (uint8_t)(random >> 24);
		run(data, size);
		*byte = old;
	}
}

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(LONGEST);
	size_t size;

	if (!f || !data) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, LONGEST, f);
	fclose(f);
	run_variants(data, size);
	free(data);
	return 0;
}

static int run_path(const char *path);

static int run_folder(const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort), failed = count < 0;

	for (int i = 0; i < count; i++) {
		char inner[4096];

		snprintf(inner, sizeof(inner), "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			failed |= run_path(inner);
		free(entries[i]);
	}
	free(entries);
	return failed;
}

static int run_path(const char *path)
{
	struct stat st;

	if (stat(path, &st)) {
		perror(path);
		return 1;
	}
	return S_ISDIR(st.st_mode) ? run_folder(path) : run_file(path);
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= run_path(argv[i]);
	printf("%lu inputs\n", inputs);
	return failed || !inputs;
}

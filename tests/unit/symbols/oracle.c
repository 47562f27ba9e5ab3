/*
 * Against binutils: every return address of real programs, as addr2line names it. What differs must
 * be a difference that is known to be in our favour; they are counted, and few.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/symbols/elfid.h"
#include "collector/symbols/sourcepath.h"
#include "collector/symbols/symbols.h"

#define ADDRESSES_MAX 100000

struct tally {
	size_t frames, same;
	size_t richer; /* a name with scopes where addr2line has the bare one, a clone suffix left
			  out, or a name at all */
	size_t other;
};

/* Return addresses of the program's calls: those after each `call` that objdump shows. */
static size_t list_addresses(const char *path, uint64_t *offsets)
{
	char command[4096], line[1024];
	size_t count = 0;
	bool after_call = false;
	FILE *pipe;

	snprintf(command, sizeof(command), "objdump -d --no-show-raw-insn '%s'", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		char *colon = strchr(line, ':');

		if (!colon || line[0] != ' ') { /* not an instruction: the call was the last one of
						   its function */
			after_call = false;
			continue;
		}
		if (after_call && count < ADDRESSES_MAX)
			offsets[count++] = strtoull(line, NULL, 16);
		after_call = strstr(colon, "\tcall") != NULL;
	}
	pclose(pipe);
	return count;
}

/* Takes " (discriminator 3)" and the line off "path:line". */
static unsigned split_place(char *place)
{
	char *colon;

	place[strcspn(place, "\n")] = 0;
	colon = strstr(place, " (discriminator");
	if (colon)
		*colon = 0;
	colon = strrchr(place, ':');
	if (!colon)
		return 0;
	*colon = 0;
	return (unsigned)strtoul(colon + 1, NULL, 10);
}

static bool ends_with(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && !strcmp(text + a - b, end);
}

/* Is ours the same as theirs but for what we say better? */
static bool is_richer(const char *ours, const char *theirs)
{
	const char *clone = strstr(theirs, " [clone ");

	if (!strncmp(ours, theirs, strlen(ours)) && theirs[strlen(ours)] == '.')
		return true;
	return !strcmp(theirs, "??") || strstr(theirs, ".cold") ||
	       strstr(theirs, "_GLOBAL__sub_I") || ends_with(ours, theirs) ||
	       strstr(ours, theirs) || (clone && !strncmp(ours, theirs, (size_t)(clone - theirs)));
}

static void compare_frame(const struct symbol_frame *ours, const char *function, const char *file,
			  unsigned line, uint64_t offset, struct tally *tally)
{
	const char *name = ours->function ? ours->function : "??";
	char path[SOURCE_PATH_MAX];
	bool same_place;

	source_path(path, NULL, file);
	same_place = line == ours->line && (!line || (ours->file && !strcmp(ours->file, path)));
	tally->frames++;
	if (same_place && !strcmp(name, function))
		tally->same++;
	else if (same_place && is_richer(name, function))
		tally->richer++;
	else if (++tally->other <= 10)
		print_message("%#lx: %s %s:%u, addr2line: %s %s:%u\n", (unsigned long)offset, name,
			      ours->file ? ours->file : "??", ours->line, function, path, line);
}

/* Writes the addresses to a file and reads addr2line's answers beside ours. */
static void compare(const char *path, const uint64_t *offsets, size_t count,
		    const struct symbol **symbols, struct tally *tally)
{
	char list[] = "/tmp/heapcast-oracle-XXXXXX", command[4096];
	static char function[1 << 16], place[1 << 16];
	int fd = mkstemp(list);
	FILE *file = fdopen(fd, "w"), *pipe;
	size_t at = 0, depth = 0;
	bool first = true;

	assert_non_null(file);
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%#lx\n", (unsigned long)offsets[i] - 1);
	fclose(file);
	snprintf(command, sizeof(command), "addr2line -a -f -i -C -e '%s' < %s", path, list);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(function, sizeof(function), pipe)) {
		unsigned line;

		if (!strncmp(function, "0x", 2)) {
			if (!first)
				at++;
			first = false;
			depth = 0;
			continue;
		}
		assert_non_null(fgets(place, sizeof(place), pipe));
		function[strcspn(function, "\n")] = 0;
		line = split_place(place);
		assert_true(at < count);
		if (depth < symbols[at]->count)
			compare_frame(&symbols[at]->frames[depth], function, place, line,
				      offsets[at], tally);
		else
			tally->other++;
		depth++;
	}
	pclose(pipe);
	unlink(list);
	assert_int_equal(at + 1, count);
}

static void compare_program(const char *path)
{
	static uint64_t offsets[ADDRESSES_MAX];
	static const struct symbol *found[ADDRESSES_MAX];
	struct symbols_options options = {0};
	struct timespec start, end;
	struct symbols *symbols;
	struct symbol_module module = {.path = path};
	struct tally tally = {0};
	struct elf_id id;
	size_t count = list_addresses(path, offsets);

	assert_true(count > 100);
	assert_int_equal(elf_id_read(path, &id), 0);
	module.build_id = id.file.build_id;
	module.build_id_length = id.file.build_id_length;
	assert_int_equal(symbols_new(&options, &symbols, NULL), 0);
	clock_gettime(CLOCK_MONOTONIC, &start);
	assert_int_equal(symbols_lookup(symbols, &module, offsets, count, found, NULL), 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	compare(path, offsets, count, found, &tally);
	symbols_free(symbols);
	print_message("%s: %zu addresses in %.3f s, %zu frames: %zu as addr2line, %zu say more, "
		      "%zu differ\n",
		      path, count,
		      (double)(end.tv_sec - start.tv_sec) +
			      (double)(end.tv_nsec - start.tv_nsec) / 1e9,
		      tally.frames, tally.same, tally.richer, tally.other);
	assert_true(tally.other * 500 <= tally.frames);
}

static void agrees_on_templates(void **state)
{
	(void)state;
	if (access(TARGETS "/templates", R_OK))
		skip();
	compare_program(TARGETS "/templates");
}

static void agrees_on_this_program(void **state)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	(void)state;
	assert_true(length > 0);
	path[length] = 0;
	compare_program(path);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_on_templates),
		cmocka_unit_test(agrees_on_this_program),
	};

	if (argc == 2 && !strcmp(argv[1], "symbols-worker"))
		return symbols_worker_main();
	if (system("addr2line --version >/dev/null 2>&1 && objdump --version >/dev/null 2>&1")) {
		print_message("binutils is not here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

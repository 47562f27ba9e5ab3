/*
 * What stands between a hostile file and the collector: the worker's limits and system calls, files
 * that are not tried twice, files that a store takes and refuses, and the look at folders by which
 * a running server notices that files came.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "base/error.h"
#include "collector/symbols/elfid.h"
#include "collector/symbols/seccomp.h"
#include "collector/symbols/symbols.h"

/* A sanitizer makes system calls of its own, and so is let. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif

static char scratch[] = "/tmp/heapcast-limits-XXXXXX";

static const char *in_scratch(const char *name)
{
	static char paths[4][4096];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
	return path;
}

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void shell(const char *format, ...)
{
	char command[8192];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

/* ---- the worker's process ---- */

/* What of this is possible; each a bit, so that the exit status tells. */
static int try_everything(void)
{
	struct rlimit limit = {1, 1};
	int possible = 0;

	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		possible |= 1;
	if (open("/dev/null", O_WRONLY) >= 0 || open("/dev/null", O_RDWR) >= 0)
		possible |= 2;
	if (open(in_scratch("written"), O_RDONLY | O_CREAT, 0600) >= 0)
		possible |= 4;
	if (!kill(getppid(), 0))
		possible |= 8;
	if (fork() >= 0)
		possible |= 16;
	if (!prlimit(getppid(), RLIMIT_CORE, NULL, &limit))
		possible |= 32;
	if (open("/proc/self/exe", O_RDONLY) < 0 || getrlimit(RLIMIT_CORE, &limit))
		possible |= 64; /* what must be */
	return possible;
}

static void can_only_read(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (is_sanitized)
		skip();
	pid = fork();
	if (!pid) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(seccomp_read_only() ? 77 : try_everything());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The worker as it runs, looked at in /proc. */
static void runs_with_limits(void **state)
{
	struct symbols_options options = {0};
	struct symbol_module module = {.path = TARGETS "/dwarf5.so"};
	const struct symbol *found;
	struct symbols *symbols;
	uint64_t offset = 0x1121;

	(void)state;
	assert_int_equal(symbols_new(&options, &symbols, NULL), 0);
	assert_int_equal(symbols_lookup(symbols, &module, &offset, 1, &found, NULL), 0);
	shell("for p in $(cat /proc/%d/task/%d/children); do"
	      " grep -aq '^heapcast-symbols' /proc/$p/cmdline || continue;"
	      " grep -q '^NoNewPrivs:.1' /proc/$p/status || exit 1;"
	      " grep -q '^Seccomp:.%d' /proc/$p/status || exit 2;"
	      " n=1; done; [ \"$n\" ]",
	      getpid(), getpid(), is_sanitized ? 0 : 2);
	symbols_free(symbols);
}

/* ---- bad files ---- */

/* Bytes that this process has asked to read so far. */
static unsigned long long bytes_read(void)
{
	unsigned long long bytes = 0;
	FILE *io = fopen("/proc/self/io", "r");

	assert_non_null(io);
	assert_int_equal(fscanf(io, "rchar: %llu", &bytes), 1);
	fclose(io);
	return bytes;
}

/* As many note sections as there may be, each of the same large place: they are not all read. */
static void reads_few_notes(void **state)
{
	enum { SECTIONS = 65000, NOTE = 1 << 20 };
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_shoff = sizeof(header) + NOTE,
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = SECTIONS};
	Elf64_Shdr *sections = calloc(SECTIONS, sizeof(*sections));
	const char *path = in_scratch("notes");
	FILE *file = fopen(path, "w");
	unsigned long long before;
	struct elf_id id;

	(void)state;
	assert_true(sections && file);
	for (unsigned i = 0; i < SECTIONS; i++)
		sections[i] = (Elf64_Shdr){
			.sh_type = SHT_NOTE, .sh_offset = sizeof(header), .sh_size = NOTE};
	assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
	assert_int_equal(fseek(file, (long)header.e_shoff, SEEK_SET), 0);
	assert_int_equal(fwrite(sections, sizeof(*sections), SECTIONS, file), SECTIONS);
	assert_int_equal(fclose(file), 0);
	free(sections);
	before = bytes_read();
	assert_int_equal(elf_id_read(path, &id), 0);
	assert_in_range(bytes_read() - before, 0, 16 << 20);
	unlink(path);
}

static const struct symbol *look_up(struct symbols *symbols, const char *path)
{
	static const uint64_t offset = 0x1121;
	struct symbol_module module = {.path = path};
	const struct symbol *symbol = NULL;
	struct elf_id id;

	assert_int_equal(elf_id_read(path, &id), 0);
	module.build_id = id.file.build_id;
	module.build_id_length = id.file.build_id_length;
	assert_int_equal(symbols_lookup(symbols, &module, &offset, 1, &symbol, NULL), 0);
	return symbol;
}

static unsigned notes_with(const struct symbols *symbols, const char *text)
{
	const struct symbols_note *notes;
	size_t count = symbols_notes(symbols, &notes);
	unsigned found = 0;

	for (size_t i = 0; i < count; i++)
		found += strstr(notes[i].text, text) != NULL;
	return found;
}

static unsigned starts(void)
{
	struct stat st;

	return stat(in_scratch("starts"), &st) ? 0 : (unsigned)st.st_size;
}

static void tries_a_bad_file_once(void **state)
{
	struct symbols_options options = {.worker_seconds = 5, .debug_root = "/no-such"};
	char worker[4096], file[4096];
	struct symbols *symbols;
	sqlite3 *db;

	(void)state;
	snprintf(worker, sizeof(worker), "%s/worker", scratch);
	snprintf(file, sizeof(file), "%s/bad.so", scratch);
	shell("cp '%s/dwarf5.so' '%s'", TARGETS, file);
	shell("printf '#!/bin/sh\\nprintf x >>%s/starts\\nkill -SEGV $$\\n' >'%s' && chmod 700 "
	      "'%s'",
	      scratch, worker, worker);
	assert_int_equal(sqlite3_open(in_scratch("bad.sqlite"), &db), SQLITE_OK);
	options.worker = worker;
	options.cache = db;
	assert_int_equal(symbols_new(&options, &symbols, NULL), 0);
	assert_null(look_up(symbols, file)->frames[0].function);
	assert_int_equal(notes_with(symbols, "the reader failed on it"), 1);
	assert_int_equal(starts(), 1);
	symbols_refresh(symbols); /* as a running server does */
	look_up(symbols, file);
	assert_int_equal(starts(), 1);
	assert_int_equal(notes_with(symbols, "skipped"), 1);
	symbols_free(symbols);
	/* The next command remembers. */
	assert_int_equal(symbols_new(&options, &symbols, NULL), 0);
	look_up(symbols, file);
	assert_int_equal(starts(), 1);
	assert_int_equal(notes_with(symbols, "skipped"), 1);
	/* Once it has changed it is tried again, here by a reader that lives. */
	shell("touch -d '2020-01-01' '%s'", file);
	options.worker = NULL;
	symbols_free(symbols);
	assert_int_equal(symbols_new(&options, &symbols, NULL), 0);
	assert_non_null(look_up(symbols, file)->frames[0].function);
	symbols_free(symbols);
	sqlite3_close(db);
}

/* ---- the store ---- */

struct listed {
	unsigned count, full, damaged;
	char path[4096];
};

static int count_file(void *context, const struct symbol_file *file)
{
	struct listed *l = context;

	l->count += file->build_id_length == 20;
	l->damaged += !file->build_id_length;
	l->full += file->lines && file->inlines;
	snprintf(l->path, sizeof(l->path), "%s", file->path);
	return 0;
}

static struct listed list(const char *folder)
{
	struct listed l = {0};

	assert_int_equal(symbols_store_each(folder, count_file, &l), 0);
	return l;
}

static void stores_files_by_build_id(void **state)
{
	const char *folder = in_scratch("store");
	struct err_text err = {0};

	(void)state;
	assert_int_equal(list(folder).count, 0);
	assert_int_equal(symbols_store_add(folder, "/dev/null", &err), -ENOEXEC);
	assert_int_equal(symbols_store_add(folder, in_scratch("no"), &err), -ENOENT);
	shell("head -c 300 '%s/dwarf5.so' >'%s/cut'", TARGETS, scratch);
	assert_true(symbols_store_add(folder, in_scratch("cut"), &err) < 0);
	shell("objcopy --remove-section=.note.gnu.build-id '%s/dwarf5.so' '%s/no-id'", TARGETS,
	      scratch);
	assert_int_equal(symbols_store_add(folder, in_scratch("no-id"), &err), -ENODATA);
	assert_non_null(strstr(err.text, "has no build id"));
	assert_int_equal(list(folder).count, 0);
	/* The program and its debug file lie beside each other; the one does not replace the
	 * other. */
	assert_int_equal(symbols_store_add(folder, TARGETS "/stripped.so", &err), 0);
	assert_int_equal(symbols_store_add(folder, TARGETS "/apart/any-name", &err), 0);
	assert_int_equal(symbols_store_add(folder, TARGETS "/apart/any-name", &err), 1);
	assert_int_equal(list(folder).count, 2);
	assert_int_equal(list(folder).full, 1);
	/* A damaged copy is replaced. */
	shell("truncate -s 100 '%s'/.build-id/*/*.debug", folder);
	assert_int_equal(list(folder).count, 1);
	assert_int_equal(list(folder).damaged, 1);
	assert_int_equal(symbols_store_add(folder, TARGETS "/apart/any-name", &err), 0);
	assert_int_equal(list(folder).full, 1);
	assert_int_equal(list(folder).damaged, 0);
}

static void notices_files_that_come(void **state)
{
	const char *folder = in_scratch("watched");
	const char *const folders[] = {folder, NULL};
	struct symbols_options options = {
		.folders = folders, .store = in_scratch("later"), .debug_root = "/no-such"};
	char file[4096];
	struct symbols *symbols;

	(void)state;
	shell("mkdir -p '%s/a/b'; cp '%s/stripped.so' '%s/late.so'", folder, TARGETS, scratch);
	snprintf(file, sizeof(file), "%s/late.so", scratch);
	assert_int_equal(symbols_new(&options, &symbols, NULL), 0);
	assert_null(look_up(symbols, file)->frames[0].file);
	assert_false(symbols_are_stale(symbols));
	assert_int_equal(symbols_store_add(options.store, TARGETS "/apart/any-name", NULL), 0);
	assert_false(symbols_are_stale(symbols)); /* it looks once a second */
	sleep(1);
	assert_true(symbols_are_stale(symbols));
	symbols_refresh(symbols);
	sleep(1);
	assert_false(symbols_are_stale(symbols));
	/* Deep in a folder of --symbols. */
	look_up(symbols, file);
	shell("cp '%s/dwarf4.so' '%s/a/b/'", TARGETS, folder);
	sleep(1);
	assert_true(symbols_are_stale(symbols));
	symbols_free(symbols);
}

static int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

static int drop_scratch(void **state)
{
	(void)state;
	shell("rm -rf '%s'", scratch);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(can_only_read),
		cmocka_unit_test(runs_with_limits),
		cmocka_unit_test(reads_few_notes),
		cmocka_unit_test(tries_a_bad_file_once),
		cmocka_unit_test(stores_files_by_build_id),
		cmocka_unit_test(notices_files_that_come),
	};

	if (argc == 2 && !strcmp(argv[1], "symbols-worker"))
		return symbols_worker_main();
	return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}

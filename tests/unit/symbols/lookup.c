/*
 * Lookups in shared objects whose lines are known: each is loaded, its chain of calls is run, and
 * the return address that it saw must be named, inlined frames with the lines of their calls
 * included.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "base/error.h"
#include "collector/symbols/elfid.h"
#include "collector/symbols/symbols.h"
#include "tests/unit/symbols/targets/shot.h"

static void shoot(struct shot *shot)
{
	shot->return_address = __builtin_return_address(0);
}

/* Loads the target and runs it; the offset is as an agent would send it. */
static uint64_t run(const char *path, struct shot *ret_shot)
{
	struct shot shot = {.shoot = shoot};
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*calls)(struct shot *);
	Dl_info info;

	if (!handle)
		fail_msg("%s", dlerror());
	*(void **)&calls = dlsym(handle, "calls");
	assert_non_null(calls);
	calls(&shot);
	assert_int_not_equal(dladdr(shot.return_address, &info), 0);
	*ret_shot = shot;
	dlclose(handle);
	return (uint64_t)((char *)shot.return_address - (char *)info.dli_fbase);
}

static struct symbols *open_symbols(const char *const *folders, sqlite3 *cache)
{
	struct symbols_options options = {
		.folders = folders, .cache = cache, .debug_root = TARGETS "/no-such"};
	struct symbols *symbols;
	struct err_text err = {0};

	assert_int_equal(symbols_new(&options, &symbols, &err), 0);
	return symbols;
}

static const struct symbol *look_up(struct symbols *symbols, const char *path, uint64_t offset)
{
	struct elf_id id;
	struct symbol_module module = {.path = path};
	const struct symbol *symbol = NULL;
	struct err_text err = {0};

	assert_int_equal(elf_id_read(path, &id), 0);
	assert_int_equal(id.file.build_id_length, 20);
	module.build_id = id.file.build_id;
	module.build_id_length = id.file.build_id_length;
	assert_int_equal(symbols_lookup(symbols, &module, &offset, 1, &symbol, &err), 0);
	assert_non_null(symbol);
	return symbol;
}

static void check_frame(const struct symbol_frame *frame, const char *function, int line,
			bool is_inline)
{
	assert_non_null(frame->function);
	assert_string_equal(frame->function, function);
	assert_string_equal(frame->raw_function, function);
	assert_string_equal(frame->file, TARGET_SOURCES "/calls.c");
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->is_inline, is_inline);
}

static void check_all(const struct symbol *symbol, const struct shot *shot)
{
	assert_int_equal(symbol->count, 3);
	check_frame(&symbol->frames[0], "innermost", shot->lines[0], true);
	check_frame(&symbol->frames[1], "between", shot->lines[1], true);
	check_frame(&symbol->frames[2], "hidden_function", shot->lines[2], false);
}

static const char *note_of(const struct symbols *symbols)
{
	const struct symbols_note *notes;

	return symbols_notes(symbols, &notes) ? notes[0].text : "";
}

static void reads_debug_information(void **state)
{
	static const char *const files[] = {"dwarf4.so", "dwarf5.so", "packed.so", "linked.so",
					    "clang.so"};
	struct symbols *symbols;
	char path[4096];
	struct shot shot;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		uint64_t offset;

		snprintf(path, sizeof(path), TARGETS "/%s", files[i]);
		if (access(path, R_OK)) {
			print_message("%s was not built: no such compiler\n", files[i]);
			continue;
		}
		offset = run(path, &shot);
		symbols = open_symbols(NULL, NULL);
		check_all(look_up(symbols, path, offset), &shot);
		assert_string_equal(note_of(symbols), "");
		symbols_free(symbols);
	}
}

static void names_by_packed_symbol_table(void **state)
{
	struct symbols *symbols = open_symbols(NULL, NULL);
	struct shot shot;
	uint64_t offset = run(TARGETS "/mini.so", &shot);
	const struct symbol *symbol = look_up(symbols, TARGETS "/mini.so", offset);

	(void)state;
	assert_int_equal(symbol->count, 1);
	assert_string_equal(symbol->frames[0].function, "hidden_function");
	assert_null(symbol->frames[0].file);
	assert_int_equal(symbol->frames[0].line, 0);
	assert_non_null(strstr(note_of(symbols), "no debug information here"));
	symbols_free(symbols);
}

static void finds_debug_files_in_folders(void **state)
{
	const char *const folders[] = {TARGETS "/apart", NULL};
	struct symbols *symbols = open_symbols(NULL, NULL);
	struct shot shot;
	uint64_t offset = run(TARGETS "/stripped.so", &shot);
	const struct symbol *symbol = look_up(symbols, TARGETS "/stripped.so", offset);

	(void)state;
	assert_null(
		symbol->frames[0]
			.function); /* only what is exported has a name, and this is beyond it */
	symbols_free(symbols);
	symbols = open_symbols(folders, NULL);
	check_all(look_up(symbols, TARGETS "/stripped.so", offset), &shot);
	symbols_free(symbols);
}

static void exported_names_remain(void **state)
{
	struct symbols *symbols = open_symbols(NULL, NULL);
	void *handle = dlopen(TARGETS "/stripped.so", RTLD_NOW | RTLD_LOCAL);
	const struct symbol *symbol;
	Dl_info info;

	(void)state;
	assert_non_null(handle);
	assert_int_not_equal(dladdr(dlsym(handle, "calls"), &info), 0);
	symbol = look_up(symbols, TARGETS "/stripped.so",
			 (uint64_t)((char *)info.dli_saddr - (char *)info.dli_fbase) + 1);
	assert_string_equal(symbol->frames[0].function, "calls");
	dlclose(handle);
	symbols_free(symbols);
}

/* Everything in the test's own place below the system's folder for temporary files. */
static char scratch[] = "/tmp/heapcast-symbols-XXXXXX";

static void copy(const char *from, const char *to)
{
	char command[4096];

	snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
	assert_int_equal(system(command), 0);
}

static const char *in_scratch(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	return path;
}

static void refuses_another_build(void **state)
{
	struct symbols *symbols = open_symbols(NULL, NULL);
	struct symbol_module module = {.path = in_scratch("module.so")};
	const uint8_t other[20] = {1, 2, 3};
	uint64_t offset = 0x1120;
	const struct symbol *symbol;

	(void)state;
	copy(TARGETS "/dwarf5.so", module.path);
	module.build_id = other;
	module.build_id_length = sizeof(other);
	assert_int_equal(symbols_lookup(symbols, &module, &offset, 1, &symbol, NULL), 0);
	assert_int_equal(symbol->count, 1);
	assert_null(symbol->frames[0].function);
	assert_non_null(strstr(note_of(symbols), "another build"));
	assert_non_null(strstr(note_of(symbols), "0102030000"));
	symbols_free(symbols);
}

static void marks_what_has_no_build_id(void **state)
{
	struct symbols *symbols = open_symbols(NULL, NULL);
	struct symbol_module module = {.path = TARGETS "/dwarf5.so"};
	struct shot shot;
	uint64_t offset = run(module.path, &shot);
	const struct symbol *symbol;

	(void)state;
	assert_int_equal(symbols_lookup(symbols, &module, &offset, 1, &symbol, NULL), 0);
	check_all(symbol, &shot);
	assert_non_null(strstr(note_of(symbols), "without a check"));
	symbols_free(symbols);
}

static void is_quiet_about_pseudo_modules(void **state)
{
	static const char *const paths[] = {"[vdso]", "[heap]", "linux-vdso.so.1", "", NULL};
	struct symbols *symbols = open_symbols(NULL, NULL);
	const struct symbols_note *notes;
	uint64_t offsets[] = {0, 1, 0x500, UINT64_MAX};
	const struct symbol *found[4];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct symbol_module module = {.path = paths[i]};

		assert_int_equal(symbols_lookup(symbols, &module, offsets, 4, found, NULL), 0);
		for (unsigned k = 0; k < 4; k++) {
			assert_int_equal(found[k]->count, 1);
			assert_null(found[k]->frames[0].function);
		}
	}
	assert_int_equal(symbols_notes(symbols, &notes), 0);
	symbols_free(symbols);
}

static void survives_strange_paths(void **state)
{
	static const char *const paths[] = {"/dev/zero", "/proc/self/mem", "/tmp",
					    "/no/such\nfile\033[31m", "relative.so"};
	struct symbols *symbols = open_symbols(NULL, NULL);
	const struct symbols_note *notes;
	uint64_t offset = 0x1000;
	const struct symbol *found;
	size_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct symbol_module module = {.path = paths[i]};

		assert_int_equal(symbols_lookup(symbols, &module, &offset, 1, &found, NULL), 0);
		assert_null(found->frames[0].function);
	}
	count = symbols_notes(symbols, &notes);
	assert_int_equal(count, 5);
	for (size_t i = 0; i < count; i++) {
		assert_null(strchr(notes[i].module, '\033'));
		assert_null(strchr(notes[i].module, '\n'));
	}
	symbols_free(symbols);
}

static int rows(sqlite3 *db, const char *query)
{
	sqlite3_stmt *s;
	int n;

	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	n = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return n;
}

static void keeps_what_it_found(void **state)
{
	struct symbols *symbols;
	char module_path[4096];
	struct shot shot;
	uint64_t offset;
	sqlite3 *db;

	(void)state;
	snprintf(module_path, sizeof(module_path), "%s/cached.so", scratch);
	copy(TARGETS "/dwarf5.so", module_path);
	offset = run(module_path, &shot);
	assert_int_equal(sqlite3_open(in_scratch("catalogue.sqlite"), &db), SQLITE_OK);
	symbols = open_symbols(NULL, db);
	check_all(look_up(symbols, module_path, offset), &shot);
	symbols_free(symbols);
	assert_int_equal(rows(db, "SELECT count(*) FROM symbol_frame"), 3);
	/* Another file at the path of the module, which is not even asked: the catalogue knows. */
	symbols = open_symbols(NULL, db);
	copy(TARGETS "/stripped.so", module_path);
	check_all(look_up(symbols, module_path, offset), &shot);
	symbols_free(symbols);
	sqlite3_close(db);
	/* Read only, and locked by another. */
	assert_int_equal(
		sqlite3_open_v2(in_scratch("catalogue.sqlite"), &db, SQLITE_OPEN_READONLY, NULL),
		SQLITE_OK);
	symbols = open_symbols(NULL, db);
	check_all(look_up(symbols, module_path, offset), &shot);
	look_up(symbols, module_path, offset + 1);
	symbols_free(symbols);
	sqlite3_close(db);
}

static void a_locked_catalogue_is_no_error(void **state)
{
	struct symbols *symbols;
	sqlite3 *db, *other;
	struct shot shot;
	uint64_t offset = run(TARGETS "/dwarf4.so", &shot);

	(void)state;
	assert_int_equal(sqlite3_open(in_scratch("locked.sqlite"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_open(in_scratch("locked.sqlite"), &other), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(other, "BEGIN EXCLUSIVE; CREATE TABLE x(y)", NULL, NULL, NULL),
		SQLITE_OK);
	symbols = open_symbols(NULL, db);
	check_all(look_up(symbols, TARGETS "/dwarf4.so", offset), &shot);
	symbols_free(symbols);
	sqlite3_close(other);
	sqlite3_close(db);
}

/* A symbol file that comes later names what was unknown, and what was kept by a weaker name. */
static void late_files_name_old_places(void **state)
{
	char folder[4096], debug[8192];
	const char *folders[] = {folder, NULL};
	struct symbols *symbols;
	struct shot shot;
	uint64_t offset = run(TARGETS "/mini.so", &shot);
	sqlite3 *db;

	(void)state;
	snprintf(folder, sizeof(folder), "%s/late", scratch);
	snprintf(debug, sizeof(debug), "%s/symbols-of-yesterday", folder);
	mkdir(folder, 0700);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	symbols = open_symbols(folders, db);
	assert_int_equal(look_up(symbols, TARGETS "/mini.so", offset)->count, 1);
	assert_int_equal(rows(db, "SELECT count(*) FROM symbol_frame WHERE quality = 1"), 1);
	copy(TARGETS "/apart/any-name", debug);
	assert_int_equal(look_up(symbols, TARGETS "/mini.so", offset)->count, 1);
	symbols_refresh(symbols);
	check_all(look_up(symbols, TARGETS "/mini.so", offset), &shot);
	symbols_free(symbols);
	assert_int_equal(rows(db, "SELECT count(*) FROM symbol_frame WHERE quality = 2"), 3);
	assert_int_equal(rows(db, "SELECT count(*) FROM symbol_frame WHERE quality = 1"), 0);
	sqlite3_close(db);
}

static int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

static int drop_scratch(void **state)
{
	char command[4096];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", scratch);
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_debug_information),
		cmocka_unit_test(names_by_packed_symbol_table),
		cmocka_unit_test(finds_debug_files_in_folders),
		cmocka_unit_test(exported_names_remain),
		cmocka_unit_test(refuses_another_build),
		cmocka_unit_test(marks_what_has_no_build_id),
		cmocka_unit_test(is_quiet_about_pseudo_modules),
		cmocka_unit_test(survives_strange_paths),
		cmocka_unit_test(keeps_what_it_found),
		cmocka_unit_test(a_locked_catalogue_is_no_error),
		cmocka_unit_test(late_files_name_old_places),
	};

	if (argc == 2 && !strcmp(argv[1], "symbols-worker"))
		return symbols_worker_main();
	return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}

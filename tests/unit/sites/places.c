/*
 * Places in real allocators, held against what others say of the same files: objdump where
 * instructions begin and which they are, nm which functions there are.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/ebpf/functions.h"
#include "tests/unit/sites/files.h"

static const char *const programs[] = {
	SITES_FOLDER "/static-libc",
	SITES_FOLDER "/static-jemalloc",
	SITES_FOLDER "/static-tcmalloc",
};

static bool is_there(const char *command)
{
	char line[128];

	snprintf(line, sizeof(line), "command -v %s >/dev/null", command);
	return system(line) == 0;
}

/* The mnemonic at an address, by a disassembly that begins at `from`; "": no instruction begins
 * there. */
static void mnemonic_at(const char *path, uint64_t from, uint64_t address, char ret[32])
{
	char line[512];
	FILE *out;

	snprintf(line, sizeof(line),
		 "objdump -d --no-show-raw-insn --start-address=0x%" PRIx64
		 " --stop-address=0x%" PRIx64 " '%s'",
		 from, address + 16, path);
	out = popen(line, "r");
	assert_non_null(out);
	ret[0] = 0;
	while (fgets(line, sizeof(line), out)) {
		char *end;
		uint64_t at = strtoull(line, &end, 16);

		if (end != line && *end == ':' && at == address && !ret[0])
			sscanf(end + 1, "%31s", ret);
	}
	pclose(out);
}

static bool is_emulated(const char *mnemonic)
{
	return !strcmp(mnemonic, "push") || !strcmp(mnemonic, "nop") || !strcmp(mnemonic, "call") ||
	       mnemonic[0] == 'j';
}

static void check_site(const char *path, const struct site *site)
{
	uint64_t function = address_of(path, site->function),
		 address = address_of(path, site->offset);
	char mnemonic[32];

	assert_true(function && address);
	mnemonic_at(path, site->kind == SITE_ENTRY ? function : address, address, mnemonic);
	if (site->kind == SITE_EXIT &&
	    (strncmp(mnemonic, "ret", 3) && strncmp(mnemonic, "repz", 4)))
		fail_msg("%s: %s ends at 0x%" PRIx64 " by %s", path, site->name, address, mnemonic);
	if (site->kind == SITE_ENTRY && !mnemonic[0])
		fail_msg("%s: %s: no instruction begins at 0x%" PRIx64, path, site->name, address);
	if (site->kind == SITE_ENTRY && site->emulated != is_emulated(mnemonic))
		fail_msg("%s: %s: %s at 0x%" PRIx64, path, site->name, mnemonic, address);
	assert_true(site->emulated || site->offset == site->function || site->kind == SITE_EXIT);
}

struct tally {
	unsigned entries, emulated, exits, throwing, answered;
};

static void count(const struct site *site, struct tally *tally)
{
	uint32_t flags = site_flags(site->word);

	tally->exits += site->kind == SITE_EXIT;
	if (site->kind == SITE_EXIT)
		return;
	tally->entries++;
	tally->emulated += site->emulated;
	tally->throwing += (flags & SITE_THROWS) != 0;
	tally->answered += (flags & SITE_HAS_EXITS) != 0;
	assert_false(flags & SITE_THROWS && flags & SITE_RETURN_OK);
	assert_int_equal(site->return_ok, (flags & SITE_RETURN_OK) != 0);
}

static void check_file(const char *path, struct tally *total)
{
	struct tally tally = {0};
	struct sites sites;

	if (access(path, R_OK) || find_sites(path, &sites)) {
		print_message("%s is not there: left out\n", path);
		return;
	}
	for (size_t i = 0; i < sites.count; i++) {
		check_site(path, &sites.site[i]);
		count(&sites.site[i], &tally);
		assert_true(!i || sites.site[i].offset > sites.site[i - 1].offset ||
			    (sites.site[i].offset == sites.site[i - 1].offset &&
			     sites.site[i].function > sites.site[i - 1].function));
	}
	print_message("%s: %u functions, %u at an emulated instruction; %u throw, %u of them with "
		      "exits (%u); %zu skipped\n",
		      path, tally.entries, tally.emulated, tally.throwing, tally.answered,
		      tally.exits, sites.skip_count);
	assert_true(tally.entries >= 5);
	total->entries += tally.entries;
	total->emulated += tally.emulated;
	sites_done(&sites);
}

static void places_are_instructions(void **state)
{
	struct tally total = {0};

	(void)state;
	if (!is_there("objdump"))
		skip();
	for (unsigned i = 0; i < LIBRARY_FILES; i++)
		check_file(library_files[i], &total);
	for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		check_file(programs[i], &total);
	print_message("%u functions, %u at an emulated instruction\n", total.entries,
		      total.emulated);
	assert_true(total.emulated * 10 >= total.entries * 9);
}

static bool is_known(const char *path, const struct sites *sites, uint64_t address,
		     const char *name)
{
	for (size_t i = 0; i < sites->count; i++)
		if (sites->site[i].kind == SITE_ENTRY &&
		    address_of(path, sites->site[i].function) == address)
			return true;
	for (size_t i = 0; i < sites->skip_count; i++)
		if (!strcmp(sites->skip[i].name, name))
			return true;
	return false;
}

/* Whether it does call, or jump to, another one. */
static bool leads_on(const char *path, uint64_t address, uint64_t size)
{
	char line[512];
	bool leads = false;
	FILE *out;

	snprintf(line, sizeof(line),
		 "objdump -d --no-show-raw-insn --start-address=0x%" PRIx64
		 " --stop-address=0x%" PRIx64 " '%s'",
		 address, address + size, path);
	out = popen(line, "r");
	assert_non_null(out);
	while (fgets(line, sizeof(line), out))
		leads |= strstr(line, "\tcall ") || strstr(line, "\tjmp ");
	pclose(out);
	return leads;
}

static void check_names(const char *path)
{
	unsigned long address, size;
	struct sites sites;
	char line[512], name[256], type;
	unsigned known = 0;
	FILE *out;
	bool heap;

	if (access(path, R_OK) || find_sites(path, &sites))
		return;
	snprintf(line, sizeof(line), "nm -DS --without-symbol-versions --defined-only '%s'", path);
	out = popen(line, "r");
	assert_non_null(out);
	while (fgets(line, sizeof(line), out)) {
		if (sscanf(line, "%lx %lx %c %255s", &address, &size, &type, name) != 4 ||
		    !strchr("TtWwi", type) || function_of_name(name, &heap) < 0)
			continue;
		known++;
		if (!is_known(path, &sites, address, name) && !leads_on(path, address, size))
			fail_msg("%s: nothing is known of %s", path, name);
	}
	pclose(out);
	assert_true(known >= 5);
	sites_done(&sites);
}

static void no_function_is_overlooked(void **state)
{
	(void)state;
	if (!is_there("nm") || !is_there("objdump"))
		skip();
	for (unsigned i = 0; i < LIBRARY_FILES; i++)
		check_names(library_files[i]);
}

static const struct site *site_named(const struct sites *sites, const char *name)
{
	for (size_t i = 0; i < sites->count; i++)
		if (!strcmp(sites->site[i].name, name) && sites->site[i].kind == SITE_ENTRY)
			return &sites->site[i];
	return NULL;
}

static void libc_as_it_is_known(void **state)
{
	struct sites sites;
	const struct site *site;
	char mnemonic[32];

	(void)state;
	if (!is_there("objdump"))
		skip();
	assert_int_equal(find_sites(library_files[0], &sites), 0);
	site = site_named(&sites, "malloc");
	assert_non_null(site);
	assert_int_equal(site_kind(site->word), 1);
	assert_int_equal(site_a(site->word), 5);
	assert_int_equal(site_b(site->word), SITE_NO_REGISTER);
	assert_true(site->common && site->return_ok);
	site = site_named(&sites, "free");
	assert_non_null(site);
	assert_int_equal(site_flags(site->word) & SITE_NOT_NULL, SITE_NOT_NULL);
	mnemonic_at(library_files[0], address_of(library_files[0], site->function),
		    address_of(library_files[0], site->offset), mnemonic);
	assert_int_equal(mnemonic[0], 'j'); /* cheaper than its pushes */
	site = site_named(&sites, "posix_memalign");
	assert_non_null(site);
	assert_int_equal(site_c(site->word), 1);
	assert_null(site_named(&sites, "cfree"));	 /* an alias */
	assert_null(site_named(&sites, "reallocarray")); /* leads to realloc */
	sites_done(&sites);
}

static void who_only_imports_has_none(void **state)
{
	struct sites sites;

	(void)state;
	if (access(LIBRARIES "libcmocka.so.0", R_OK))
		skip();
	assert_int_equal(find_sites(LIBRARIES "libcmocka.so.0", &sites), 0);
	assert_int_equal(sites.count, 0);
	sites_done(&sites);
}

/* libc: its malloc. libstdc++: operators that lead to it. */
static void wrappers_of_imports_are_left_to_who_has_them(void **state)
{
	struct sites operators, libc;
	struct sites_module modules[] = {{&operators, LIBRARIES "libstdc++.so.6"},
					 {&libc, library_files[0]}};
	struct sites_choice *choice;
	size_t count;

	(void)state;
	if (access(modules[0].path, R_OK))
		skip();
	assert_int_equal(find_sites(modules[0].path, &operators), 0);
	assert_int_equal(find_sites(modules[1].path, &libc), 0);
	assert_non_null(site_named(&operators, "_Znwm"));
	assert_string_equal(site_named(&operators, "_Znwm")->leads_to, "malloc");
	assert_string_equal(site_named(&operators, "_ZdlPv")->leads_to, "free");

	assert_int_equal(sites_choose(modules, 2, &choice, &count), 0);
	assert_int_equal(count, libc.count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(choice[i].module, 1);
	free(choice);

	assert_int_equal(sites_choose(modules, 1, &choice, &count), 0);
	assert_int_equal(count, operators.count);
	free(choice);

	modules[1].path = "/usr/local/lib/libheapcast.so.1";
	assert_int_equal(sites_choose(modules, 2, &choice, &count), 0);
	assert_int_equal(count, operators.count);
	free(choice);
	sites_done(&operators);
	sites_done(&libc);
}

static void operators_of_the_program(void **state)
{
	struct sites sites;

	(void)state;
	if (access(SITES_FOLDER "/operators", R_OK))
		skip();
	assert_int_equal(find_sites(SITES_FOLDER "/operators", &sites), 0);
	assert_non_null(site_named(&sites, "_Znwm"));
	assert_string_equal(site_named(&sites, "_Znwm")->leads_to, "malloc");
	assert_string_equal(site_named(&sites, "_ZdlPv")->leads_to, "free");
	assert_non_null(site_named(&sites, "_Znam"));
	assert_string_equal(site_named(&sites, "_Znam")->leads_to, "");
	assert_int_equal(site_flags(site_named(&sites, "_Znam")->word) &
				 (SITE_THROWS | SITE_HAS_EXITS),
			 SITE_THROWS | SITE_HAS_EXITS);
	assert_string_equal(site_named(&sites, "_ZdaPv")->leads_to, "");
	sites_done(&sites);
}

static void copies_are_told(void **state)
{
	struct sites sites;
	bool told = false;

	(void)state;
	if (access(programs[0], R_OK))
		skip();
	assert_int_equal(find_sites(programs[0], &sites), 0);
	for (size_t i = 0; i < sites.skip_count; i++)
		told |= !strcmp(sites.skip[i].name, "mi_free") &&
			strstr(sites.skip[i].reason, "copy");
	assert_true(told);
	assert_null(site_named(&sites, "mi_free"));
	sites_done(&sites);
}

static void what_is_no_program_is_refused(void **state)
{
	struct sites sites;
	struct err_text err = {0};
	const struct sites_options options = {0};
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(sites_find(fd, &options, &sites, &err), -8);
	assert_true(strlen(err.text) > 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_instructions),
		cmocka_unit_test(no_function_is_overlooked),
		cmocka_unit_test(libc_as_it_is_known),
		cmocka_unit_test(who_only_imports_has_none),
		cmocka_unit_test(wrappers_of_imports_are_left_to_who_has_them),
		cmocka_unit_test(operators_of_the_program),
		cmocka_unit_test(copies_are_told),
		cmocka_unit_test(what_is_no_program_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What one thread does to the records of another. */
#include "tests/unit/preload/support/run.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/preload/system/state.h"
#include "proto/event.h"

#define EARLY_FREES 20 /* tests/targets/late_frees.c */
#define LATE_FREES  80
#define ROUNDS_MAX  5000 /* tests/targets/left_lock.c: it has waited */

static uint64_t find_symbol(const uint8_t *file, const char *name)
{
	const ElfW(Ehdr) *head = (const void *)file;
	const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);

	for (unsigned i = 0; i < head->e_shnum; i++) {
		const ElfW(Shdr) *s = &sections[i];
		const ElfW(Sym) *symbols = (const void *)(file + s->sh_offset);
		const char *names = (const char *)file + sections[s->sh_link].sh_offset;

		if (s->sh_type != SHT_SYMTAB)
			continue;
		for (size_t n = 0; n < s->sh_size / sizeof(*symbols); n++)
			if (!strcmp(names + symbols[n].st_name, name))
				return symbols[n].st_value;
	}
	return 0;
}

/* In the library, from where it is loaded; 0: it has been stripped. */
static uint64_t symbol_offset(const char *name)
{
	int fd = open(preload_path(), O_RDONLY | O_CLOEXEC);
	struct stat status;
	uint64_t offset;
	void *file;

	assert_true(fd >= 0 && !fstat(fd, &status));
	file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(file != MAP_FAILED);
	close(fd);
	offset = find_symbol(file, name);
	munmap(file, (size_t)status.st_size);
	return offset;
}

/* How often a stamp that is read out of order is wrong hangs on the processor; so what is looked at
 * is which way they are read. */
static void second_thread_orders_stamps(void **state)
{
	uint64_t offset = symbol_offset("shim");
	struct agent_options options = {0};
	struct agent_result r;
	char argument[24];

	(void)state;
	if (!offset) {
		print_message("SKIPPED: libheapcast.so has been stripped\n");
		skip();
	}
	snprintf(argument, sizeof(argument), "%lu",
		 (unsigned long)(offset + offsetof(struct shim, stamps)));
	RUN(&options, &r, target_path("stamps"), argument);
	assert_exited(&r, 0);
	assert_sound(&r);
	if (agent_said(&r, "alone") != STAMPS_SYSTEM) {
		assert_int_equal(agent_said(&r, "alone"), STAMPS_SINGLE);
		assert_int_equal(agent_said(&r, "together"), STAMPS_ORDERED);
	}
	agent_result_done(&r);
}

/* A free without a stack is the shortest record there is: it, too, stands behind the epoch that has
 * begun in another thread. */
static void epoch_comes_first(void **state)
{
	struct agent_options options = {.no_free_stacks = true};
	uint32_t first = 0, frees = 0;
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("late_frees"), target_path("plugin1.so"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	for (size_t i = 0; i < r.count && frees < EARLY_FREES + LATE_FREES; i++) {
		const struct agent_event *e = &r.events[i];

		if (e->tid != agent_said(&r, "tid") || event_class(e->kind) != EVENT_CLASS_FREE)
			continue;
		first = frees++ ? first : e->epoch;
		if (frees <= EARLY_FREES)
			assert_int_equal(e->epoch, first);
		else
			assert_true(e->epoch > first);
	}
	assert_int_equal(frees, EARLY_FREES + LATE_FREES);
	agent_result_done(&r);
}

static bool lies_in(const struct agent_result *r, uint64_t pc, const char *name)
{
	for (size_t i = 0; i < r->module_count; i++) {
		const struct agent_module *m = &r->modules[i];

		if (m->live && pc >= m->start && pc < m->end)
			return strstr(m->path, name);
	}
	return false;
}

static unsigned allocations_in(const struct agent_result *r, const char *module)
{
	unsigned count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += event_class(r->events[i].kind) == EVENT_CLASS_ALLOCATION &&
			 lies_in(r, r->events[i].pc, module);
	return count;
}

/* A jump out of the middle of what is told of modules leaves a lock behind: the next one who comes
 * takes it, and the new module is told of. */
static void lock_is_taken_over(void **state)
{
	struct agent_options options = {
		.asleep_until_said = true, .policy = RING_COUNT, .kill_after_ms = 50000};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("left_lock"), target_path("jump_alloc.so"),
	    target_path("plugin1.so"), target_path("plugin2.so"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_true(agent_said(&r, "rounds") < ROUNDS_MAX);
	assert_int_equal(allocations_in(&r, "/plugin2.so"), agent_said(&r, "allocations"));
	agent_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(second_thread_orders_stamps),
		cmocka_unit_test(epoch_comes_first),
		cmocka_unit_test(lock_is_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

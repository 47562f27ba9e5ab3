/* What the caches of rows take: of a thread, and of the process, however much code is met. */
#include "tests/unit/unwind/mapped.h"

#include "agent/unwind/rows.h"

/* Distinct program counters of each thread; fewer where they are looked for under an emulator. */
#define PCS	    (ARCH_LINK ? 12000 : 150000)
#define THREADS	    3
#define PAGE	    4096u
#define CACHE_PAGES 64

static struct mapped mapped;
static struct {
	void *memory;
	size_t size;
} given[CACHE_PAGES];
static unsigned given_count;

static const struct unwind_module *find_mapped(void *context, uint64_t pc)
{
	(void)context;
	return pc >= mapped.module.start && pc < mapped.module.end ? &mapped.module : NULL;
}

static void *noted_pages(void *context, size_t size)
{
	unsigned i = __atomic_fetch_add(&given_count, 1, __ATOMIC_RELAXED);

	assert_true(i < CACHE_PAGES);
	given[i].memory = host_pages(context, size);
	given[i].size = size;
	return given[i].memory;
}

static const struct unwind_host memory_host = {
	.find_module = find_mapped, .readable = host_readable, .pages = noted_pages};

static size_t resident(const void *memory, size_t size)
{
	unsigned char pages[UNWIND_THREAD_SIZE / PAGE * 4];
	size_t count = 0;
	void *address;

	assert_true(size / PAGE <= sizeof(pages));
	memcpy(&address, &memory, sizeof(address));
	assert_int_equal(mincore(address, size, pages), 0);
	for (size_t i = 0; i < size / PAGE; i++)
		count += pages[i] & 1;
	return count * PAGE;
}

static struct unwind_thread *threads[THREADS];

static void *meet_code(void *context)
{
	struct unwind_thread *thread = context;
	uint64_t step = ((mapped.module.end - mapped.module.start - 1) / PCS - 1) |
			1; /* odd: Thumb, and not */
	struct unwind_counters counters;

	rows_check_state(thread);
	for (uint64_t i = 0; i < PCS; i++)
		rows_get(thread, mapped.module.start + 1 + i * step);
	unwind_counters(thread, &counters);
	assert_true(counters.rows_missed > PCS / 3 * 2);
	return NULL;
}

static void test_row_caches(void **state)
{
	pthread_t ids[THREADS];
	size_t process = 0;

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		threads[i] = new_unwind_thread();
		assert_int_equal(pthread_create(&ids[i], NULL, meet_code, threads[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		size_t own;

		pthread_join(ids[i], NULL);
		own = resident(threads[i], UNWIND_THREAD_SIZE);
		printf("thread %u: %zu KiB\n", i, own >> 10);
		/* The cache, which begins and ends within a page, and two pages of what every
		 * thread has. */
		assert_in_range(own, 64 << 10, (128 << 10) + 3 * PAGE);
	}
	for (unsigned i = 0; i < given_count; i++)
		process += resident(given[i].memory, given[i].size);
	printf("process: %zu KiB\n", process >> 10);
	assert_in_range(process, 64 << 10, 1 << 20);
}

static int setup(void **state)
{
	(void)state;
	assert_true(map_library(&mapped, "libc.so"));
	assert_true(mapped.module.end - mapped.module.start > PCS);
	assert_int_equal(unwind_init(&memory_host), 0);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_row_caches)};

	return cmocka_run_group_tests(tests, setup, NULL);
}

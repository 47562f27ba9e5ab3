/*
 * Memory maps from both sides. An input that begins with 'S' is a text as in /proc/PID/smaps, read
 * twice (the second time without its first half): whatever it says, what the agent makes of it must
 * be a step that the collector takes. Any other is a message Maps made by a stranger, taken twice:
 * refused as a whole, or the regions stay sorted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/watch/maps.h"
#include "collector/recording/maps.h"
#include "tests/fuzz/fuzz.h"

static void check(int truth)
{
	if (!truth)
		abort();
}

static void check_state(const struct maps_state *s)
{
	check(s->count <= MAPS_REGIONS_MAX && s->name_count <= MAPS_NAMES_MAX);
	for (size_t i = 0; i < s->count; i++) {
		check(s->region[i].start < s->region[i].end &&
		      (!i || s->region[i - 1].start < s->region[i].start));
		fuzz_touch((const uint8_t *)s->region[i].name, strlen(s->region[i].name));
	}
}

static void read_text(struct maps *maps, struct maps_state *state, const uint8_t *text, size_t size)
{
	static struct proc_maps reader;
	struct proc_mapping region;
	Heapcast__Maps step;
	int fd = memfd_create("smaps", MFD_CLOEXEC);

	check(fd >= 0 && write(fd, text, size) == (ssize_t)size);
	lseek(fd, 0, SEEK_SET);
	proc_maps_begin(&reader, fd);
	maps_begin(maps);
	while (proc_maps_next(&reader, &region) == 1) {
		check(region.start < region.end && region.path_length <= PROC_PATH_MAX &&
		      strlen(region.path) == region.path_length);
		if (!maps_fits(maps, &region)) {
			maps_part(maps, 1);
			maps_fill(maps, &step);
			check(maps_state_add(state, &step, NULL) == 0);
			maps_go_on(maps);
		}
		maps_put(maps, &region);
	}
	close(fd);
	if (!maps_end(maps, 1, 1))
		return;
	maps_fill(maps, &step);
	check(heapcast__maps__get_packed_size(&step) <= maps->step_max);
	check(maps_state_add(state, &step, NULL) == 0);
	check_state(state);
	check(state->count == maps->count);
}

static void fuzz_text(const uint8_t *text, size_t size)
{
	static uint64_t memory[MAPS_SIZE_MIN / sizeof(uint64_t)];
	struct maps_state state = {0};
	struct maps maps;

	maps_init(&maps, memory, sizeof(memory), MAPS_STEP_MIN, 4096);
	read_text(&maps, &state, text, size);
	read_text(&maps, &state, text + size / 2, size - size / 2);
	maps_state_done(&state);
}

static void fuzz_message(const uint8_t *data, size_t size)
{
	Heapcast__Maps *step = heapcast__maps__unpack(NULL, size, data);
	struct maps_state state = {0};

	if (!step)
		return;
	for (int i = 0; i < 2 && maps_state_add(&state, step, NULL) == 0; i++)
		check_state(&state);
	maps_state_done(&state);
	heapcast__maps__free_unpacked(step, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] == 'S')
		fuzz_text(data + 1, size - 1);
	else
		fuzz_message(data, size);
	return 0;
}

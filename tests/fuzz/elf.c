/*
 * ELF files and their debug information, as the collector reads them: who the file says it is
 * (elf_id), and the worker's lookup of places all over it: DWARF, symbol tables, .gnu_debugdata,
 * demangling. The answer must be one that the protocol can carry, and that the collector's side
 * takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "collector/symbols/elfid.h"
#include "collector/symbols/lookup.h"
#include "tests/fuzz/fuzz.h"

#define PLACES 96

static void check(int truth)
{
	if (!truth)
		abort();
}

static void check_answer(const struct request *request, const struct answer *answer)
{
	struct buf out = {0};
	struct answer got;

	check(answer->error <= 0 && answer->place_count <= request->count);
	for (size_t i = 0; i < answer->place_count; i++) {
		const struct place *p = &answer->places[i];

		check(p->address == request->addresses[i] && p->quality <= PLACE_FULL);
		check(p->count <= FRAMES_MAX && p->first + p->count <= answer->frame_count);
		for (uint32_t f = p->first; f < p->first + p->count; f++)
			check(answer->frames[f].function <= answer->strings.texts.count &&
			      answer->frames[f].file <= answer->strings.texts.count);
	}
	answer_encode(&out, answer);
	check(!buf_error(&out));
	check(!answer_decode(out.data + 4, out.length - 4, request, &got));
	answer_done(&got);
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	char path[] = "a file", own[64];
	uint64_t addresses[PLACES];
	struct request request = {.path = path, .addresses = addresses, .count = PLACES};
	struct answer answer = {0};
	struct elf_id id;

	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (!elf_id_read(own, &id)) {
		check(id.file.build_id_length <= ELF_BUILD_ID_MAX &&
		      !strchr(id.file.debuglink, '/'));
		fuzz_touch((const uint8_t *)id.file.debuglink, strlen(id.file.debuglink));
	}
	/* Where the code of the corpus lies, a step through a page each, and the ends of all
	 * addresses. */
	for (unsigned i = 0; i < PLACES; i++)
		addresses[i] = i < 80	? 0x1000 + i * 9
			       : i < 95 ? 0x1000ull << (i - 78)
					: UINT64_MAX;
	if (!lookup_file(fd, &request, &answer))
		check_answer(&request, &answer);
	answer_done(&answer);
	close(fd);
	return 0;
}

/*
 * A module of a stranger's process, and a stack that leads through it: the agent lays out the ELF
 * file, decodes what its tables say, reads its code where they say nothing, and walks. In bounded
 * time, within the image's memory and the stack's copy; what comes out is a stack of at least one
 * frame.
 *
 *   input: | offset of pc / 16 : 2 | stack's length in words : 1 | words' low halves : 2 each
 *          | ELF file |
 *
 * A word of the stack is an address in the image, or one of the stack where its highest bit is set.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/ebpf/remote_process.h"
#include "tests/fuzz/fuzz.h"

#define BIAS  0x7f0000000000ull
#define STACK 0x7ffc00001000ull

static struct image image;
static struct remote_process_module module;

static const struct remote_process_module *find_module(void *context, uint64_t pc)
{
	(void)context;
	return pc >= module.unwind.start && pc < module.unwind.end ? &module : NULL;
}

static int stack_bounds(void *context, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high)
{
	const struct remote_process *process = context;

	(void)sp;
	*ret_low = process->address;
	*ret_high = process->address + process->size;
	return process->size > 0;
}

static void walk(const uint64_t *words, size_t count, uint64_t pc)
{
	static struct remote_process there;
	static struct unwind_thread *thread;
	struct unwind_regs regs = {
		.pc = pc, .sp = STACK, .fp = STACK + 8 * (count / 2), .has_saved = true};
	struct unwind_delta delta;

	if (!thread)
		thread = unwind_thread_init(mmap(NULL, UNWIND_THREAD_SIZE, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	there = (struct remote_process){.context = &there,
					.pid = -1,
					.find_module = find_module,
					.stack_bounds = stack_bounds,
					.address = STACK,
					.copy = (const uint8_t *)words,
					.size = count * 8};
	remote_process_walk(&there, thread, &regs, &delta);
	if (!delta.count || delta.count > UNWIND_MAX_DEPTH ||
	    (!(delta.flags & UNWIND_DEPTH_LIMIT) && delta.pcs[0] != pc))
		abort();
	fuzz_touch((const uint8_t *)delta.pcs, delta.count * sizeof(*delta.pcs));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t words[256];
	size_t count;
	uint64_t pc;
	struct image_source source = {.fd = -1};

	if (size < 3 || size < 3 + 2u * data[2])
		return 0;
	pc = BIAS + 16u * (data[0] | data[1] << 8u);
	count = data[2];
	for (size_t i = 0; i < count; i++) {
		unsigned low = data[3 + 2 * i] | data[4 + 2 * i] << 8u;

		words[i] = low >> 15 ? STACK + 8 * (low & 0xff) : low ? BIAS + low : 0;
	}
	data += 3 + 2 * count;
	size -= 3 + 2 * count;
	source.fd = memfd_create("image", MFD_CLOEXEC);
	if (source.fd < 0 || write(source.fd, data, size) != (ssize_t)size)
		abort();
	if (image_open(&image, &source))
		return 0;
	module = (struct remote_process_module){
		.unwind = {.start = BIAS,
			   .end = BIAS + (image.load_end - image.load_start),
			   .bias = BIAS - image.load_start,
			   .load_start = BIAS,
			   .load_end = BIAS + (image.load_end - image.load_start)},
		.image = &image,
	};
	if (image.eh_frame_hdr) {
		module.unwind.eh_frame_hdr = module.unwind.bias + image.eh_frame_hdr;
		module.unwind.eh_frame_hdr_size = image.eh_frame_hdr_size;
	}
	walk(words, count, pc);
	image_drop(&image);
	walk(words, count, pc + 5);
	image_close(&image);
	return 0;
}

/* Lays a module's file out in memory. See image.h. */
#include "agent/ebpf/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/elf/elf.h"

#define PAGE 4096u /* a page of memory, or a part of one */

/* The reader of base/elf. Memory is read at the same offset from the ELF header, which is correct
 * for the first segment. */
static ssize_t read_source(void *context, uint64_t offset, void *to, size_t size)
{
	const struct image_source *source = context;
	struct iovec local = {to, size},
		     remote = {(void *)(uintptr_t)(source->base + offset), size};
	ssize_t n;

	if (offset > INT64_MAX - size)
		return -EBADMSG;
	if (source->fd >= 0)
		n = pread(source->fd, to, size, (off_t)offset);
	else
		n = process_vm_readv(source->pid, &local, 1, &remote, 1, 0);
	return n < 0 ? -errno : n;
}

static int add_segment(struct image *image, const struct elf_segment *p)
{
	uint64_t address = p->address, end;
	struct elf_load *segment;

	if (__builtin_add_overflow(address, p->memory_size, &end) ||
	    p->file_size > p->memory_size || end > INT64_MAX ||
	    p->offset > (uint64_t)INT64_MAX - p->file_size)
		return -EBADMSG;
	if (image->segment_count == IMAGE_SEGMENTS)
		return -EBADMSG;
	segment = &image->segments[image->segment_count++];
	*segment = (struct elf_load){.address = address, .offset = p->offset, .size = p->file_size};
	if (p->flags & PF_X)
		image->code[image->code_count++] = *segment;
	address &= ~(uint64_t)(PAGE - 1);
	end = (end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	if (image->segment_count == 1 || address < image->load_start)
		image->load_start = address;
	if (end > image->load_end)
		image->load_end = end;
	return 0;
}

static int read_headers(struct image *image)
{
	struct elf_table segments;
	struct elf_segment p;
	struct elf elf;
	int error = elf_open(&elf, read_source, &image->source);

	if (error || !elf_is_native(&elf))
		return error ? error : -ENOEXEC;
	elf_open_segments(&segments, &elf);
	for (uint64_t i = 0; !error && i < elf.segments.count; i++) {
		if (!elf_segment_at(&segments, i, &p)) {
			error = -EBADMSG;
		} else if (p.type == PT_LOAD) {
			error = add_segment(image, &p);
		} else if (p.type == PT_GNU_EH_FRAME) {
			image->eh_frame_hdr = p.address;
			image->eh_frame_hdr_size = p.memory_size;
		}
	}
	if (!error && (!image->segment_count || image->load_end - image->load_start > IMAGE_MAX))
		error = -EBADMSG;
	return error;
}

int image_open(struct image *image, const struct image_source *source)
{
	uint64_t size, pieces;
	int error;

	memset(image, 0, sizeof(*image));
	image->source = *source;
	error = read_headers(image);
	if (error)
		goto failed;
	size = image->load_end - image->load_start;
	pieces = (size + IMAGE_PIECE - 1) / IMAGE_PIECE;
	image->filled = calloc(pieces / 64 + 1, sizeof(*image->filled));
	image->memory = mmap(NULL, pieces * IMAGE_PIECE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (image->memory == MAP_FAILED)
		image->memory = NULL;
	if (image->filled && image->memory)
		return 0;
	error = -ENOMEM;
failed:
	image_close(image);
	return error;
}

void image_close(struct image *image)
{
	uint64_t size = image->load_end - image->load_start;

	if (image->memory)
		munmap(image->memory, (size + IMAGE_PIECE - 1) / IMAGE_PIECE * IMAGE_PIECE);
	free(image->filled);
	map_done(&image->rows);
	if (image->source.fd >= 0)
		close(image->source.fd);
	memset(image, 0, sizeof(*image));
	image->source.fd = -1;
}

void image_drop(struct image *image)
{
	uint64_t pieces = (image->load_end - image->load_start + IMAGE_PIECE - 1) / IMAGE_PIECE;

	madvise(image->memory, pieces * IMAGE_PIECE, MADV_DONTNEED);
	memset(image->filled, 0, (pieces / 64 + 1) * sizeof(*image->filled));
	image->bytes = 0;
}

/* The kernel maps whole pages of a file, so the bytes before and after a segment in its pages are
 * mapped, too. If a later segment shares a page, its bytes are read later and win. */
static int fill_from_file(struct image *image, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < image->segment_count; i++) {
		const struct elf_load *s = &image->segments[i];
		uint64_t lead = s->address & (PAGE - 1), begin, end = s->address + s->size;
		ssize_t n;

		begin = s->address - (lead < s->offset ? lead : s->offset);
		begin = begin < from ? from : begin;
		end = end > to ? to : end;
		if (begin >= end)
			continue;
		n = read_source(&image->source, s->offset + (begin - s->address),
				image->memory + (begin - image->load_start), end - begin);
		if (n < 0 || (uint64_t)n < end - begin)
			return -EBADMSG;
	}
	return 0;
}

static int fill_from_memory(struct image *image, uint64_t from, uint64_t to)
{
	uint64_t at = from, header = image->segments[0].address - image->segments[0].offset;

	for (; at < to; at += PAGE) {
		ssize_t n = read_source(&image->source, at - header,
					image->memory + (at - image->load_start), PAGE);

		if (n != PAGE && n <= 0)
			break;
	}
	return at == from ? -EFAULT : 0;
}

static bool image_fill(struct image *image, uint64_t piece)
{
	uint64_t from = image->load_start + piece * IMAGE_PIECE, to = from + IMAGE_PIECE;
	int error;

	if (image->filled[piece / 64] >> (piece % 64) & 1)
		return true;
	to = to > image->load_end ? image->load_end : to;
	error = image->source.fd >= 0 ? fill_from_file(image, from, to)
				      : fill_from_memory(image, from, to);
	if (error)
		return false;
	image->filled[piece / 64] |= 1ull << (piece % 64);
	image->bytes += IMAGE_PIECE;
	return true;
}

const uint8_t *image_memory(struct image *image, uint64_t offset, uint64_t *length)
{
	uint64_t size = image->load_end - image->load_start, piece = offset / IMAGE_PIECE, end;

	if (offset >= size || !image_fill(image, piece))
		return NULL;
	end = (piece + 1) * IMAGE_PIECE;
	if (end < *length && end < size && image_fill(image, piece + 1))
		end += IMAGE_PIECE;
	end = end > size ? size : end;
	if (*length > end)
		*length = end;
	return image->memory;
}

const uint8_t *image_bytes(struct image *image, uint64_t offset, uint64_t length)
{
	uint64_t size = image->load_end - image->load_start;

	if (offset >= size || length > size - offset)
		return NULL;
	for (uint64_t piece = offset / IMAGE_PIECE; piece * IMAGE_PIECE < offset + length; piece++)
		if (!image_fill(image, piece))
			return NULL;
	return image->memory + offset;
}

/* Lays a module's file out in memory. See image.h. */
#include "agent/ebpf/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u /* or a part of one */

#if __SIZEOF_POINTER__ == 8
#define NATIVE_CLASS ELFCLASS64
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
#else
#define NATIVE_CLASS ELFCLASS32
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

/* `offset` is an offset in the file. Memory is read at the same offset from the ELF header, which
 * is correct for the first segment. */
static ssize_t read_source(const struct image_source *source, void *to, size_t size,
			   uint64_t offset)
{
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

static int read_all(const struct image_source *source, void *to, size_t size, uint64_t offset)
{
	ssize_t n = read_source(source, to, size, offset);

	if (n < 0)
		return (int)n;
	return (size_t)n == size ? 0 : -EBADMSG;
}

static int add_segment(struct image *image, const elf_segment *p)
{
	uint64_t address = p->p_vaddr, end;
	struct elf_load *segment;

	if (__builtin_add_overflow(address, p->p_memsz, &end) || p->p_filesz > p->p_memsz ||
	    end > INT64_MAX || p->p_offset > (uint64_t)INT64_MAX - p->p_filesz)
		return -EBADMSG;
	if (image->segment_count == IMAGE_SEGMENTS)
		return -EBADMSG;
	segment = &image->segments[image->segment_count++];
	*segment =
		(struct elf_load){.address = address, .offset = p->p_offset, .size = p->p_filesz};
	if (p->p_flags & PF_X)
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
	elf_segment segments[64];
	elf_header head;
	int error = read_all(&image->source, &head, sizeof(head), 0);

	if (error)
		return error;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != NATIVE_CLASS ||
	    head.e_ident[EI_DATA] != NATIVE_DATA)
		return -ENOEXEC;
	if (head.e_phentsize != sizeof(segments[0]) || !head.e_phnum ||
	    head.e_phnum > sizeof(segments) / sizeof(segments[0]))
		return -EBADMSG;
	error = read_all(&image->source, segments, head.e_phnum * sizeof(segments[0]),
			 head.e_phoff);
	for (unsigned i = 0; !error && i < head.e_phnum; i++) {
		const elf_segment *p = &segments[i];

		if (p->p_type == PT_LOAD) {
			error = add_segment(image, p);
		} else if (p->p_type == PT_GNU_EH_FRAME) {
			image->eh_frame_hdr = p->p_vaddr;
			image->eh_frame_hdr_size = p->p_memsz;
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
		n = read_source(&image->source, image->memory + (begin - image->load_start),
				end - begin, s->offset + (begin - s->address));
		if (n < 0 || (uint64_t)n < end - begin)
			return -EBADMSG;
	}
	return 0;
}

static int fill_from_memory(struct image *image, uint64_t from, uint64_t to)
{
	uint64_t at = from, header = image->segments[0].address - image->segments[0].offset;

	for (; at < to; at += PAGE) {
		ssize_t n = read_source(&image->source, image->memory + (at - image->load_start),
					PAGE, at - header);

		if (n != PAGE && n <= 0)
			break;
	}
	return at == from ? -EFAULT : 0;
}

static bool fill(struct image *image, uint64_t piece)
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

	if (offset >= size || !fill(image, piece))
		return NULL;
	end = (piece + 1) * IMAGE_PIECE;
	if (end < *length && end < size && fill(image, piece + 1))
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
		if (!fill(image, piece))
			return NULL;
	return image->memory + offset;
}

/* Reads what must be known about an ELF file. elfid.h describes the interface. */
#include "collector/symbols/elfid.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc32.h"
#include "base/elf/elf.h"

#include "base/ban.h"

static void read_loads(const struct elf *elf, struct elf_id *id)
{
	struct elf_table table;
	struct elf_segment p;

	elf_open_segments(&table, elf);
	for (uint64_t i = 0; id->load_count < ELF_LOADS_MAX && elf_segment_at(&table, i, &p); i++)
		if (p.type == PT_LOAD && p.flags & PF_X)
			id->load[id->load_count++] = (struct elf_load){
				.offset = p.offset, .address = p.address, .size = p.file_size};
}

/*
 * Opens a file for reading if it is regular, because a path may name a device or a pipe. Returns
 * the descriptor or a negative errno.
 */
static int open_regular(const char *path, struct stat *ret_stat)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_stat))
		return -errno;
	if (!S_ISREG(ret_stat->st_mode))
		return -ENOEXEC;
	return take_fd(fd);
}

int elf_id_read(const char *path, struct elf_id *ret_id)
{
	struct stat st;
	cleanup(cleanup_close) int fd = open_regular(path, &st);
	struct elf_id id = {0};
	struct elf elf;

	if (fd < 0)
		return fd;
	if (elf_open_file(&elf, fd) < 0)
		return -ENOEXEC;
	elf_identify(&elf, &id.file);
	read_loads(&elf, &id);
	id.entry = elf.entry;
	id.device = st.st_dev;
	id.inode = st.st_ino;
	id.size = (uint64_t)st.st_size;
	id.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	*ret_id = id;
	return 0;
}

int file_crc32(const char *path, uint32_t *ret_crc)
{
	uint8_t bytes[16384];
	uint32_t crc = 0;
	struct stat st;
	ssize_t n;
	cleanup(cleanup_close) int fd = open_regular(path, &st);

	if (fd < 0)
		return fd;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		crc = crc32_add(crc, bytes, (size_t)n);
	if (n < 0)
		return -errno;
	*ret_crc = crc;
	return 0;
}

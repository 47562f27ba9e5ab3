/* Opens temporary files, and limits their total size. See temp.h. */
#include "collector/sql/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/unnamed_file.h"

#include "base/ban.h"

struct temp_files {
	sqlite3_vfs vfs;
	char name[40];
	uint64_t limit, used;
	bool full;
	int error;
};

struct temp_file {
	sqlite3_file base;
	struct temp_files *files;
	int fd;
	uint64_t size;
};

static struct temp_file *file_of(sqlite3_file *file)
{
	return (struct temp_file *)(void *)file;
}

static int close_file(sqlite3_file *base)
{
	struct temp_file *file = file_of(base);

	file->files->used -= file->size;
	close(file->fd);
	return SQLITE_OK;
}

static int temp_read_file(sqlite3_file *base, void *to, int length, sqlite3_int64 offset)
{
	struct temp_file *file = file_of(base);
	char *at = to;
	size_t left = (size_t)length;

	while (left) {
		ssize_t n = pread(file->fd, at, left, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return SQLITE_IOERR_READ;
		if (!n) {
			memset(at, 0, left);
			return SQLITE_IOERR_SHORT_READ;
		}
		at += n;
		offset += n;
		left -= (size_t)n;
	}
	return SQLITE_OK;
}

static int temp_refuse(struct temp_file *file, int error)
{
	file->files->full = true;
	file->files->error = error;
	return SQLITE_FULL;
}

static int temp_write_file(sqlite3_file *base, const void *from, int length, sqlite3_int64 offset)
{
	struct temp_file *file = file_of(base);
	uint64_t end = (uint64_t)offset + (uint64_t)length;
	const char *at = from;
	size_t left = (size_t)length;

	if (end > file->size && end - file->size > file->files->limit - file->files->used)
		return temp_refuse(file, 0);
	while (left) {
		ssize_t n = pwrite(file->fd, at, left, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return temp_refuse(file, n < 0 ? errno : ENOSPC);
		at += n;
		offset += n;
		left -= (size_t)n;
	}
	if (end > file->size) {
		file->files->used += end - file->size;
		file->size = end;
	}
	return SQLITE_OK;
}

static int truncate_file(sqlite3_file *base, sqlite3_int64 size)
{
	struct temp_file *file = file_of(base);

	if ((uint64_t)size >= file->size)
		return SQLITE_OK;
	if (ftruncate(file->fd, size) < 0)
		return SQLITE_IOERR_TRUNCATE;
	file->files->used -= file->size - (uint64_t)size;
	file->size = (uint64_t)size;
	return SQLITE_OK;
}

static int sync_file(sqlite3_file *base, int flags)
{
	(void)base;
	(void)flags;
	return SQLITE_OK; /* nothing to sync: the files end with the process */
}

static int file_size(sqlite3_file *base, sqlite3_int64 *ret_size)
{
	*ret_size = (sqlite3_int64)file_of(base)->size;
	return SQLITE_OK;
}

static int lock_file(sqlite3_file *base, int level)
{
	(void)base;
	(void)level;
	return SQLITE_OK;
}

static int is_reserved(sqlite3_file *base, int *ret_reserved)
{
	(void)base;
	*ret_reserved = 0;
	return SQLITE_OK;
}

static int control_file(sqlite3_file *base, int operation, void *argument)
{
	(void)base;
	(void)operation;
	(void)argument;
	return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *base)
{
	(void)base;
	return 4096;
}

static int characteristics(sqlite3_file *base)
{
	(void)base;
	return 0;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = close_file,
	.xRead = temp_read_file,
	.xWrite = temp_write_file,
	.xTruncate = truncate_file,
	.xSync = sync_file,
	.xFileSize = file_size,
	.xLock = lock_file,
	.xUnlock = lock_file,
	.xCheckReservedLock = is_reserved,
	.xFileControl = control_file,
	.xSectorSize = sector_size,
	.xDeviceCharacteristics = characteristics,
};

/* Opens unnamed files only. A statement must not open a file by name. */
static int temp_open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
			  int *ret_flags)
{
	struct temp_file *file = file_of(base);

	*file = (struct temp_file){.files = vfs->pAppData, .fd = -1};
	if (name)
		return SQLITE_CANTOPEN;
	file->fd = unnamed_file();
	if (file->fd < 0)
		return SQLITE_CANTOPEN;
	file->base.pMethods = &methods;
	if (ret_flags)
		*ret_flags = flags;
	return SQLITE_OK;
}

static int no_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)name;
	(void)sync;
	return SQLITE_IOERR_DELETE;
}

static int no_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret_there)
{
	(void)vfs;
	(void)name;
	(void)flags;
	*ret_there = 0;
	return SQLITE_OK;
}

static int no_path(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	(void)vfs;
	(void)name;
	(void)size;
	(void)out;
	return SQLITE_CANTOPEN;
}

static void *no_library(sqlite3_vfs *vfs, const char *name)
{
	(void)vfs;
	(void)name;
	return NULL;
}

int temp_files_new(uint64_t limit, struct temp_files **ret_files)
{
	static atomic_uint number;
	struct temp_files *files = calloc(1, sizeof(*files));
	sqlite3_vfs *system = sqlite3_vfs_find(NULL);

	if (!files || !system) {
		free(files);
		return -ENOMEM;
	}
	snprintf(files->name, sizeof(files->name), "heapcast-sql-%u", atomic_fetch_add(&number, 1));
	files->limit = limit;
	/* Clock, sleep and randomness come from the system's VFS. */
	files->vfs = *system;
	files->vfs.iVersion = system->iVersion < 2 ? system->iVersion : 2;
	files->vfs.szOsFile = sizeof(struct temp_file);
	files->vfs.pNext = NULL;
	files->vfs.zName = files->name;
	files->vfs.pAppData = files;
	files->vfs.xOpen = temp_open_file;
	files->vfs.xDelete = no_delete;
	files->vfs.xAccess = no_access;
	files->vfs.xFullPathname = no_path;
	files->vfs.xDlOpen = no_library;
	if (sqlite3_vfs_register(&files->vfs, 0) != SQLITE_OK) {
		free(files);
		return -ENOMEM;
	}
	*ret_files = files;
	return 0;
}

void temp_files_free(struct temp_files *files)
{
	if (!files)
		return;
	sqlite3_vfs_unregister(&files->vfs);
	free(files);
}

const char *temp_files_name(const struct temp_files *files)
{
	return files->name;
}

bool temp_files_full(const struct temp_files *files, int *ret_error)
{
	*ret_error = files->error;
	return files->full;
}

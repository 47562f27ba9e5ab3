/*
 * The store of symbol files that `collector symbols add` fills. symbols.h describes the interface.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/symbols/elfid.h"
#include "collector/symbols/find.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

static void store_fill(struct symbol_file *file, const struct elf_id *id, const char *path)
{
	*file = (struct symbol_file){
		.path = path,
		.build_id_length = id->file.build_id_length,
		.symbols = id->file.has & ELF_HAS_SYMBOLS,
		.exports = id->file.has & ELF_HAS_EXPORTS,
		.lines = id->file.has & ELF_HAS_LINES,
		.inlines = id->file.has & ELF_HAS_DEBUG_INFO,
		.code = id->file.has_code,
		.size = id->size,
	};
	memcpy(file->build_id, id->file.build_id, id->file.build_id_length);
}

static int store_make_folder(const char *path, struct err_text *err)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		return err_set(err, -errno, "making the folder %.300s: %s", path, strerror(errno));
	return 0;
}

/* Creates the folders and returns the file's path: FOLDER/.build-id/xx/yyyy[.debug]. */
static int make_place(const char *folder, const struct elf_id *id, char **ret_path,
		      struct err_text *err)
{
	char text[2 * ELF_BUILD_ID_MAX + 1], part[4096];
	int r = store_make_folder(folder, err);

	for (uint32_t i = 0; i < id->file.build_id_length; i++)
		snprintf(text + 2 * i, 3, "%02x", id->file.build_id[i]);
	if (strlen(folder) + sizeof(text) + 32 > sizeof(part))
		return err_set(err, -ENAMETOOLONG, "%.100s...: too long a path", folder);
	snprintf(part, sizeof(part), "%s/.build-id", folder);
	if (!r)
		r = store_make_folder(part, err);
	snprintf(part, sizeof(part), "%s/.build-id/%.2s", folder, text);
	if (!r)
		r = store_make_folder(part, err);
	if (r)
		return r;
	if (asprintf(ret_path, "%s/%s%s", part, text + 2,
		     id->file.has & ELF_HAS_DEBUG_INFO ? ".debug" : "") < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int copy_bytes(int from, int to)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		for (ssize_t done = 0, m; done < n; done += m) {
			m = write(to, bytes + done, (size_t)(n - done));
			if (m < 0)
				return -errno;
		}
	return n < 0 ? -errno : fsync(to) ? -errno : 0;
}

/* Creates a hidden file in the store's folder. Returns the descriptor. */
static int make_hidden(const char *folder, char **ret_path, struct err_text *err)
{
	cleanup(cleanup_free) char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/.adding-XXXXXX", folder) < 0) {
		path = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "%.400s: %s", path, strerror(errno));
	*ret_path = take_ptr(path);
	return fd;
}

/*
 * Copies to a temporary file in the store's folder and renames it into place. Readers see the whole
 * file or nothing, and notice that the folder has changed.
 */
static int copy_to(const char *folder, const char *path, const char *place, struct err_text *err)
{
	cleanup(cleanup_close) int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	cleanup(cleanup_close) int to = -1;
	cleanup(cleanup_free) char *temporary = NULL;
	int r;

	if (from < 0)
		return err_set(err, -errno, "%.400s: %s", path, strerror(errno));
	to = make_hidden(folder, &temporary, err);
	if (to < 0)
		return to;
	r = copy_bytes(from, to);
	if (!r && rename(temporary, place))
		r = -errno;
	if (!r)
		return 0;
	unlink(temporary);
	return err_set(err, r, "copying %.200s to %.200s: %s", path, place, strerror(-r));
}

/*
 * Tells whether the file in place has the same build id, size and contents. A build id identifies a
 * build, so the files are equal.
 */
static bool store_is_there(const char *place, const struct elf_id *id)
{
	struct elf_id old;

	return !elf_id_read(place, &old) && old.file.build_id_length == id->file.build_id_length &&
	       !memcmp(old.file.build_id, id->file.build_id, id->file.build_id_length) &&
	       old.size == id->size && old.file.has == id->file.has;
}

/* Returns 0 if the file is an ELF file with a build id and something that names code. */
static int store_look_at(const char *path, struct elf_id *ret_id, struct err_text *err)
{
	struct elf_id id;
	int r = elf_id_read(path, &id);

	if (r == -ENOEXEC)
		return err_set(err, r, "%.400s: not an ELF file", path);
	if (r)
		return err_set(err, r, "%.400s: %s", path, strerror(-r));
	if (!id.file.build_id_length)
		return err_set(err, -ENODATA,
			       "%.300s has no build id (link it with -Wl,--build-id): name its "
			       "folder with --symbols instead",
			       path);
	if (!id.file.has)
		return err_set(err, -ENODATA, "%.400s has nothing that names code", path);
	*ret_id = id;
	return 0;
}

int symbols_store_add(const char *folder, const char *path, struct err_text *err)
{
	cleanup(cleanup_free) char *place = NULL;
	struct elf_id id;
	bool known;
	int r = store_look_at(path, &id, err);

	if (r)
		return r;
	r = make_place(folder, &id, &place, err);
	known = !r && store_is_there(place, &id);
	if (!r && !known)
		r = copy_to(folder, path, place, err);
	return r ? r : known;
}

int symbols_store_begin(const char *folder, uint64_t bytes, char **ret_path, struct err_text *err)
{
	struct statvfs disk;
	int r = store_make_folder(folder, err);

	if (r)
		return r;
	if (statvfs(folder, &disk))
		return err_set(err, -errno, "%.400s: %s", folder, strerror(errno));
	if (bytes > (uint64_t)disk.f_bavail * disk.f_frsize / 2)
		return err_set(err, -ENOSPC,
			       "it would take more than half of the free space on the disk");
	return make_hidden(folder, ret_path, err);
}

/* Tells whether the file in place has the same build id and all contents of the other one. */
static bool tells_as_much(const char *place, const struct elf_id *id)
{
	struct elf_id old;

	return !elf_id_read(place, &old) && old.file.build_id_length == id->file.build_id_length &&
	       !memcmp(old.file.build_id, id->file.build_id, id->file.build_id_length) &&
	       (old.file.has & id->file.has) == id->file.has;
}

int symbols_store_receive(const char *folder, const char *path, const struct symbol_module *module,
			  struct err_text *err)
{
	cleanup(cleanup_free) char *place = NULL;
	struct elf_id id;
	bool known;
	int r = store_look_at(path, &id, err);

	if (!r && (id.file.build_id_length != module->build_id_length ||
		   memcmp(id.file.build_id, module->build_id, id.file.build_id_length)))
		r = err_set(err, -EKEYREJECTED, "what came has another build id");
	if (!r)
		r = make_place(folder, &id, &place, err);
	if (r)
		return r;
	known = tells_as_much(place, &id);
	if (known ? unlink(path) : rename(path, place))
		return err_set(err, -errno, "moving %.200s to %.200s: %s", path, place,
			       strerror(errno));
	if (!(id.file.has & (ELF_HAS_SYMBOLS | ELF_HAS_DEBUG_INFO)))
		err_set(err, 0,
			"it was stripped: it has exported names only, and on its host there is no "
			"debug file for it");
	return known;
}

bool symbols_are_here(const char *store, const struct symbol_module *module)
{
	struct finder finder = {.store = store, .debug_root = "/usr/lib/debug"};
	struct candidates found;
	bool any;

	finder_find(&finder, module, &found);
	any = found.count > 0;
	candidates_done(&found);
	finder_clear(&finder);
	return any;
}

static int store_by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

int symbols_store_each(const char *folder,
		       int (*file)(void *context, const struct symbol_file *file), void *context)
{
	cleanup(cleanup_free) char *top = NULL;
	char *folders[2] = {NULL, NULL};
	FTSENT *entry;
	FTS *walk;
	int r = 0;

	if (asprintf(&top, "%s/.build-id", folder) < 0)
		return -ENOMEM;
	folders[0] = top;
	walk = fts_open(folders, FTS_PHYSICAL | FTS_NOCHDIR, store_by_name);
	if (!walk)
		return -errno;
	while (!r && (entry = fts_read(walk))) {
		struct symbol_file found;
		struct elf_id id;

		if (entry->fts_info != FTS_F || elf_id_read(entry->fts_path, &id))
			continue;
		store_fill(&found, &id, entry->fts_path);
		r = file(context, &found);
	}
	fts_close(walk);
	return r;
}

/* Searches for symbol files. find.h describes the interface. */
#include "collector/symbols/find.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

#define FOLDER_DEPTH_MAX    16
#define FOLDER_FILES_MAX    200000
#define FOLDERS_WATCHED_MAX 10000

/* An ELF file in one of the folders. */
struct found {
	char *path;
	struct elf_id id;
};

/* An indexed folder. */
struct watched {
	char *path;
	uint64_t mtime_ns;
};

struct search {
	struct finder *finder;
	const struct symbol_module *module;
	struct candidates *out;
	struct elf_id own; /* identity of the file at the module's own path, if it is an ELF file */
	bool own_fits;
};

static bool same_build_id(const struct symbol_module *module, const struct elf_id *id)
{
	return module->build_id_length && id->file.build_id_length == module->build_id_length &&
	       !memcmp(id->file.build_id, module->build_id, module->build_id_length);
}

static void hex(char *to, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		*to++ = digits[bytes[i] >> 4];
		*to++ = digits[bytes[i] & 15];
	}
	*to = 0;
}

static const char *find_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static uint64_t find_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static void find_add(struct search *s, const char *path, const struct elf_id *id, bool unchecked)
{
	struct candidates *out = s->out;
	struct candidate *c = &out->list[out->count];

	if (out->count == CANDIDATES_MAX)
		return;
	for (size_t i = 0; i < out->count; i++)
		if (out->list[i].device == id->device && out->list[i].inode == id->inode)
			return;
	c->path = strdup(path);
	if (!c->path)
		return;
	c->unchecked = unchecked;
	c->failed = false;
	c->has = id->file.has;
	c->device = id->device;
	c->inode = id->inode;
	c->size = id->size;
	c->mtime_ns = id->mtime_ns;
	out->signature =
		find_mix(find_mix(find_mix(out->signature, id->inode), id->size), id->mtime_ns);
	out->count++;
}

/* Adds the file if it exists and has the build id. */
static void try_path(struct search *s, const char *path)
{
	struct elf_id id;

	if (!elf_id_read(path, &id) && same_build_id(s->module, &id))
		find_add(s, path, &id, false);
}

bool candidates_add(struct candidates *candidates, const struct symbol_module *module,
		    const char *path)
{
	struct search s = {.module = module, .out = candidates};
	size_t before = candidates->count;

	try_path(&s, path);
	return candidates->count > before;
}

/* Ranks files: debug information is worth more than a line table, and a line table more than
 * symbols. */
static unsigned rank(unsigned has)
{
	return (has & ELF_HAS_DEBUG_INFO ? 8 : 0) + (has & ELF_HAS_LINES ? 4 : 0) +
	       (has & ELF_HAS_SYMBOLS ? 2 : 0) + (has & ELF_HAS_EXPORTS ? 1 : 0);
}

/* Returns true if the candidate has the module's build id. The target of a debug link may have
 * none. */
static bool carries_build_id(const struct candidate *c, const struct symbol_module *module)
{
	struct elf_id id;

	return !c->unchecked && !elf_id_read(c->path, &id) && same_build_id(module, &id);
}

const struct candidate *candidates_best(const struct candidates *candidates,
					const struct symbol_module *module, uint64_t bytes_max,
					bool *ret_larger)
{
	const struct candidate *best = NULL;
	unsigned larger = 0;

	for (size_t i = 0; i < candidates->count; i++) {
		const struct candidate *c = &candidates->list[i];

		if (!c->has || !carries_build_id(c, module))
			continue;
		if (c->size > bytes_max)
			larger = rank(c->has) > larger ? rank(c->has) : larger;
		else if (!best || rank(c->has) > rank(best->has))
			best = c;
	}
	*ret_larger = larger > (best ? rank(best->has) : 0);
	return best;
}

/*
 * Tries FOLDER/.build-id/xx/yyyy.debug and FOLDER/.build-id/xx/yyyy, the layout of /usr/lib/debug
 * and of the store.
 */
static void try_layout(struct search *s, const char *folder)
{
	char id[2 * ELF_BUILD_ID_MAX + 1], path[4096];

	if (s->module->build_id_length < 2 || s->module->build_id_length > ELF_BUILD_ID_MAX)
		return;
	hex(id, s->module->build_id, s->module->build_id_length);
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", folder, id, id + 2);
	try_path(s, path);
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s", folder, id, id + 2);
	try_path(s, path);
}

/* ---- the folders ---- */

static uint64_t mtime_of(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

/* Returns 0 if the folder does not exist. */
static uint64_t folder_mtime(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : mtime_of(&st);
}

static void watch(struct finder *finder, const char *path, uint64_t mtime_ns)
{
	struct watched *list;
	char *copy;

	if (finder->watched_count == FOLDERS_WATCHED_MAX)
		return;
	if (finder->watched_count == finder->watched_capacity) {
		size_t capacity = finder->watched_capacity ? finder->watched_capacity * 2 : 16;

		list = reallocarray(finder->watched, capacity, sizeof(*list));
		if (!list)
			return;
		finder->watched = list;
		finder->watched_capacity = capacity;
	}
	copy = strdup(path);
	if (copy)
		finder->watched[finder->watched_count++] = (struct watched){copy, mtime_ns};
}

static int find_keep(struct finder *finder, const char *path, const struct elf_id *id)
{
	if (finder->found_count == finder->found_capacity) {
		size_t capacity = finder->found_capacity ? finder->found_capacity * 2 : 64;
		struct found *list = reallocarray(finder->found, capacity, sizeof(*list));

		if (!list)
			return -ENOMEM;
		finder->found = list;
		finder->found_capacity = capacity;
	}
	finder->found[finder->found_count] = (struct found){.path = strdup(path), .id = *id};
	if (!finder->found[finder->found_count].path)
		return -ENOMEM;
	finder->found_count++;
	return 0;
}

static void index_folder(struct finder *finder, char *folder)
{
	char *const folders[] = {folder, NULL};
	FTS *walk = fts_open(folders, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	unsigned long files = 0;
	struct elf_id id;
	FTSENT *entry;

	while (walk && (entry = fts_read(walk)) && files < FOLDER_FILES_MAX) {
		if (entry->fts_info == FTS_D)
			watch(finder, entry->fts_path, mtime_of(entry->fts_statp));
		if (entry->fts_info == FTS_D && entry->fts_level >= FOLDER_DEPTH_MAX)
			fts_set(walk, entry, FTS_SKIP);
		if (entry->fts_info != FTS_F)
			continue;
		files++;
		if (!elf_id_read(entry->fts_path, &id) && find_keep(finder, entry->fts_path, &id))
			break;
	}
	if (walk)
		fts_close(walk);
}

static void index_folders(struct finder *finder)
{
	if (finder->indexed)
		return;
	finder->indexed = true;
	for (size_t i = 0; finder->folders && finder->folders[i]; i++) {
		cleanup(cleanup_free) char *folder = strdup(finder->folders[i]);

		if (!folder)
			continue;
		if (!folder_mtime(folder))
			watch(finder, folder, 0);
		index_folder(finder, folder);
	}
}

static void search_folders(struct search *s)
{
	const struct symbol_module *module = s->module;
	const char *name = find_base_name(module->path ? module->path : "");

	index_folders(s->finder);
	for (size_t i = 0; i < s->finder->found_count; i++) {
		const struct found *f = &s->finder->found[i];

		if (same_build_id(module, &f->id))
			find_add(s, f->path, &f->id, false);
		else if (!module->build_id_length && !f->id.file.build_id_length && *name &&
			 !strcmp(find_base_name(f->path), name))
			find_add(s, f->path, &f->id, true);
	}
}

/* ---- the module's own path ---- */

static void say_other_build(struct search *s)
{
	char theirs[2 * ELF_BUILD_ID_MAX + 1], ours[2 * ELF_BUILD_ID_MAX + 1];
	size_t length = s->module->build_id_length;

	hex(theirs, s->module->build_id, length < ELF_BUILD_ID_MAX ? length : ELF_BUILD_ID_MAX);
	hex(ours, s->own.file.build_id, s->own.file.build_id_length);
	snprintf(s->out->text, sizeof(s->out->text),
		 "the file here is another build: recorded was build id %.40s, the file has %.40s",
		 theirs, *ours ? ours : "none");
}

static void search_own(struct search *s)
{
	if (!s->module->path || s->module->path[0] != '/' || elf_id_read(s->module->path, &s->own))
		return;
	if (same_build_id(s->module, &s->own)) {
		s->own_fits = true;
		find_add(s, s->module->path, &s->own, false);
	} else if (!s->module->build_id_length) {
		s->own_fits = true;
		find_add(s, s->module->path, &s->own, true);
	} else {
		say_other_build(s);
	}
}

/* ---- debug links ---- */

/*
 * Tries the target of a debug link: it must match by build id if both sides have one, else by the
 * CRC in the link.
 */
static void try_link(struct search *s, const char *path)
{
	struct elf_id id;
	uint32_t crc;

	if (elf_id_read(path, &id))
		return;
	if (s->module->build_id_length && id.file.build_id_length) {
		if (same_build_id(s->module, &id))
			find_add(s, path, &id, false);
	} else if (!file_crc32(path, &crc) && crc == s->own.file.debuglink_crc) {
		find_add(s, path, &id, false);
	}
}

static void search_link(struct search *s)
{
	const char *path = s->module->path;
	char where[8192];
	int folder;

	if (!s->own_fits || !s->own.file.debuglink[0])
		return;
	folder = (int)(find_base_name(path) - path - 1);
	snprintf(where, sizeof(where), "%.*s/%s", folder, path, s->own.file.debuglink);
	try_link(s, where);
	snprintf(where, sizeof(where), "%.*s/.debug/%s", folder, path, s->own.file.debuglink);
	try_link(s, where);
	snprintf(where, sizeof(where), "%s%.*s/%s", s->finder->debug_root, folder, path,
		 s->own.file.debuglink);
	try_link(s, where);
	for (size_t i = 0; i < s->finder->found_count; i++)
		if (!strcmp(find_base_name(s->finder->found[i].path), s->own.file.debuglink))
			try_link(s, s->finder->found[i].path);
}

void finder_find(struct finder *finder, const struct symbol_module *module,
		 struct candidates *ret_candidates)
{
	struct search s = {.finder = finder, .module = module, .out = ret_candidates};

	*ret_candidates = (struct candidates){0};
	if (finder->store)
		try_layout(&s, finder->store);
	search_folders(&s);
	search_own(&s);
	try_layout(&s, finder->debug_root);
	search_link(&s);
}

bool finder_is_stale(const struct finder *finder)
{
	if (finder->store && folder_mtime(finder->store) != finder->store_mtime_ns)
		return true;
	for (size_t i = 0; i < finder->watched_count; i++)
		if (folder_mtime(finder->watched[i].path) != finder->watched[i].mtime_ns)
			return true;
	return false;
}

void finder_clear(struct finder *finder)
{
	for (size_t i = 0; i < finder->watched_count; i++)
		free(finder->watched[i].path);
	free(finder->watched);
	finder->watched = NULL;
	finder->watched_count = finder->watched_capacity = 0;
	finder->store_mtime_ns = finder->store ? folder_mtime(finder->store) : 0;
	for (size_t i = 0; i < finder->found_count; i++)
		free(finder->found[i].path);
	free(finder->found);
	finder->found = NULL;
	finder->found_count = finder->found_capacity = 0;
	finder->indexed = false;
}

void candidates_done(struct candidates *candidates)
{
	for (size_t i = 0; i < candidates->count; i++)
		free(candidates->list[i].path);
	*candidates = (struct candidates){0};
}

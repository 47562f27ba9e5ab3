/*
 * The modules of a recording. An agent numbers them from 1. Another agent that continues the stream
 * numbers them anew; most of its modules are already known:
 *
 *        its number --module_of_wire--> number here
 */
#include "collector/columns/row_block.h"
#include "collector/recording/definitions.h"
#include "collector/recording/info.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "proto/columns.h"
#include "collector/recording/totals.h"
#include "base/ban.h"

#define MODULES_SEARCHED 1024 /* how many known modules are compared with a new one */

/* ---- incarnations ---- */

void definitions_renew(struct definitions *d, uint32_t incarnation)
{
	if (incarnation <= d->incarnation)
		return;
	d->incarnation = incarnation;
	d->wire_module_count = d->module_recent = 0;
	nodes_renew(&d->nodes);
	names_renew(&d->names);
}

uint32_t definitions_module_of_wire(const struct definitions *d, uint32_t number)
{
	if (!definitions_renewed(d))
		return number;
	return number && number <= d->wire_module_count ? d->module_of_wire[number - 1] : 0;
}

static bool definitions_modules_is_module(const struct module_info *info, const Heapcast__Module *m,
					  const char *path)
{
	return info && info->unloaded_ns == NO_TIME && info->bias == m->bias &&
	       info->start == m->start && info->end == m->end && info->print == m->print &&
	       info->build_id_length == m->build_id.len &&
	       (!m->build_id.len || !memcmp(info->build_id, m->build_id.data, m->build_id.len)) &&
	       !strcmp(info->path, path);
}

/* Returns the number of an equal module that an earlier agent defined, or 0. */
static uint32_t find_again(struct definitions *d, const Heapcast__Module *m, const char *path)
{
	uint32_t most = d->module_count < MODULES_SEARCHED ? d->module_count : MODULES_SEARCHED;

	for (uint32_t i = 0; i < most; i++) {
		uint32_t index = (d->module_recent + i) % d->module_count;

		if (!definitions_modules_is_module(d->modules[index], m, path))
			continue;
		d->module_recent = index + 1;
		return index + 1;
	}
	return 0;
}

/* ---- modules ---- */

int definitions_check_modules(const struct definitions *d, const Heapcast__Batch *batch,
			      struct err_text *err)
{
	uint32_t known = definitions_renewed(d) ? d->wire_module_count : d->module_count;

	for (size_t i = 0; i < batch->n_module; i++) {
		const Heapcast__Module *m = batch->module[i];

		if (!m->number || m->number > MODULES_MAX || m->number > known + HOLE_MAX)
			return err_set(err, -EBADMSG, "a module with the number %u", m->number);
		if (m->build_id.len > sizeof(((struct module_info *)0)->build_id))
			return err_set(err, -EBADMSG, "module %u has a build id of %zu bytes",
				       m->number, m->build_id.len);
		if (m->start > m->end)
			return err_set(err, -EBADMSG, "module %u ends before it starts", m->number);
		if (m->number > known)
			known = m->number;
	}
	return 0;
}

/* Takes the first executable segment. If there are more, the others are small. */
static void put_code(struct module_info *info, const Heapcast__Module *m)
{
	for (size_t i = 0; i < m->n_segment; i++) {
		const Heapcast__Segment *s = m->segment[i];

		if (!(s->flags & PF_X) || s->size > UINT64_MAX - s->address)
			continue;
		info->code_address = s->address;
		info->code_size = s->size;
		info->code_offset = s->file_offset;
		return;
	}
}

/* Keeps the file name only where it differs from the displayable path. */
static int definitions_modules_put_file(struct module_info *info, const Heapcast__Module *m)
{
	size_t length = strlen(info->path);

	if (!m->path.len || (length == m->path.len && !memcmp(info->path, m->path.data, length)))
		return 0;
	info->file = strndup((const char *)m->path.data, m->path.len);
	return info->file ? 0 : -ENOMEM;
}

static struct module_info *new_module(uint32_t number, const Heapcast__Module *m, char *path)
{
	struct module_info *info = calloc(1, sizeof(*info));

	if (!info)
		return NULL;
	*info = (struct module_info){
		.number = number,
		.path = path,
		.build_id_length = (uint32_t)m->build_id.len,
		.print = m->print,
		.bias = m->bias,
		.start = m->start,
		.end = m->end,
		.loaded_ns = m->loaded_ns,
		.unloaded_ns = NO_TIME,
	};
	if (m->build_id.len)
		memcpy(info->build_id, m->build_id.data, m->build_id.len);
	put_code(info, m);
	if (definitions_modules_put_file(info, m) < 0) {
		free(info);
		return NULL;
	}
	return info;
}

/* Takes ownership of `path` on success. */
static int put_module(struct definitions *d, uint32_t number, const Heapcast__Module *m, char *path,
		      struct err_text *err)
{
	struct module_info *info;

	if (number > MODULES_MAX)
		return err_set(err, -EBADMSG, "more than %u modules", MODULES_MAX);
	if (array_reserve(&d->modules, &d->module_capacity, number, sizeof(*d->modules)) < 0)
		return -ENOMEM;
	info = new_module(number, m, path);
	if (!info)
		return -ENOMEM;
	if (d->module_count < number)
		d->module_count = number;
	d->modules[number - 1] = info;
	return 0;
}

/*
 * Adds a module of a later agent, under a number of this recording. Takes ownership of `*path` and
 * clears it if the module is new.
 */
static int add_module_again(struct definitions *d, const Heapcast__Module *m, char **path,
			    struct err_text *err)
{
	uint32_t number;
	int r = 0;

	if (array_reserve(&d->module_of_wire, &d->wire_module_capacity, m->number,
			  sizeof(*d->module_of_wire)) < 0)
		return -ENOMEM;
	for (; d->wire_module_count < m->number; d->wire_module_count++)
		d->module_of_wire[d->wire_module_count] = 0;
	number = find_again(d, m, *path);
	if (!number) {
		number = d->module_count + 1;
		r = put_module(d, number, m, *path, err);
		if (!r)
			*path = NULL;
	}
	if (!r)
		d->module_of_wire[m->number - 1] = number;
	return r;
}

int definitions_add_module(struct definitions *d, const Heapcast__Module *m, struct err_text *err)
{
	uint32_t number = definitions_module_of_wire(d, m->number);
	cleanup(cleanup_free) char *path = NULL;
	int r;

	if (number && number <= d->module_count && d->modules[number - 1])
		return 0;
	path = outside_text(m->path.data, m->path.len);
	if (!path)
		return -ENOMEM;
	if (definitions_renewed(d))
		return add_module_again(d, m, &path, err);
	r = put_module(d, m->number, m, path, err);
	if (!r)
		path = NULL;
	return r;
}

void definitions_unload(struct definitions *d, const Heapcast__Unload *u)
{
	uint32_t number = definitions_module_of_wire(d, u->module);

	if (number && number <= d->module_count && d->modules[number - 1])
		d->modules[number - 1]->unloaded_ns = u->time_ns;
}

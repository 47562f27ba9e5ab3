/* Implements the module table. See modules.h. */
#include "agent/core/modules.h"

#include <errno.h>
#include <string.h>

#include "agent/core/stacks.h"
#include "base/ban.h"

#define TEXT_A_MODULE 224 /* typical size of path and segments */

int modules_init(struct modules *m, struct arena *arena, uint32_t capacity)
{
	*m = (struct modules){.capacity =
				      capacity < STACKS_MODULE_MAX ? capacity : STACKS_MODULE_MAX};
	m->entry = arena_take(arena, m->capacity * sizeof(*m->entry));
	m->live = arena_take(arena, m->capacity * sizeof(*m->live));
	m->past = arena_take(arena, MODULES_PAST * sizeof(*m->past));
	m->text = arena_part(arena, m->capacity * (size_t)TEXT_A_MODULE);
	return m->entry && m->live && m->past && m->text.memory ? 0 : -ENOMEM;
}

void modules_limit(struct modules *m, uint32_t capacity)
{
	m->capacity = capacity;
	m->text.size = capacity * (size_t)TEXT_A_MODULE;
}

void modules_clear(struct modules *m)
{
	m->count = m->sent = m->unloads = m->turned_away = m->recent = 0;
	m->live_count = m->past_count = 0;
	arena_clear(&m->text);
}

/* ---- files ---- */

static int keep_text(struct modules *m, struct module *to, const struct run_module *from)
{
	size_t segments = from->segment_count * sizeof(from->segment[0]);
	uint8_t *text = arena_take(&m->text, segments + from->path_length);

	if (!text)
		return -ENOSPC;
	if (segments) /* memcpy(3) takes no NULL, even for no bytes */
		memcpy(text, from->segment, segments);
	if (from->path_length)
		memcpy(text + segments, from->path, from->path_length);
	to->segment = (const struct run_segment *)text;
	to->path = text + segments;
	return 0;
}

bool modules_full(const struct modules *m, const struct run_module *module)
{
	size_t text = module->segment_count * sizeof(module->segment[0]) + module->path_length;

	/* The arena may lose up to 63 bytes to alignment. */
	return m->count == m->capacity || m->text.size - m->text.used < text + 64;
}

static bool same_bytes(const uint8_t *a, uint32_t a_length, const uint8_t *b, uint32_t b_length)
{
	return a_length == b_length && (!a_length || !memcmp(a, b, a_length));
}

/* Compares the segments if they are known: they identify a file better than its mapped range, which
 * depends on the pages that the program has mapped. */
static bool same_size(const struct module *e, const struct run_module *module)
{
	return e->segment_count == module->segment_count &&
	       (e->segment_count ? !memcmp(e->segment, module->segment,
					   e->segment_count * sizeof(e->segment[0]))
				 : e->end - e->start == module->end - module->start);
}

static bool modules_is_same(const struct module *e, const struct run_module *module)
{
	return e->print == module->print && same_size(e, module) &&
	       same_bytes(e->build_id, e->build_id_length, module->build_id,
			  module->build_id_length) &&
	       same_bytes(e->path, e->path_length, module->path, module->path_length);
}

/* Finds the number of the module's file, or 0 if the table does not have it. A file that is loaded
 * now does not match: a second mapping of the same file (V8 maps its own executable again) counts
 * as another module. */
static uint32_t find_file(const struct modules *m, const struct run_module *module)
{
	for (uint32_t i = m->count; i-- > 0;)
		if (m->entry[i].ended_ns != MODULE_THERE && modules_is_same(&m->entry[i], module))
			return i + 1;
	return 0;
}

bool modules_knows(const struct modules *m, const struct run_module *module)
{
	return find_file(m, module) != 0;
}

/* Returns 0 if the table is full. */
static uint32_t modules_add_file(struct modules *m, const struct run_module *module)
{
	struct module *e = &m->entry[m->count];

	if (m->count == m->capacity)
		return 0;
	*e = (struct module){
		.bias = module->bias,
		.start = module->start,
		.end = module->end,
		.loaded_ns = module->time_ns,
		.ended_ns = MODULE_THERE,
		.told_ns = MODULE_THERE,
		.print = module->print,
		.path_length = (uint16_t)module->path_length,
		.build_id_length = (uint8_t)module->build_id_length,
		.segment_count = (uint8_t)module->segment_count,
	};
	if (keep_text(m, e, module) < 0)
		return 0;
	if (module->build_id_length)
		memcpy(e->build_id, module->build_id, module->build_id_length);
	return ++m->count;
}

static void set_end(struct modules *m, struct module *e, uint64_t time_ns)
{
	m->unloads -= e->ended_ns != e->told_ns;
	e->ended_ns = time_ns;
	m->unloads += e->ended_ns != e->told_ns;
}

void modules_told(struct modules *m, struct module *e)
{
	m->unloads -= e->ended_ns != e->told_ns;
	e->told_ns = e->ended_ns;
}

/* ---- places ---- */

int modules_add(struct modules *m, const struct run_module *module)
{
	uint32_t number;

	if (module->start >= module->end || module->path_length > MODULE_PATH_MAX ||
	    module->build_id_length > MODULE_BUILD_ID_MAX ||
	    module->segment_count > MODULE_SEGMENTS_MAX)
		return -EBADMSG;
	number = find_file(m, module);
	if (!number)
		number = modules_add_file(m, module);
	if (!number) {
		m->turned_away++;
		return -ENOSPC;
	}
	set_end(m, &m->entry[number - 1], MODULE_THERE);
	m->live[m->live_count++] = (struct module_place){
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.id = module->id,
		.number = number,
		.epoch_first = module->epoch,
		.epoch_last = UINT32_MAX,
	};
	return 0;
}

bool modules_remove(struct modules *m, uint32_t id, uint32_t epoch, uint64_t time_ns)
{
	for (uint32_t i = m->live_count; i-- > 0;) {
		struct module_place *place = &m->live[i];

		if (place->id != id)
			continue;
		place->epoch_last = epoch ? epoch - 1 : 0;
		set_end(m, &m->entry[place->number - 1], time_ns);
		m->past[m->past_count++ % MODULES_PAST] = *place;
		*place = m->live[--m->live_count];
		return true;
	}
	return m->turned_away; /* it may have been turned away */
}

void modules_remove_all(struct modules *m, uint64_t time_ns)
{
	for (uint32_t i = 0; i < m->live_count; i++)
		set_end(m, &m->entry[m->live[i].number - 1], time_ns);
	m->live_count = m->past_count = m->recent = 0;
}

static bool modules_holds(const struct module_place *place, uint64_t pc, uint32_t epoch)
{
	return pc >= place->start && pc < place->end && epoch >= place->epoch_first &&
	       epoch <= place->epoch_last;
}

static const struct module_place *find_past(const struct modules *m, uint64_t pc, uint32_t epoch)
{
	uint32_t known = m->past_count < MODULES_PAST ? m->past_count : MODULES_PAST;

	for (uint32_t i = 1; i <= known; i++) {
		const struct module_place *place = &m->past[(m->past_count - i) % MODULES_PAST];

		if (modules_holds(place, pc, epoch))
			return place;
	}
	return NULL;
}

const struct module_place *modules_find(struct modules *m, uint64_t pc, uint32_t epoch)
{
	if (m->recent < m->live_count && modules_holds(&m->live[m->recent], pc, epoch))
		return &m->live[m->recent];
	for (uint32_t i = m->live_count; i-- > 0;) {
		if (!modules_holds(&m->live[i], pc, epoch))
			continue;
		m->recent = i;
		return &m->live[i];
	}
	return find_past(m, pc, epoch);
}

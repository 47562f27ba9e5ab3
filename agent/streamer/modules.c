/* The table of modules. See modules.h. */
#include "agent/streamer/modules.h"

#include <errno.h>
#include <string.h>

#include "agent/streamer/stacks.h"
#include "base/ban.h"

#define TEXT_A_MODULE 224 /* path and segments, as a rule */

int modules_init(struct modules *m, struct arena *arena, uint32_t capacity)
{
	*m = (struct modules){.capacity =
				      capacity < STACKS_MODULE_MAX ? capacity : STACKS_MODULE_MAX};
	m->entry = arena_take(arena, m->capacity * sizeof(*m->entry));
	m->text = arena_part(arena, m->capacity * (size_t)TEXT_A_MODULE);
	return m->entry && m->text.memory ? 0 : -ENOMEM;
}

void modules_limit(struct modules *m, uint32_t capacity)
{
	m->capacity = capacity;
	m->text.size = capacity * (size_t)TEXT_A_MODULE;
}

void modules_clear(struct modules *m)
{
	m->count = m->sent = m->unloads = m->turned_away = m->recent = 0;
	arena_clear(&m->text);
}

static int keep_text(struct modules *m, struct module *to, const struct capture_module *from)
{
	size_t segments = from->segment_count * sizeof(from->segment[0]);
	uint8_t *text = arena_take(&m->text, segments + from->path_length);

	if (!text)
		return -ENOSPC;
	memcpy(text, from->segment, segments);
	memcpy(text + segments, from->path, from->path_length);
	to->segment = (const struct capture_segment *)text;
	to->path = text + segments;
	return 0;
}

bool modules_full(const struct modules *m, const struct capture_module *module)
{
	size_t text = module->segment_count * sizeof(module->segment[0]) + module->path_length;

	return m->count == m->capacity || m->text.size - m->text.used < text + 64;
}

int modules_add(struct modules *m, const struct capture_module *module)
{
	struct module *e;

	if (module->start >= module->end || module->path_length > MODULE_PATH_MAX ||
	    module->build_id_length > MODULE_BUILD_ID_MAX ||
	    module->segment_count > MODULE_SEGMENTS_MAX)
		return -EBADMSG;
	if (m->count == m->capacity) {
		m->turned_away++;
		return -ENOSPC;
	}
	e = &m->entry[m->count];
	*e = (struct module){
		.bias = module->bias,
		.start = module->start,
		.end = module->end,
		.loaded_ns = module->time_ns,
		.id = module->id,
		.epoch_first = module->epoch,
		.epoch_last = UINT32_MAX,
		.path_length = (uint16_t)module->path_length,
		.build_id_length = (uint8_t)module->build_id_length,
		.segment_count = (uint8_t)module->segment_count,
	};
	if (keep_text(m, e, module) < 0) {
		m->turned_away++;
		return -ENOSPC;
	}
	if (module->build_id_length)
		memcpy(e->build_id, module->build_id, module->build_id_length);
	m->count++;
	return 0;
}

static bool is_same(const struct module *e, const struct capture_module *module)
{
	return e->start == module->start && e->end == module->end && e->bias == module->bias &&
	       e->build_id_length == module->build_id_length &&
	       e->path_length == module->path_length &&
	       (!e->build_id_length ||
		!memcmp(e->build_id, module->build_id, e->build_id_length)) &&
	       (!e->path_length || !memcmp(e->path, module->path, e->path_length));
}

bool modules_again(struct modules *m, const struct capture_module *module)
{
	for (uint32_t i = m->count; i-- > 0;) {
		struct module *e = &m->entry[i];

		if (!e->gone || !is_same(e, module))
			continue;
		m->unloads -= !e->unload_sent;
		e->gone = e->unload_sent = false;
		e->id = module->id;
		e->epoch_first = module->epoch;
		e->epoch_last = UINT32_MAX;
		return true;
	}
	return false;
}

static void end(struct modules *m, struct module *e, uint64_t time_ns)
{
	e->gone = true;
	e->unloaded_ns = time_ns;
	m->unloads++;
}

bool modules_remove(struct modules *m, uint32_t id, uint32_t epoch, uint64_t time_ns)
{
	for (uint32_t i = m->count; i-- > 0;) {
		struct module *e = &m->entry[i];

		if (e->id != id || e->gone)
			continue;
		e->epoch_last = epoch ? epoch - 1 : 0;
		end(m, e, time_ns);
		return true;
	}
	return m->turned_away; /* it may be one of those */
}

void modules_remove_all(struct modules *m, uint64_t time_ns)
{
	for (uint32_t i = 0; i < m->count; i++) {
		struct module *e = &m->entry[i];

		if (!e->gone)
			end(m, e, time_ns);
		e->epoch_first = 1; /* what is left belongs to no epoch of the new image */
		e->epoch_last = 0;
		e->id = 0;
	}
	m->recent = 0;
}

static bool holds(const struct module *e, uint64_t pc, uint32_t epoch)
{
	return pc >= e->start && pc < e->end && epoch >= e->epoch_first && epoch <= e->epoch_last;
}

uint32_t modules_find(struct modules *m, uint64_t pc, uint32_t epoch)
{
	if (m->recent < m->count && holds(&m->entry[m->recent], pc, epoch))
		return m->recent + 1;
	for (uint32_t i = m->count; i-- > 0;) {
		if (!holds(&m->entry[i], pc, epoch))
			continue;
		m->recent = i;
		return i + 1;
	}
	return 0;
}

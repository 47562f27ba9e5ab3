/* The courses of a fleet's functions. See matrix.h. */
#include "collector/fleet/matrix.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#include "base/ban.h"

void fleet_matrix_done(struct fleet_matrix *m)
{
	intern_done(&m->texts);
	intern_done(&m->functions);
	intern_done(&m->kinds);
	map_done(&m->unit_numbers);
	map_done(&m->courses);
	free(m->places);
	free(m->units);
	free(m->list);
	*m = (struct fleet_matrix){0};
}

uint32_t fleet_text(struct fleet_matrix *m, const char *text)
{
	return intern_text(&m->texts, text ? text : "");
}

uint32_t fleet_function_number(struct fleet_matrix *m, const char *function, const char *module)
{
	uint32_t name = fleet_text(m, function), in = fleet_text(m, module), number;

	if (!name || !in)
		return 0;
	number = intern_pair(&m->functions, name, in);
	if (!number || array_reserve(&m->places, &m->places_capacity, (uint64_t)number + 1,
				     sizeof(*m->places)) < 0)
		return 0;
	m->places[number] = (struct fleet_place){name, in};
	return number;
}

int64_t fleet_unit_number(struct fleet_matrix *m, const char *program, const char *host,
			  const char *build)
{
	uint32_t p = fleet_text(m, program), h = fleet_text(m, host), b = fleet_text(m, build);
	uint32_t kind = p && h && b ? intern_pair(&m->kinds, p, b) : 0;
	uint64_t *number = kind ? map_put(&m->unit_numbers, (uint64_t)h << 32 | kind, NULL) : NULL;

	if (!number)
		return -ENOMEM;
	if (*number)
		return (int64_t)*number - 1;
	if (array_reserve(&m->units, &m->units_capacity, (uint64_t)m->unit_count + 1,
			  sizeof(*m->units)) < 0)
		return -ENOMEM;
	m->units[m->unit_count] =
		(struct fleet_unit){.program = p, .host = h, .build = b, .began_ns = UINT64_MAX};
	*number = ++m->unit_count;
	return m->unit_count - 1;
}

int fleet_add(struct fleet_matrix *m, uint32_t unit, uint32_t function, uint32_t moment,
	      int64_t bytes)
{
	uint64_t *index;

	if (!bytes)
		return 0;
	index = map_put(&m->courses, (uint64_t)unit << 32 | function, NULL);
	if (!index ||
	    array_reserve(&m->list, &m->capacity, (uint64_t)m->count + 1, sizeof(*m->list)) < 0)
		return -ENOMEM;
	if (!*index) {
		m->list[m->count] = (struct fleet_course){.unit = unit, .function = function};
		*index = ++m->count;
	}
	m->list[*index - 1].bytes[moment] += bytes;
	return 0;
}

void fleet_was_there(struct fleet_unit *unit, uint32_t first, uint32_t last)
{
	unit->there |= (UINT64_MAX >> (63 - last)) & ~(((uint64_t)1 << first) - 1);
	unit->changed |= (uint64_t)1 << first | (uint64_t)1 << (last + 1);
}

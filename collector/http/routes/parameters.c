/* Reads parameters as their rows say. See parameters.h. */
#include "collector/http/routes/parameters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/parse.h"
#include "collector/query/query.h"

#include "base/ban.h"

const struct parameter_word parameter_switch[] = {
	{"true", true}, {"false", false}, {"1", true}, {"0", false},
	{"yes", true},	{"no", false},	  {0},
};

/* Stores a number in a uint32_t, a uint64_t or a bool. */
static int put_number(void *at, size_t size, uint64_t number)
{
	uint32_t small = (uint32_t)number;
	bool on = number;

	memcpy(at,
	       size == sizeof(number)  ? (void *)&number
	       : size == sizeof(small) ? (void *)&small
				       : (void *)&on,
	       size);
	return 0;
}

static int read_number(const struct route_parameter *p, void *at, const char *value)
{
	uint64_t number;

	if (parse_u64(value, &number) < 0 || number < p->least || (p->most && number > p->most))
		return -EINVAL;
	return put_number(at, p->size, number);
}

static int read_word(const struct route_parameter *p, void *at, const char *value)
{
	for (const struct parameter_word *w = p->words; w->word; w++)
		if (!strcmp(value, w->word))
			return put_number(at, p->size, w->value);
	return -EINVAL;
}

static int read_percent(double *at, const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (*end == '%')
		end++;
	if (end == value || *end || !(percent >= 0 && percent <= 100))
		return -EINVAL;
	*at = percent;
	return 0;
}

static int read_text(const struct route_parameter *p, void *at, const char *value)
{
	if (p->most && strlen(value) > p->most)
		return -EINVAL;
	memcpy(at, &value, sizeof(value));
	return 0;
}

static int read_kind(const struct route_parameter *p, void *at, const char *value)
{
	switch (p->kind) {
	case PARAMETER_NUMBER:
		return read_number(p, at, value);
	case PARAMETER_SIZE:
		return parse_u64(value, at) < 0 ? parse_size(value, at) : 0;
	case PARAMETER_PERCENT:
		return read_percent(at, value);
	case PARAMETER_DURATION:
		return parse_duration(value, at);
	case PARAMETER_WORD:
		return read_word(p, at, value);
	case PARAMETER_TEXT:
		return read_text(p, at, value);
	case PARAMETER_READ:
	case PARAMETER_IGNORED:
	case PARAMETER_TIME:
		break;
	}
	return 0;
}

int parameter_read(const struct route_parameter *p, void *context, const struct view *view,
		   const char *value, struct err_text *err)
{
	void *at = (char *)context + p->at;
	int r;

	if (p->kind == PARAMETER_READ)
		return p->read(context, view, p->name, value, err);
	if (p->kind == PARAMETER_TIME) {
		r = query_time(view, p->name, value, at, err);
		return r < 0 ? r : 0;
	}
	return read_kind(p, at, value) < 0 ? err_set(err, -EINVAL, "%s takes %s, not \"%.60s\"",
						     p->name, p->takes, value)
					   : 0;
}

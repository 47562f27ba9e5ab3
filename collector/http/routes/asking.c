/* Answers questions as routes declare. See asking.h. */
#include "collector/http/routes/asking.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

struct asking_memory {
	struct asking asking;
	_Alignas(max_align_t) char result[];
};

static void asking_free(void *work)
{
	struct asking *a = work;

	if (a->x->route.done)
		a->x->route.done(a->result);
	request_values_done(&a->values);
	free(a);
}

static int asking_begin(struct exchange *x)
{
	const struct route *route = &x->route;
	struct asking_memory *memory = calloc(1, sizeof(*memory) + route->result_bytes);
	struct asking *a;

	if (!memory)
		return err_set(&x->err, -ENOMEM, "out of memory");
	a = &memory->asking;
	a->x = x;
	a->result = memory->result;
	request_values_init(&a->values, x);
	x->work = a;
	x->work_free = asking_free;
	return route->parameters ? read_parameters_of(x, x->source ? x->source->view : NULL,
						      route->parameters, &a->values,
						      &a->values.filter, route->takes_filter)
				 : 0;
}

static bool is_json(const struct asking *a)
{
	return !a->x->route.content_type;
}

static int asking_ask(struct asking *a)
{
	const struct route *route = &a->x->route;
	int r = route->ask ? route->ask(a) : 0;

	if (r < 0)
		return r;
	a->asked = true;
	a->field = route->answer ? route->answer->fields : NULL;
	if (!is_json(a))
		return 0;
	if (!(route->flags & ROUTE_ARRAY)) {
		json_answer(&a->json, a->x);
		return 0;
	}
	json_init(&a->json, &a->x->out);
	json_array(&a->json, NULL);
	return 0;
}

/* Writes elements of the list until the step is full. Returns 1 if there may be more. */
static int write_elements(struct asking *a)
{
	int r = 1;

	while (r > 0 && a->x->out.length < STEP_BYTES)
		r = a->x->route.next(a);
	return r;
}

/* Writes members of the answer until the step is full. Returns 1 if there may be more. */
static int write_rows(struct asking *a)
{
	int r = 0;

	for (; !r && (a->field->name || a->field->of); a->field += !r) {
		if (!a->field->streamed) {
			r = json_member(&a->json, a->field, a->result, &a->context);
			continue;
		}
		if (!a->listing)
			json_array(&a->json, a->field->name);
		a->listing = true;
		r = write_elements(a);
		if (!r)
			json_end(&a->json, ']');
	}
	return r;
}

static int asking_write(struct asking *a)
{
	const struct route *route = &a->x->route;
	bool is_array = route->flags & ROUTE_ARRAY;
	int r = route->write ? route->write(a) : is_array ? write_elements(a) : write_rows(a);

	if (r || !is_json(a))
		return r;
	json_end(&a->json, is_array ? ']' : '}');
	if (route->method == ROUTE_ORDER)
		buf_byte(&a->x->out, '\n');
	return 0;
}

int asking_step(struct exchange *x)
{
	int r = x->work ? 0 : asking_begin(x);
	struct asking *a = x->work;

	if (r < 0)
		return r;
	if (x->source) {
		a->view = x->source->view;
		a->context = frames_context(a->view, &x->err);
		a->context.skip = a->values.skip;
		a->context.count = a->values.count;
		a->context.strip = a->values.strip;
	}
	a->context.asked = a;
	if (!a->asked)
		r = asking_ask(a);
	if (!r)
		r = asking_write(a);
	if (a->release)
		a->release(a);
	return r >= 0 && buf_error(&x->out) ? buf_error(&x->out) : r;
}

int asking_fault(struct asking *a, const char *parameter, int error)
{
	snprintf(a->x->parameter, sizeof(a->x->parameter), "%s", parameter);
	return error;
}

int asking_element(struct asking *a, const struct answer *answer, const void *object)
{
	int r = json_object_of(&a->json, NULL, answer, object, &a->context);

	return r ? r : 1;
}

void asking_page(const struct asking *a, uint64_t count, uint64_t *ret_at, uint64_t *ret_end)
{
	uint64_t skip = a->values.skip < count ? a->values.skip : count;

	*ret_at = skip;
	*ret_end = count - skip < a->values.count ? count : skip + a->values.count;
}

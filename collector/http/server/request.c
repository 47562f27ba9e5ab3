/* Holds the path and parameters of a request. See request.h. */
#include "collector/http/server/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

int asked_init(struct request *request, const char *path)
{
	*request = (struct request){.path = strdup(path)};
	return request->path ? 0 : -ENOMEM;
}

void asked_done(struct request *request)
{
	for (size_t i = 0; i < request->parameter_count; i++)
		free(request->parameters[i].name);
	free(request->path);
	buf_done(&request->body);
	*request = (struct request){0};
}

int asked_add(struct request *request, const char *text)
{
	struct parameter *p = &request->parameters[request->parameter_count];
	char *equals;

	if (request->parameter_count == REQUEST_PARAMETERS_MAX)
		return -E2BIG;
	p->name = strdup(text);
	if (!p->name)
		return -ENOMEM;
	equals = strchr(p->name, '=');
	if (equals)
		*equals = 0;
	p->value = equals ? equals + 1 : p->name + strlen(p->name);
	request->parameter_count++;
	return 0;
}

const char *asked_get(const struct request *request, const char *name)
{
	for (size_t i = request->parameter_count; i-- > 0;)
		if (!strcmp(request->parameters[i].name, name))
			return request->parameters[i].value;
	return NULL;
}

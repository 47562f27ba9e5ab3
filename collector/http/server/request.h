#pragma once
/* What was asked: path and parameters, decoded. */
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define REQUEST_PARAMETERS_MAX 64

struct parameter {
	char *name, *value;
};

struct request {
	char *path;
	struct parameter parameters[REQUEST_PARAMETERS_MAX];
	size_t parameter_count;
	struct buf body; /* of a POST */
};

int asked_init(struct request *request, const char *path);
void asked_done(struct request *request);
/* "name=value" as it came, without the percent signs. -E2BIG: too many; -ENOMEM. */
int asked_add(struct request *request, const char *text);
/* The last of that name; NULL: not given. */
const char *asked_get(const struct request *request, const char *name);

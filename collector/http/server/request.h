#pragma once
/* The decoded path and parameters of a request. */
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
	struct buf body; /* body of a POST */
};

int asked_init(struct request *request, const char *path);
void asked_done(struct request *request);
/* Adds a parameter "name=value" that is already percent-decoded. Returns 0, -E2BIG if there are too
 * many, or -ENOMEM. */
int asked_add(struct request *request, const char *text);
/* Returns the value of the last parameter of that name, or NULL. */
const char *asked_get(const struct request *request, const char *name);

#pragma once
/* Describes answers as JSON Schemas (draft 2020-12), made from the rows that also write them
 * (answer.h). */
#include <stdbool.h>

#define SCHEMAS_MAX 96

struct answer;
struct json;

/* Writes the member "schema": a reference to the answer's schema, or an array of such. */
void schema_refer(struct json *json, const struct answer *answer, bool is_array);

/* All schemas that are referred to. */
struct schemas {
	struct {
		const struct answer *answer;
		bool incomplete; /* it may begin with what the recording lacks */
	} list[SCHEMAS_MAX];
	unsigned count;
};
/* Adds the answer and all that it refers to. */
void schemas_add(struct schemas *schemas, const struct answer *answer, bool incomplete);
/* Writes the members of an object, whose names are those of the answers. */
void schemas_write(struct json *json, const struct schemas *schemas);

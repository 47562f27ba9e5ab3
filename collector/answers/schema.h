#pragma once
/* Describes answers as JSON Schemas (draft 2020-12), made from the rows that also write them
 * (answer.h). */
#include <stdbool.h>

#define SCHEMAS_MAX 160

struct answer;
struct json;

/* Writes the member "schema": a reference to the answer's schema, or an array of these. */
void schema_refer(struct json *json, const struct answer *answer, bool is_array);

/* The set of schemas to be written. */
struct schemas {
	struct {
		const struct answer *answer;
		bool incomplete; /* it may say first what the recording lacks */
	} list[SCHEMAS_MAX];
	unsigned count;
};
/* Adds the answer and all answers that it refers to. */
void schemas_add(struct schemas *schemas, const struct answer *answer, bool incomplete);
/* Writes the schemas as members of an object, named after their answers. */
void schemas_write(struct json *json, const struct schemas *schemas);

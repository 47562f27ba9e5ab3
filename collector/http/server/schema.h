#pragma once
/* What answers are made of as JSON Schemas (draft 2020-12), made of their rows
 * (export/answer.h). */
#include <stdbool.h>

#define SCHEMAS_MAX 96

struct answer;
struct json;

/* The member "schema": a reference to an answer's, or an array of such. */
void schema_refer(struct json *json, const struct answer *answer, bool is_array);

/* All that is referred to. */
struct schemas {
	struct {
		const struct answer *answer;
		bool incomplete; /* it may begin with what the recording does not hold */
	} list[SCHEMAS_MAX];
	unsigned count;
};
/* With those that it refers to. */
void schemas_add(struct schemas *schemas, const struct answer *answer, bool incomplete);
/* The members of an object, by the answers' names. */
void schemas_write(struct json *json, const struct schemas *schemas);

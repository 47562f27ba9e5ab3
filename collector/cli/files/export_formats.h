#pragma once
/* The formats of `collector export`: a table. */
#include <stdio.h>

#include "collector/cli/ask/question.h"
#include "collector/answers/weight.h"

/* What a writer gets. */
struct export_call {
	struct question *question;
	const struct question_options *options;
	enum export_weight weight;
	FILE *file;
	struct err_text *err;
};

/* Options that only some formats take. */
enum export_takes {
	TAKES_WEIGHT = 1,
	TAKES_COUNT = 2,
	TAKES_TITLE = 4, /* and --percent-min */
	TAKES_TABLE = 8, /* and --with-stacks */
	TAKES_OF_GRAPHS = TAKES_WEIGHT | TAKES_COUNT | TAKES_TITLE,
	TAKES_OF_ROWS = TAKES_COUNT | TAKES_TABLE,
};

struct export_format {
	const char *name;
	enum value value; /* unless --value says something else */
	unsigned takes;	  /* enum export_takes */
	bool remarks;	  /* can say in itself what the recording does not hold */
	int (*write)(struct export_call *call); /* 0 or a negative errno */
};

extern const struct export_format export_formats[]; /* ends with {0} */
/* NULL: no such format. */
const struct export_format *export_format_lookup(const char *name);

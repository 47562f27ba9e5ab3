#pragma once
/* The formats of `collector export`: a table. */
#include <stdio.h>

#include "collector/cli/question.h"
#include "collector/export/export.h"

/* What a writer gets. */
struct export_call {
	struct question *question;
	const struct question_options *options;
	enum export_weight weight;
	FILE *file;
	struct err_text *err;
};

struct export_format {
	const char *name;
	enum value value; /* unless --value says something else */
	bool weighs;	  /* takes --weight */
	bool draws;	  /* takes --title, --count and --percent-min */
	bool remarks;	  /* can say in itself what the recording does not hold */
	int (*write)(struct export_call *call); /* 0 or a negative errno */
};

extern const struct export_format export_formats[]; /* ends with {0} */
/* NULL: no such format. */
const struct export_format *export_format_lookup(const char *name);

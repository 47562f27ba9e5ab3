#pragma once
/* `collector symbols fetch`: asks the collector that has links to agents for symbol files. */
#include <stddef.h>
#include <stdint.h>

struct err_text;

struct wanted_file {
	const uint8_t *build_id;
	uint32_t build_id_length;
	const char *name; /* for a person */
};

/* Asks for one after the other, and says what became of each on standard output. `ret_failed`: how
 * many did not come. 0, or a negative errno with the reason if there is nobody to ask. */
int symbols_fetch_files(const char *data, const struct wanted_file *files, size_t count,
			size_t *ret_failed, struct err_text *err);

#pragma once
/* `collector symbols fetch`: asks the collector that is connected to agents for symbol files. */
#include <stddef.h>
#include <stdint.h>

struct err_text;

struct wanted_file {
	const uint8_t *build_id;
	uint32_t build_id_length;
	const char *name; /* for people */
};

/* Asks for one file after the other, and says on standard output what became of each. `ret_failed`:
 * how many did not come. Returns 0, or a negative errno with the reason if no collector is there.
 */
int symbols_fetch_files(const char *data, const struct wanted_file *files, size_t count,
			size_t *ret_failed, struct err_text *err);

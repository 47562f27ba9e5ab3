#pragma once
/* `collector symbols fetch`: asks the collector that is connected to the agents for symbol
 * files. */
#include <stddef.h>
#include <stdint.h>

struct err_text;

struct wanted_file {
	const uint8_t *build_id;
	uint32_t build_id_length;
	const char *name; /* for people */
};

/* Asks for one file after the other, and prints what became of each. `ret_failed` gets the number
 * of files that did not arrive. Returns 0, or a negative errno with an error text if no collector
 * is running. */
int symbols_fetch_files(const char *data, const struct wanted_file *files, size_t count,
			size_t *ret_failed, struct err_text *err);

#pragma once
/* Reads profile.proto (google/pprof, proto/profile.proto) in place: everything but the samples,
 * into tables. Its messages refer to each other by ids and come in any order, so all are read
 * before any sample is. */
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/map.h"

struct err_text;

#define PPROF_ROWS_MAX (1u << 22) /* limit for each table */

/* A field of a message: its number, and a number or bytes. */
struct wire_field {
	unsigned number;
	unsigned type; /* 0: value; 2: bytes */
	uint64_t value;
	struct reader bytes;
};

/* Reads the next field. Returns 1; 0 at the end; -EBADMSG. For fields of a fixed width `value` has
 * their bits. */
int wire_next(struct reader *from, struct wire_field *ret_field);
/* Reads the next number of a repeated field, which may be packed or not. Returns false if there is
 * none (or at damage, see reader_error). */
bool wire_numbers(const struct wire_field *field, struct reader *packed, uint64_t *ret_value);

struct pprof_text {
	const char *data;
	size_t length;
};

struct pprof_type {
	uint64_t type, unit; /* numbers of texts */
};

struct pprof_mapping {
	uint64_t start, limit, offset, file, build_id;
};

struct pprof_function {
	uint64_t name, file;
};

struct pprof_location {
	uint64_t mapping, address; /* mapping: its id */
	struct reader message;	   /* has the lines */
	uint32_t module;	   /* the module of its place; see pprof.c */
	uint64_t offset;
	bool placed;
};

/* Rows are found by index; ids lead to index + 1. */
struct pprof {
	struct pprof_text *texts;
	uint32_t text_count, text_capacity;
	struct pprof_type *types;
	uint32_t type_count, type_capacity;
	struct pprof_mapping *mappings;
	uint32_t mapping_count, mapping_capacity;
	struct pprof_function *functions;
	uint32_t function_count, function_capacity;
	struct pprof_location *locations;
	uint32_t location_count, location_capacity;
	struct map mapping_ids, function_ids, location_ids;
	struct pprof_type period_type;
	uint64_t period, time_ns, default_type, samples, comment;
};

/* Call pprof_done in any case. The error's place is a byte of `data`. Returns 0, -EBADMSG with a
 * sentence, or -ENOMEM. */
int pprof_read(const uint8_t *data, size_t length, struct pprof *ret_pprof, struct err_text *err);
void pprof_done(struct pprof *pprof);
/* Returns "" for a text that is not defined. */
struct pprof_text pprof_text(const struct pprof *pprof, uint64_t number);
/* Reads a build id in hexadecimal digits. Returns how many of `most` bytes it has; 0: not the build
 * id of an ELF file. */
uint32_t pprof_build_id(const struct pprof *pprof, uint64_t text, uint8_t *to, uint32_t most);
bool pprof_text_is(const struct pprof *pprof, uint64_t number, const char *text);

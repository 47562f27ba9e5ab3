#pragma once
/* Reads profile.proto (google/pprof, proto/profile.proto) in place. All but the samples goes into
 * tables. Messages refer to each other by ids and come in any order, so the tables are complete
 * before any sample is read. */
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/map.h"

struct err_text;

#define PPROF_ROWS_MAX (1u << 22) /* limit for each table */

/* A field of a message: its number, and a value or bytes. */
struct wire_field {
	unsigned number;
	unsigned type; /* 0: value; 2: bytes */
	uint64_t value;
	struct reader bytes;
};

/* Reads the next field. Returns 1, 0 at the end, or -EBADMSG. For fields of fixed width, `value`
 * holds their bits. */
int wire_next(struct reader *from, struct wire_field *ret_field);
/* Reads the next number of a repeated field, packed or not. Returns false if no number is left, or
 * if the field is damaged (see reader_error). */
bool wire_numbers(const struct wire_field *field, struct reader *packed, uint64_t *ret_value);

struct pprof_text {
	const char *data;
	size_t length;
};

struct pprof_type {
	uint64_t type, unit; /* indices of texts */
};

struct pprof_mapping {
	uint64_t start, limit, offset, file, build_id;
};

struct pprof_function {
	uint64_t name, file;
};

struct pprof_location {
	uint64_t mapping, address; /* mapping: its id */
	struct reader message;	   /* the location's own bytes, with its lines */
	uint32_t module;	   /* where it lies in the recording; see pprof.c */
	uint64_t offset;
	bool placed;
};

/* The tables. Rows are found by index; the maps lead from an id to index + 1. */
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

/* Reads the tables of a profile. Errors name a byte of `data`. Returns 0, -EBADMSG with an error
 * text, or -ENOMEM. The caller calls pprof_done in any case. */
int pprof_read(const uint8_t *data, size_t length, struct pprof *ret_pprof, struct err_text *err);
void pprof_done(struct pprof *pprof);
/* Returns the text, or "" if it is not defined. */
struct pprof_text pprof_text(const struct pprof *pprof, uint64_t number);
/* Parses a build id in hexadecimal digits. Returns the number of bytes written, at most `most`, or
 * 0 if it is not the build id of an ELF file. */
uint32_t pprof_build_id(const struct pprof *pprof, uint64_t text, uint8_t *to, uint32_t most);
bool pprof_text_is(const struct pprof *pprof, uint64_t number, const char *text);

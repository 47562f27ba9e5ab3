#pragma once
/*
 * Which file lies where in the memory of a program whose addresses were not looked up: the lines of
 * its /proc/PID/maps become modules, so that an address becomes (module, offset). Where the file is
 * here, its build id goes along, and our own symbols can name the code; where it is not, an offset
 * is that from the file's start.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct composer;
struct importer;

struct mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* of the start, in the file */
	char *path;
	uint8_t build_id[32];
	uint32_t build_id_length;
	uint64_t bias;
	uint32_t number; /* that its file calls it by; 0: none */
	uint32_t module; /* 0: not put into a recording yet */
};

struct mapped {
	struct mapping *list; /* by start, after mapped_sort */
	uint32_t count, capacity;
	uint32_t *by_number; /* [number - 1]: index in the list + 1; after mapped_sort */
	uint32_t number_capacity;
	uint32_t left_out; /* mappings: there are too many */
	uint32_t others;   /* files of another build than the profile's lie at their paths */
	uint32_t believed; /* files that nobody says the build of */
};

void mapped_done(struct mapped *mapped);
/* A mapping of code, of which these count: start, end, offset, path (copied), build id and number.
 * Without a build id the file is asked for it; a file of another one is not used. 0 or -ENOMEM. */
int mapped_add(struct mapped *mapped, const struct mapping *mapping);
/* A line of /proc/PID/maps, or of gperftools' "START-END: FILE"; what is no mapping of code is
 * passed over. 0 or -ENOMEM. */
int mapped_add_line(struct mapped *mapped, char *line);
/* When all are there: puts them in order. 0 or -ENOMEM. */
int mapped_sort(struct mapped *mapped);
/* What of the names can't be as one would think, as notes. */
void mapped_note(const struct mapped *mapped, struct importer *importer);
/* The path of the first one; NULL: none. */
const char *mapped_program(const struct mapped *mapped);
/* Whether the address lies in a library of that name ("libjemalloc"), whatever its version. */
bool mapped_is_in(const struct mapped *mapped, uint64_t address, const char *library);
/* The place of an address, its module made in the recording when it is first asked for. 0 or what
 * composing fails with. */
int mapped_place(struct mapped *mapped, struct composer *composer, uint64_t address,
		 uint32_t *ret_module, uint64_t *ret_offset);
/* The same of an address that is said to lie in the mapping of a number: addresses may be those of
 * files, which are the same in many. */
int mapped_place_in(struct mapped *mapped, struct composer *composer, uint32_t number,
		    uint64_t address, uint32_t *ret_module, uint64_t *ret_offset);

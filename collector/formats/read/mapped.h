#pragma once
/* Says which file lies where in the memory of a program whose profile has only addresses. The lines
 * of its /proc/PID/maps become modules, so that an address becomes (module, offset). If the file is
 * on this machine, its build id is added, and our own symbols can name the code. If it is not, an
 * offset counts from the file's start. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct composer;
struct importer;

struct mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* offset of `start` in the file */
	char *path;
	uint8_t build_id[32];
	uint32_t build_id_length;
	uint64_t bias;
	uint32_t number; /* the number by which the profile calls it; 0: none */
	uint32_t module; /* 0: not put into a recording yet */
};

struct mapped {
	struct mapping *list; /* sorted by start, after mapped_sort */
	uint32_t count, capacity;
	uint32_t *by_number; /* [number - 1]: index in the list + 1; after mapped_sort */
	uint32_t number_capacity;
	uint32_t left_out; /* mappings that were left out, because there were too many */
	uint32_t others;   /* paths at which there is a file of another build than the profile's */
	uint32_t believed; /* files whose build nobody can confirm */
};

void mapped_done(struct mapped *mapped);
/* Adds a mapping of code. It uses start, end, offset, path (copied), build id and number. Without a
 * build id the file is asked for it; a file with another one is not used. Returns 0 or -ENOMEM. */
int mapped_add(struct mapped *mapped, const struct mapping *mapping);
/* Adds a line of /proc/PID/maps, or of gperftools' "START-END: FILE". Lines that are not mappings
 * of code are skipped. Returns 0 or -ENOMEM. */
int mapped_add_line(struct mapped *mapped, char *line);
/* Sorts the mappings, once all were added. Returns 0 or -ENOMEM. */
int mapped_sort(struct mapped *mapped);
/* Adds notes about names that may be wrong. */
void mapped_note(const struct mapped *mapped, struct importer *importer);
/* Returns the path of the first mapping; NULL: there is none. */
const char *mapped_program(const struct mapped *mapped);
/* Tells whether the address lies in a library of that name ("libjemalloc"), whatever its version.
 */
bool mapped_is_in(const struct mapped *mapped, uint64_t address, const char *library);
/* Finds the place of an address, and makes its module in the recording at the first use. Returns 0
 * or an error of composing. */
int mapped_place(struct mapped *mapped, struct composer *composer, uint64_t address,
		 uint32_t *ret_module, uint64_t *ret_offset);
/* The same for an address that the profile says lies in the mapping of this number. The addresses
 * may be those in files, which are the same in many. */
int mapped_place_in(struct mapped *mapped, struct composer *composer, uint32_t number,
		    uint64_t address, uint32_t *ret_module, uint64_t *ret_offset);

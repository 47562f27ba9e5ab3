#pragma once
/* Maps addresses to files, for profiles that have only addresses. The lines of the program's
 * /proc/PID/maps become modules, and an address becomes (module, offset). If the file is on this
 * machine, its build id is added, so that our own symbols can name the code. Otherwise the offset
 * counts from the file's start. */
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
	uint32_t number; /* the profile's own number for it; 0: none */
	uint32_t module; /* 0: not in the recording yet */
};

struct mapped {
	struct mapping *list; /* sorted by start, after mapped_sort */
	uint32_t count, capacity;
	uint32_t *by_number; /* [number - 1]: index in the list + 1; set by mapped_sort */
	uint32_t number_capacity;
	uint32_t left_out; /* mappings left out, because there were too many */
	uint32_t others;   /* paths whose file here has another build id than the profile's */
	uint32_t believed; /* files used without a build id to confirm them */
};

void mapped_done(struct mapped *mapped);
/* Adds a mapping of code. It uses start, end, offset, path (copied), build id and number. If the
 * mapping has no build id, it is read from the file here. If the file here has another build id,
 * the file is not used. Returns 0 or -ENOMEM. */
int mapped_add(struct mapped *mapped, const struct mapping *mapping);
/* Adds a line of /proc/PID/maps, or of gperftools' "START-END: FILE". Lines that are not mappings
 * of code are skipped. Returns 0 or -ENOMEM. */
int mapped_add_line(struct mapped *mapped, char *line);
/* Sorts the mappings. The caller calls it once all are added. Returns 0 or -ENOMEM. */
int mapped_sort(struct mapped *mapped);
/* Adds notes about names that may be wrong. */
void mapped_note(const struct mapped *mapped, struct importer *importer);
/* Returns the path of the first mapping, or NULL if there is none. */
const char *mapped_program(const struct mapped *mapped);
/* Tells whether the address lies in a library whose name begins so ("libjemalloc"), of any
 * version. */
bool mapped_is_in(const struct mapped *mapped, uint64_t address, const char *library);
/* Converts an address to a module and an offset, and adds the module to the recording at its first
 * use. Without a mapping, the module is 0 and the offset the address. Returns 0 or an error of
 * composing. */
int mapped_place(struct mapped *mapped, struct composer *composer, uint64_t address,
		 uint32_t *ret_module, uint64_t *ret_offset);
/* Does the same, but prefers the mapping of this number if it contains the address. The addresses
 * may be those in files, where the ranges of several files overlap. */
int mapped_place_in(struct mapped *mapped, struct composer *composer, uint32_t number,
		    uint64_t address, uint32_t *ret_module, uint64_t *ret_offset);

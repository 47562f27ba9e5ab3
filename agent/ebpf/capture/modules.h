#pragma once
/*
 * Tracks the mapped files of an attached process: for its stream, and to search them for
 * allocators. Reads /proc/PID/maps at the start, and again when new code has appeared. All data of
 * the process is validated.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/core/capture.h"
#include "agent/ebpf/sites.h"
#include "base/error.h"

#define EBPF_MODULES_MAX 512

struct ebpf_module {
	uint32_t id;
	uint64_t device, inode;
	uint64_t start, end; /* of all its addresses */
	uint64_t bias;
	char *path; /* as the process names it */
	int fd;	    /* the open file, until its sites are found and its probes are set; -1: the file
		     * can't be read */
	bool seen;  /* the last look has found it */
	bool told;  /* reported to the stream */
	bool idle;  /* not mapped since an exec; its probes stay set until it is mapped again */
	bool moved; /* its addresses have changed since its probes were set */
	bool deleted;
	uint8_t build_id[32];
	uint32_t build_id_length;
	uint32_t print;
	struct run_segment segment[8];
	uint32_t segment_count;
	struct sites sites;
	uint32_t first; /* number of the look that found it; 0: present from the start */
	bool searched;	/* for sites */
	bool again; /* the file was mapped before, and its probes are set; they belong to the file,
		     * wherever it is mapped */
	bool has_sites; /* `sites` is filled */
	bool probed;
	bool has_break;	   /* `break_at` is known */
	uint64_t break_at; /* address of libc's __curbrk in its file; 0: none */
};

struct ebpf_modules {
	struct ebpf_module *module;
	uint32_t count, capacity;
	uint32_t last_id;
	uint32_t looks;
	struct ebpf_file {
		uint64_t device, inode;
	} * file; /* files that were searched */
	uint32_t file_count, file_capacity;
	bool go; /* contains Go's runtime, whose allocations can't be recorded */
};

/* Reads the process's maps. Adds new modules with their files open, and marks those that are gone
 * (`seen` is false). *ret_news is the number of added modules. Returns 0, -ESRCH, -EACCES or
 * -ENOMEM. */
int ebpf_modules_look(struct ebpf_modules *modules, pid_t pid, uint32_t *ret_news,
		      struct err_text *err);
/* Finds the sites of modules that were not searched yet. The main thread calls this. `known_too`:
 * also those of files that were searched before. */
void ebpf_modules_search(struct ebpf_modules *modules, bool known_too);
/* Returns true if a module must be searched, or its file has reappeared with known sites. */
bool ebpf_modules_want_probes(const struct ebpf_modules *modules, bool known_too);
/* Returns the module that contains this address, or NULL. */
const struct ebpf_module *ebpf_modules_at(const struct ebpf_modules *modules, uint64_t address);
/* Forgets all mappings, because the process has called exec. Keeps probed modules, because their
 * probes work as soon as the file is mapped again. */
void ebpf_modules_begin_image(struct ebpf_modules *modules);
/* Removes a module. */
void ebpf_modules_remove(struct ebpf_modules *modules, uint32_t index);
void ebpf_modules_done(struct ebpf_modules *modules);

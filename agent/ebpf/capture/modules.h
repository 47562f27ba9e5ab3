#pragma once
/*
 * The mapped files of an attached process, as its stream is told of them and as its allocators are
 * looked for in them: read from /proc/PID/maps at once, and again when something new has turned up.
 * Nothing of the process's is believed unchecked.
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
	uint64_t start, end; /* all of its addresses */
	uint64_t bias;
	char *path; /* as the process names it */
	int fd; /* of the file, while its sites are looked for and its probes are set; -1: it can't
		   be read */
	bool seen;  /* in the last look */
	bool told;  /* to the stream */
	bool idle;  /* not mapped since an exec; its probes are there, for when it is */
	bool moved; /* since its probes were set */
	bool deleted;
	uint8_t build_id[32];
	uint32_t build_id_length;
	uint32_t print;
	struct capture_segment segment[8];
	uint32_t segment_count;
	struct sites sites;
	uint32_t first; /* number of the look that has found it; 0: it was there from the start */
	bool searched;	/* for sites */
	bool again; /* its file has been here before, and its probes are set: they are the file's,
		       wherever it is mapped */
	bool has_sites; /* `sites` was filled */
	bool probed;
	bool has_break;	   /* `break_at` is known */
	uint64_t break_at; /* libc's __curbrk, as an address of the file; 0: there is none */
};

struct ebpf_modules {
	struct ebpf_module *module;
	uint32_t count, capacity;
	uint32_t last_id;
	uint32_t looks;
	struct ebpf_file {
		uint64_t device, inode;
	} * file; /* that have been searched */
	uint32_t file_count, file_capacity;
	bool go; /* Go's runtime is in it, whose allocations nobody sees */
};

/* Looks at the process's maps: what is new is added, with its file open, what is gone is marked
 * (seen is false). `ret_news`: how many were added. 0; -ESRCH; -EACCES; -ENOMEM. */
int ebpf_modules_look(struct ebpf_modules *modules, pid_t pid, uint32_t *ret_news,
		      struct err_text *err);
/* Finds the sites of those that have not been searched. Main thread. `known_too`: of files that
 * have been here before, too. */
void ebpf_modules_search(struct ebpf_modules *modules, bool known_too);
/* Is one of them to be searched, or has its file come again with sites that are known? */
bool ebpf_modules_want_probes(const struct ebpf_modules *modules, bool known_too);
/* The one that holds this address; NULL: none. */
const struct ebpf_module *ebpf_modules_at(const struct ebpf_modules *modules, uint64_t address);
/* The process has another program: nothing is mapped any more, as far as is known. What was probed
 * is kept, for as soon as the file is mapped again its probes are in force. */
void ebpf_modules_begin_image(struct ebpf_modules *modules);
/* Takes one out. */
void ebpf_modules_remove(struct ebpf_modules *modules, uint32_t index);
void ebpf_modules_done(struct ebpf_modules *modules);

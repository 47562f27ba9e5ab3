#pragma once
/*
 * Symbols: (build id, path, offset) -> the function there and those inlined into it, with file and line.
 *
 * Looked up late and in batches, by libdw, in a worker process with limits (an ELF file from outside must not take the
 * collector down), and kept: in memory, and in the store's catalogue by build id, so that a second report is quick and a
 * symbol file that comes tomorrow names yesterday's stacks.
 *
 * Files are looked for, in this order, and used only if their build id matches: the folders given (`--symbols DIR`, by
 * DIR/.build-id/xx/yyyy.debug, and any ELF file below DIR by build id; by name where neither has one), the module's own path, /usr/lib/debug by build id
 * and by debuglink; then .gnu_debugdata, .symtab and .dynsym of what was found.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;
struct symbols;
struct sqlite3;

struct symbols_options {
	const char *const *folders; /* NULL-terminated; may be NULL */
	const char *worker;	    /* program to start as `worker symbols-worker`; NULL: /proc/self/exe */
	struct sqlite3 *cache;	    /* may be NULL: keep in memory only. Closed after symbols_free */
	uint64_t worker_memory_bytes; /* 0: 1 GiB */
	uint64_t worker_seconds;    /* 0: 60, for one file */
	const char *debug_root;	    /* NULL: /usr/lib/debug */
};

struct symbol_frame {
	const char *function;	  /* demangled; NULL: unknown. Shared strings, valid as long as `symbols` */
	const char *raw_function; /* as in the file; NULL: unknown */
	const char *file;	  /* path of the source; NULL: unknown */
	uint32_t line;		  /* 0: unknown */
	uint32_t column;
	bool is_inline;		  /* inlined into the next frame of the row */
};

/* What is known of one place: `count` frames, innermost (inlined) first, at least one. All strings are UTF-8 without control
 * characters, whatever the file had. */
struct symbol {
	uint32_t count;
	const struct symbol_frame *frames;
};

struct symbol_module {
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_length; /* 0: none; the file at `path` is then used without a check and marked as such */
};

int symbols_new(const struct symbols_options *options, struct symbols **ret_symbols, struct err_text *err);
void symbols_free(struct symbols *symbols);

/*
 * Looks up `count` offsets of one module (return addresses - bias; the place looked up is offset - 1), any order,
 * duplicates allowed. ret_symbols[i] is filled for each: at worst one frame with nothing known.
 * 0, or a negative errno if not even that could be done. Files that can't be used are no error: see symbols_notes.
 */
int symbols_lookup(struct symbols *symbols, const struct symbol_module *module, const uint64_t *offsets, size_t count,
		   const struct symbol **ret_symbols, struct err_text *err);

/* What a person should know: modules without symbols, files whose build id differs, a worker that failed. One line each. */
struct symbols_note {
	char *module;
	char *text;
};
size_t symbols_notes(const struct symbols *symbols, const struct symbols_note **ret_notes);

/* Looks for files again and asks again about what is not known in full, from the next lookup on: after a symbol file has come,
 * or a module's file has changed. Symbols handed out before stay valid. */
void symbols_refresh(struct symbols *symbols);

/* Demangles C++, Rust (both manglings) and D; returns NULL if `name` is none of these. Free it. */
char *symbols_demangle(const char *name);

/* main() of the worker: requests on standard input, answers on standard output. */
int symbols_worker_main(void);

#pragma once
/*
 * Symbols: (build id, path, offset) -> the function there and those inlined into it, with file and
 * line.
 *
 * Looked up late and in batches, by libdw, in a worker process with limits (an ELF file from
 * outside must not take the collector down), and kept: in memory, and in the store's catalogue by
 * build id, so that a second report is quick and a symbol file that comes tomorrow names
 * yesterday's stacks.
 *
 * Files are looked for, in this order, and used only if their build id matches: the store of
 * `collector symbols add`; the folders given (`--symbols DIR`, by DIR/.build-id/xx/yyyy.debug, and
 * any ELF file below DIR by build id; by name where neither has one), the module's own path,
 * /usr/lib/debug by build id and by debuglink; if none of these has debug information, debuginfod
 * servers, should the user have named any; then .gnu_debugdata, .symtab and .dynsym of what was
 * found.
 *
 * A file that the worker dies of, or takes too long over, is noted once, remembered in the
 * catalogue by inode, size and time of change, and passed over until it changes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;
struct symbols;
struct sqlite3;

struct symbols_options {
	const char *const *folders; /* NULL-terminated; may be NULL */
	const char *worker; /* program to start as `worker symbols-worker`; NULL: /proc/self/exe */
	struct sqlite3 *cache; /* may be NULL: keep in memory only. Closed after symbols_free */
	uint64_t worker_memory_bytes; /* 0: 1 GiB */
	uint64_t worker_seconds;      /* 0: 60, for one file */
	const char *debug_root;	      /* NULL: /usr/lib/debug */
	const char *store; /* folder of symbols_store_add; may be NULL, and need not exist yet.
			      Copied */
	const char *const *debuginfod; /* URLs of servers, NULL-terminated; NULL: nobody is asked.
					  Used until symbols_free */
	uint64_t debuginfod_seconds;   /* 0: 20. A server that does not answer for so long is not
					  asked again */
};

struct symbol_frame {
	const char *
		function; /* demangled; NULL: unknown. Shared strings, valid as long as `symbols` */
	const char *raw_function; /* as in the file; NULL: unknown */
	const char *file;	  /* path of the source; NULL: unknown */
	uint32_t line;		  /* 0: unknown */
	uint32_t column;
	bool is_inline; /* inlined into the next frame of the row */
};

/* What is known of one place: `count` frames, innermost (inlined) first, at least one. All strings
 * are UTF-8 without control characters, whatever the file had. */
struct symbol {
	uint32_t count;
	const struct symbol_frame *frames;
};

struct symbol_module {
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_length; /* 0: none; the file at `path` is then used without a check and
				     marked as such */
};

int symbols_new(const struct symbols_options *options, struct symbols **ret_symbols,
		struct err_text *err);
void symbols_free(struct symbols *symbols);

/*
 * Looks up `count` offsets of one module (return addresses - bias; the place looked up is offset -
 * 1), any order, duplicates allowed. ret_symbols[i] is filled for each: at worst one frame with
 * nothing known. 0, or a negative errno if not even that could be done. Files that can't be used
 * are no error: see symbols_notes.
 */
int symbols_lookup(struct symbols *symbols, const struct symbol_module *module,
		   const uint64_t *offsets, size_t count, const struct symbol **ret_symbols,
		   struct err_text *err);

/* What a person should know: modules without symbols, files whose build id differs, a worker that
 * failed. One line each. */
struct symbols_note {
	char *module;
	char *text;
};
size_t symbols_notes(const struct symbols *symbols, const struct symbols_note **ret_notes);

/* Looks for files again and asks again about what is not known in full, from the next lookup on:
 * after a symbol file has come, or a module's file has changed. Symbols handed out before stay
 * valid. */
void symbols_refresh(struct symbols *symbols);
/* True if symbol files came, or went, since the last look: time for symbols_refresh. Looks at the
 * time of folders only, at most once a second. */
bool symbols_are_stale(struct symbols *symbols);
/* The file here that tells most of the module's code, of those that carry its build id and have
 * `bytes_max` bytes at most: one with debug information before one without. No server is asked. 0:
 * ret_path, to be freed, and its size; `err` then may have the remark that a better one is too
 * large. -ENOENT: there is none; -EFBIG: all are too large. */
int symbols_find(struct symbols *symbols, const struct symbol_module *module, uint64_t bytes_max,
		 char **ret_path, uint64_t *ret_bytes, struct err_text *err);
/* "[vdso]", "[heap]" and the like: modules that no file can name. `path` may be NULL. */
bool symbols_is_pseudo(const struct symbol_module *module);

/* ---- the store of symbol files: FOLDER/.build-id/xx/yyyy.debug with debug information, xx/yyyy
 * without; gdb reads it, too ---- */

struct symbol_file {
	const char *path;
	uint8_t build_id[64];
	uint32_t build_id_length;
	bool symbols, exports, lines, inlines; /* what it has: symbol table, dynamic one, lines,
						  functions with inlined frames */
	bool code;			       /* the program's; else it is a separate debug file */
	uint64_t size;
};

/* Copies a file to the store, made if need be. 0: it is there now; 1: the same was there already.
 * -ENOEXEC: no ELF file; -ENODATA: it has no build id, or nothing that names code. */
int symbols_store_add(const char *folder, const char *path, struct err_text *err);
/* A new file for what comes from outside, `bytes` long, in the store's folder, which is made if
 * need be: its descriptor, and ret_path, to be freed; the file goes by symbols_store_receive, or
 * unlink. Negative errno: also where it would take more than half of the free space. */
int symbols_store_begin(const char *folder, uint64_t bytes, char **ret_path, struct err_text *err);
/* Moves a file that has come from outside, and lies in the store's folder, to its place. 0; 1: one
 * that tells as much was there already, and this one is gone: a stranger's does not take its place;
 * -EKEYREJECTED: its build id is another one than `module` has; others as symbols_store_add. On
 * success `err` has a remark if only exported names are in it. */
int symbols_store_receive(const char *folder, const char *path, const struct symbol_module *module,
			  struct err_text *err);
/* True if there is a file on this machine that may name the module's code: in the store, at the
 * module's path, or in /usr/lib/debug. */
bool symbols_are_here(const char *store, const struct symbol_module *module);
/* Every ELF file in the store, by build id (length 0: damaged); not 0 stops and is returned. A
 * store that is not there is empty. */
int symbols_store_each(const char *folder,
		       int (*file)(void *context, const struct symbol_file *file), void *context);

/* Demangles C++, Rust (both manglings) and D; returns NULL if `name` is none of these. Free it. */
char *symbols_demangle(const char *name);

/* main() of the worker: requests on standard input, answers on standard output. */
int symbols_worker_main(void);
/* main() of the process that asks debuginfod (fetch.h). */
int symbols_fetch_main(const char *build_id);

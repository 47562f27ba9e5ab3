#pragma once
/*
 * Symbols: (build id, path, offset) -> the function there and the functions inlined into it, with
 * file and line.
 *
 * Lookups are late and in batches. libdw does them in a worker process with limits, because an
 * untrusted ELF file must not crash the collector. Results are kept in memory and, by build id, in
 * the store's catalogue. A second report is therefore fast, and a symbol file that arrives tomorrow
 * names yesterday's stacks.
 *
 * Files are used only if their build id matches. The search order is: the store of `collector
 * symbols add`; the given folders (`--symbols DIR`, by DIR/.build-id/xx/yyyy.debug, any ELF file
 * below DIR by build id, or by name if neither side has a build id); the module's own path;
 * /usr/lib/debug by build id and by debuglink; debuginfod servers, if the user named any and none
 * of these files has debug information; then .gnu_debugdata, .symtab and .dynsym of the files
 * found.
 *
 * A file that kills the worker, or takes too long, is noted once, recorded in the catalogue by
 * inode, size and modification time, and skipped until it changes.
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
	struct sqlite3 *cache; /* may be NULL: keep symbols in memory only. The caller closes it
				* after symbols_free */
	uint64_t worker_memory_bytes; /* 0: 1 GiB */
	uint64_t worker_seconds;      /* per file; 0: 60 */
	const char *debug_root;	      /* NULL: /usr/lib/debug */
	const char *store; /* folder of symbols_store_add, copied; may be NULL or not exist yet */
	const char *const *debuginfod; /* URLs of servers, NULL-terminated; NULL: none. Used until
					* symbols_free */
	uint64_t debuginfod_seconds;   /* 0: 20. A server that does not answer within this time is
					* not asked again */
};

/* The strings are shared and valid as long as `symbols`. */
struct symbol_frame {
	const char *function;	  /* demangled; NULL: unknown */
	const char *raw_function; /* as in the file; NULL: unknown */
	const char *file;	  /* path of the source; NULL: unknown */
	uint32_t line;		  /* 0: unknown */
	uint32_t column;
	bool is_inline; /* inlined into the next frame */
};

/*
 * What is known about a place: at least one frame, innermost (inlined) first. All strings are UTF-8
 * without control characters.
 */
struct symbol {
	uint32_t count;
	const struct symbol_frame *frames;
	uint64_t start; /* offset of the function's beginning, if it has no name; 0: unknown */
};

struct symbol_module {
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_length; /* 0: none; the file at `path` is then used without a check, and a
				   * note says so */
};

int symbols_new(const struct symbols_options *options, struct symbols **ret_symbols,
		struct err_text *err);
void symbols_free(struct symbols *symbols);

/*
 * Looks up `count` offsets of one module (return address - bias; the place looked up is offset -
 * 1), in any order, with duplicates allowed. Every ret_symbols[i] is filled in, at worst with one
 * unknown frame. Returns 0, or a negative errno if not even that was possible. Unusable files are
 * no error: see symbols_notes.
 */
int symbols_lookup(struct symbols *symbols, const struct symbol_module *module,
		   const uint64_t *offsets, size_t count, const struct symbol **ret_symbols,
		   struct err_text *err);

/*
 * What the user should know: modules without symbols, files with another build id, a worker that
 * failed. One line each.
 */
struct symbols_note {
	char *module;
	char *text;
	bool nameless; /* the module has code that no file here names */
	uint8_t build_id[64];
	uint32_t build_id_length; /* 0: none */
};
size_t symbols_notes(const struct symbols *symbols, const struct symbols_note **ret_notes);

/*
 * From the next lookup on, searches for files again and looks up again what is not fully known. For
 * use after a symbol file has arrived or a module's file has changed. Symbols returned before stay
 * valid.
 */
void symbols_refresh(struct symbols *symbols);
/*
 * Tells whether symbol files were added or removed since the last search, so that symbols_refresh
 * is due. Checks only modification times of folders, at most once a second.
 */
bool symbols_are_stale(struct symbols *symbols);
/*
 * Searches for the module's files. Returns a number that is another one when other files could name
 * its code: names that were kept beside it hold as long as it is the same. 0: no file can.
 */
uint64_t symbols_signature(struct symbols *symbols, const struct symbol_module *module);
/*
 * Finds the most informative local file with the module's build id and at most `bytes_max` bytes;
 * debug information has priority. No server is asked. Returns 0 with ret_path, which the caller
 * frees, and its size; `err` may then remark that a better file is too large. Returns -ENOENT if
 * there is no file, or -EFBIG if all are too large.
 */
int symbols_find(struct symbols *symbols, const struct symbol_module *module, uint64_t bytes_max,
		 char **ret_path, uint64_t *ret_bytes, struct err_text *err);
/*
 * Tells whether a module is "[vdso]", "[heap]" or the like, which no file can name. `path` may be
 * NULL.
 */
bool symbols_is_pseudo(const struct symbol_module *module);

/*
 * ---- the store of symbol files: FOLDER/.build-id/xx/yyyy.debug with debug information, xx/yyyy
 * without; gdb can read it, too ----
 */

struct symbol_file {
	const char *path;
	uint8_t build_id[64];
	uint32_t build_id_length;
	bool symbols, exports, lines, inlines; /* contents: symbol table, dynamic symbol table,
						* lines, functions with inlined frames */
	bool code;			       /* contains the program's code; else a separate debug
						* file */
	uint64_t size;
};

/*
 * Copies a file to the store, which is created if necessary. Returns 0 if the file was added, 1 if
 * the same file was there, -ENOEXEC if it is not an ELF file, -ENODATA if it has no build id or
 * nothing that names code, or another negative errno.
 */
int symbols_store_add(const char *folder, const char *path, struct err_text *err);
/*
 * Creates a file for a download of `bytes` bytes in the store's folder, which is created if
 * necessary. Returns the descriptor, and ret_path, which the caller frees. symbols_store_receive or
 * unlink disposes of the file. Returns a negative errno on failure, also if the file would take
 * more than half of the free space.
 */
int symbols_store_begin(const char *folder, uint64_t bytes, char **ret_path, struct err_text *err);
/*
 * Moves a downloaded file in the store's folder into place. Returns 0; 1 if a file that is as
 * informative was there, and the download was deleted, because a stranger's file does not replace
 * it; -EKEYREJECTED if its build id is not that of `module`; or the errors of symbols_store_add. On
 * success `err` has a remark if the file has exported names only.
 */
int symbols_store_receive(const char *folder, const char *path, const struct symbol_module *module,
			  struct err_text *err);
/*
 * Tells whether a file on this machine may name the module's code: in the store, at the module's
 * path, or in /usr/lib/debug.
 */
bool symbols_are_here(const char *store, const struct symbol_module *module);
/*
 * Calls `file` for every ELF file in the store, by build id (length 0: damaged). A result other
 * than 0 stops and is returned. A missing store is empty.
 */
int symbols_store_each(const char *folder,
		       int (*file)(void *context, const struct symbol_file *file), void *context);

/*
 * Demangles C++, Rust (both manglings) and D. The caller frees the result. Returns NULL if `name`
 * is none of these.
 */
char *symbols_demangle(const char *name);

/* main() of the worker: reads requests from standard input, writes answers to standard output. */
int symbols_worker_main(void);
/* main() of the process that asks debuginfod (fetch.h). */
int symbols_fetch_main(const char *build_id);

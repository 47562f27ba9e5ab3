/* Lists all tables but `allocations`, which precedes them, in the order in which they are shown. */
#include <stddef.h>

#include "collector/sql/allocation_sums.h"
#include "collector/sql/state.h"

#include "base/ban.h"

static const struct table *const tables[] = {
	&table_stacks,	  &table_frames,   &table_modules,   &table_threads, &table_maps,
	&table_map_usage, &table_timeline, &table_marks,     &table_culled,  &table_figures,
	&table_gaps,	  &table_calls,	   &table_recording,
};

/* Uses a table once. The first use connects the table by a statement that users may not run, so it
 * has to come before the user's statements. */
static int tables_connect_table(struct sql *sql, const char *name)
{
	char *text = sqlite3_mprintf("select 1 from \"%w\" limit 0", name);
	int r = text ? sqlite3_exec(sql->db, text, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(text);
	return r;
}

/* Connects SQLite's own tables, which exist only if SQLite was built with them. */
static void connect_others(struct sql *sql)
{
	static const char *const others[] = {"json_each",	  "json_tree",
					     "pragma_table_info", "pragma_table_xinfo",
					     "pragma_table_list", "pragma_function_list"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		tables_connect_table(sql, others[i]);
}

int tables_add(struct sql *sql)
{
	int r = allocations_add(sql);

	if (r == SQLITE_OK)
		r = tables_connect_table(sql, "allocations");
	if (r == SQLITE_OK)
		r = allocation_sums_add(sql);
	if (r == SQLITE_OK)
		r = tables_connect_table(sql, "allocation_sums");
	for (size_t i = 0; r == SQLITE_OK && i < sizeof(tables) / sizeof(tables[0]); i++) {
		r = module_add(sql, tables[i]);
		if (r == SQLITE_OK)
			r = tables_connect_table(sql, tables[i]->name);
	}
	connect_others(sql);
	return r;
}

static void describe_table(const struct sql_describe *d, const char *name, const char *about,
			   const struct table_column *columns)
{
	d->table(d->context, name, about);
	for (; columns->name; columns++)
		d->column(d->context, columns->name, columns->type, columns->about);
}

void sql_describe(const struct sql_describe *describe)
{
	describe_table(describe, "allocations", ALLOCATIONS_ABOUT, allocations_columns);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		describe_table(describe, tables[i]->name, tables[i]->about, tables[i]->columns);
	for (const struct function_about *f = functions_about; f->name; f++)
		describe->function(describe->context, f->name, f->about);
}

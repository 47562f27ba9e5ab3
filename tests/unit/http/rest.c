/* The REST API over a real connection: fields, pages, errors, and its description. */
#include "tests/unit/http/rest.h"

#include "collector/columns/row_block.h"
#include "collector/page/page.h"
#include "collector/recording/row_reader.h"

static void test_list(void **state)
{
	json_t *list = get_json("/list", 200), *line = json_array_get(list, 0);

	(void)state;
	assert_int_equal(json_array_size(list), 1);
	assert_string_equal(json_string_value(json_object_get(line, "id")), id);
	assert_string_equal(json_string_value(json_object_get(line, "executable")),
			    "/usr/bin/example");
	assert_string_equal(json_string_value(json_object_get(line, "state")), "ended");
	assert_true(number(line, "final_allocated_count") > 0);
	assert_true(number(line, "unique_backtrace_count") > 10);
	assert_true(number(line, "maximum_backtrace_depth") > 1);
	assert_true(json_is_true(json_object_get(line, "watched_from_start")));
	assert_true(json_is_true(json_object_get(line, "watched_to_end")));
	assert_int_equal(number(json_object_get(line, "timestamp"), "secs"), 1700000000);
	json_decref(list);
}

static void check_allocation(struct row_reader *reader, const json_t *a)
{
	uint64_t row = (uint64_t)number(a, "id");
	const struct row_block *block =
		row_reader_block(reader, (uint32_t)(row / ROWS_PER_BLOCK), ROWS_ALL, NULL);
	uint32_t i = (uint32_t)(row % ROWS_PER_BLOCK);
	json_t *death = json_object_get(a, "deallocation");
	char text[24];

	assert_int_equal(number(a, "address"), block->address[i]);
	snprintf(text, sizeof(text), "%016llX", (unsigned long long)block->address[i]);
	assert_string_equal(json_string_value(json_object_get(a, "address_s")), text);
	assert_int_equal(number(a, "size"), block->size[i]);
	assert_int_equal(number(a, "backtrace_id"), block->stack[i]);
	assert_int_equal(number(json_object_get(a, "timestamp_relative"), "fract_nsecs"),
			 block->birth_ns[i] % 1000000000);
	assert_int_equal(!death, block->end[i] == BLOCK_IN_USE);
	if (death && block->death_stack[i])
		assert_int_equal(number(death, "backtrace_id"), block->death_stack[i]);
	assert_int_equal(json_array_size(json_object_get(a, "backtrace")) > 0,
			 block->stack[i] != 0);
	assert_true(number(a, "position_in_chain") < number(a, "chain_length"));
	assert_int_equal(number(a, "position_in_chain") > 0, block->chain_previous[i] != NO_BLOCK);
	assert_int_equal(number(a, "position_in_chain") + 1 < number(a, "chain_length"),
			 block->chain_next[i] != NO_BLOCK);
}

static void test_allocations(void **state)
{
	json_t *all = get_json("/data/last/allocations", 200),
	       *list = json_object_get(all, "allocations"), *a;
	uint64_t rows = recording_rows(t.recording);
	struct row_reader *reader;
	size_t i;

	(void)state;
	assert_int_equal(number(all, "total_count"), rows);
	assert_int_equal(json_array_size(list), rows);
	assert_int_equal(row_reader_new(t.recording, &reader), 0);
	json_array_foreach(list, i, a)
	{
		assert_int_equal(number(a, "id"), i);
		check_allocation(reader, a);
	}
	row_reader_free(reader);
	json_decref(all);
}

static void test_pages(void **state)
{
	char target[256];
	json_int_t last = INT64_MAX;
	size_t seen = 0;

	(void)state;
	for (unsigned skip = 0; skip < 500; skip += 50) {
		json_t *page, *list, *a;
		size_t i;

		snprintf(target, sizeof(target),
			 "/data/%.10s/"
			 "allocations?sort_by=size&order=dsc&skip=%u&count=50&size_min=100",
			 id, skip);
		page = get_json(target, 200);
		list = json_object_get(page, "allocations");
		json_array_foreach(list, i, a)
		{
			assert_true(number(a, "size") <= last && number(a, "size") >= 100);
			last = number(a, "size");
			seen++;
		}
		json_decref(page);
	}
	assert_int_equal(seen, 500);
	json_decref(get_json("/data/last/allocations?count=0", 200));
	json_decref(get_json("/data/last/allocations?skip=18446744073709551615", 200));
	json_decref(get_json("/data/last/allocations?sort_by=address&count=1&lifetime=only_leaked",
			     200));
	json_decref(get_json("/data/last/allocations?function_regex=%5Btruncated%5D&count=1", 200));
}

static void test_other_paths(void **state)
{
	json_t *json = get_json("/data/last/backtrace/5", 200);
	struct answer a;

	(void)state;
	assert_true(json_array_size(json_object_get(json, "frames")) > 0);
	json_decref(json);
	client_get(http_port(http), "/data/last/export/flamegraph?lifetime=only_leaked", &a);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr((char *)a.body.data, "<svg"));
	assert_null(strstr((char *)a.body.data, "<script>alert(1)"));
	buf_done(&a.body);
	client_get(http_port(http),
		   "/data/last/export/flamegraph/flame.svg?value=peak&weight=blocks", &a);
	assert_int_equal(a.status, 200);
	buf_done(&a.body);
	client_get(http_port(http), "/data/last/export/flamegraph.pl", &a);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr((char *)a.body.data, ";"));
	buf_done(&a.body);
	client_get(http_port(http), "/", &a);
	assert_int_equal(a.status, 200);
	assert_non_null(strcasestr((char *)a.body.data, "<!doctype html>"));
	buf_done(&a.body);
}

static void test_errors(void **state)
{
	(void)state;
	refused("/data/last/allocations?size_min=big", 400, "size_min", "takes a size");
	refused("/data/last/allocations?sort_by=age", 400, "sort_by", "timestamp, address or size");
	refused("/data/last/allocations?order=up", 400, "order", "asc or dsc");
	refused("/data/last/allocations?count=-1", 400, "count", "whole number");
	refused("/data/last/allocations?count=99999999999999999999999999999", 400, "count",
		"whole number");
	refused("/data/last/allocations?colour=red", 400, "colour", "no parameter is called");
	refused("/data/last/allocations?size-min=1", 400, "size-min", "no parameter is called");
	refused("/data/last/allocations?function_regex=(", 400, "function_regex",
		"regular expression");
	refused("/data/last/export/flamegraph?value=all", 400, "value", "allocated");
	refused("/data/last/export/flamegraph?at=tea", 400, "at", "takes a time");
	refused("/data/last/export/flamegraph?at=1000h", 400, "at", "beyond the end");
	refused("/data/last/backtrace/999999", 404, "backtrace_id", "id of a backtrace");
	refused("/data/last/backtrace/x", 404, "backtrace_id", "id of a backtrace");
	refused("/data/last/backtrace", 404, NULL, "nothing is served");
	refused("/data/ffffffff/allocations", 404, "id", "no recording begins");
	refused("/data/LAST/allocations", 404, "id", "hexadecimal");
	refused("/data//allocations", 404, NULL, "nothing is served");
	refused("/data/last", 404, NULL, "nothing is served");
	refused("/data/last/", 404, NULL, "nothing is served");
	refused("/list/x", 404, NULL, "nothing is served");
	refused("/list?x=1", 400, "x", "no parameter is called");
	refused("/list?select=x=1", 400, "select", "can't be selected by 'x'");
	refused("/snapshots?x=1", 400, "x", "takes no parameters");
	refused("/favicon.ico", 404, NULL, "nothing is served");
}

/* Every path of the description answers, and every parameter of it is refused by name where it is
 * nonsense, or taken. */
static void check_parameter(const char *where, const char *name)
{
	char target[256];
	struct answer a;

	snprintf(target, sizeof(target), "%s%c%s=%%01", where, strchr(where, '?') ? '&' : '?',
		 name);
	client_get(http_port(http), target, &a);
	if (a.status != 200 &&
	    ((a.status != 400 && a.status != 404) || !strstr((char *)a.body.data, name)))
		fail_msg("%s: status %d: %.200s", target, a.status, (char *)a.body.data);
	if (a.status == 400 && strstr((char *)a.body.data, "no parameter is called"))
		fail_msg("%s is described and not there", target);
	buf_done(&a.body);
}

/* Every part of a path in braces is a parameter of that name, and the other way round. */
static void check_parts(const char *where, const json_t *parameters)
{
	size_t i, parts = 0, told = 0;
	json_t *parameter;

	for (const char *at = where; (at = strchr(at, '{')); at++)
		parts++;
	json_array_foreach(parameters, i, parameter)
	{
		char part[64];

		if (strcmp(json_string_value(json_object_get(parameter, "in")), "path") != 0)
			continue;
		snprintf(part, sizeof(part), "{%s}",
			 json_string_value(json_object_get(parameter, "name")));
		assert_non_null(strstr(where, part));
		told++;
	}
	assert_int_equal(told, parts);
}

static void check_path(const char *where, const json_t *parameters)
{
	char target[200];
	struct answer a;
	size_t i;
	json_t *parameter;

	check_parts(where, parameters);
	snprintf(target, sizeof(target), "%s", where);
	if (strstr(where, "{id}"))
		snprintf(target, sizeof(target), "/data/last/%s", where + strlen("/data/{id}/"));
	if (strchr(target, '{'))
		return;
	if (strstr(target, "/diff"))
		strncat(target, "?base=last", sizeof(target) - strlen(target) - 1);
	if (!strcmp(target, "/data/last/sql"))
		strncat(target, "?query=select%201", sizeof(target) - strlen(target) - 1);
	if (strstr(target, "/source"))
		return; /* wants a file that debug information names: tests/e2e/rest-source.sh */
	if (strstr(target, "/live") || !strcmp(target, "/events"))
		return; /* they have no end as long as there may be more */
	if (strstr(target, "/flamegraph.html") && !page_asset_count)
		return; /* is a part of the page, which builds with sanitizers do not have */
	client_get(http_port(http), target, &a);
	if (a.status != 200)
		fail_msg("%s: status %d: %.200s", target, a.status, (char *)a.body.data);
	/* The program has no static objects, and a tree of nothing is empty. */
	if (!a.complete || (!a.body.length && !strstr(target, "/dynamic_")))
		fail_msg("%s: the answer is cut: %.200s", target,
			 a.body.length ? (char *)a.body.data : "");
	buf_done(&a.body);
	json_array_foreach(
		parameters, i,
		parameter) if (!strcmp(json_string_value(json_object_get(parameter, "in")),
				       "query"))
		check_parameter(target, json_string_value(json_object_get(parameter, "name")));
}

static void test_description(void **state)
{
	json_t *description = get_json("/openapi.json", 200),
	       *paths = json_object_get(description, "paths"), *where;
	const char *name;

	(void)state;
	assert_true(json_object_size(paths) >= 30);
	json_object_foreach(paths, name, where) if (json_object_get(where, "get"))
		check_path(name, json_object_get(json_object_get(where, "get"), "parameters"));
	else /* what changes something is not asked so */
		assert_true(!strcmp(name, "/data/{id}/control") || !strcmp(name, "/snapshot") ||
			    !strcmp(name, "/import") || !strcmp(name, "/data/{id}/execute_script"));
	assert_non_null(json_object_get(paths, "/data/{id}/backtrace/{backtrace_id}"));
	assert_non_null(json_object_get(paths, "/page/{file}"));
	json_decref(description);
	raw("GET /data/last/control HTTP/1.1\r\n" HOST, 405);
	raw("GET /snapshot HTTP/1.1\r\n" HOST, 405);
	raw("GET /data/last/execute_script HTTP/1.1\r\n" HOST, 405);
}

/* Totals of the answers agree with each other. */
static void test_answers(void **state)
{
	json_t *report = get_json("/data/last/report", 200),
	       *tree = get_json("/data/last/tree?value=leaked&hide=yes", 200),
	       *leaks = get_json("/data/last/leaks", 200),
	       *peak = get_json("/data/last/peak?by=backtrace", 200),
	       *diff = get_json("/data/last/diff?base=last&value=peak", 200),
	       *groups = get_json("/data/last/allocation_groups?order=asc&skip=1&count=2", 200),
	       *list;

	(void)state;
	assert_int_equal(number(tree, "size"), number(json_object_get(report, "leaked"), "bytes"));
	assert_int_equal(number(tree, "count"),
			 number(json_object_get(report, "leaked"), "blocks"));
	assert_int_equal(number(json_object_get(leaks, "total"), "bytes"), number(tree, "size"));
	assert_true(json_equal(json_object_get(peak, "total"), json_object_get(report, "peak")));
	assert_int_equal(number(diff, "bytes"), 0);
	assert_int_equal(json_array_size(json_object_get(diff, "groups")), 0);
	list = json_object_get(groups, "allocations");
	assert_int_equal(json_array_size(list), 2);
	assert_true(number(json_object_get(json_array_get(list, 0), "only_matched"), "size") <=
		    number(json_object_get(json_array_get(list, 1), "only_matched"), "size"));
	json_decref(report);
	json_decref(tree);
	json_decref(leaks);
	json_decref(peak);
	json_decref(diff);
	json_decref(groups);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),	cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_pages),	cmocka_unit_test(test_other_paths),
		cmocka_unit_test(test_errors),	cmocka_unit_test(test_description),
		cmocka_unit_test(test_answers),
	};

	if (is_symbols_worker(argc, argv))
		return symbols_worker_main();
	return cmocka_run_group_tests(tests, start, stop);
}

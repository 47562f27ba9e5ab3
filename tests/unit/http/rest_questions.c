/* Questions that take their time: who asks for them, in which order, and who takes them back. */
#include "tests/unit/http/rest.h"

static json_t *question_about(const char *about)
{
	json_t *list = get_json("/questions", 200), *one, *found = NULL;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (!strcmp(json_string_value(json_object_get(one, "path")), about))
			found = json_incref(one);
	}
	json_decref(list);
	return found;
}

/* A reader that does not read: its question is there until it leaves. */
static void test_questions(void **state)
{
	static const char request[] = "GET /data/last/allocations?size_min=1 HTTP/1.1\r\n" HOST;
	json_t *question = NULL;
	int fd = client_connect_small(http_port(http));

	(void)state;
	client_send(fd, request, sizeof(request) - 1);
	for (unsigned tries = 0; !question && tries < 2000; tries++) {
		question = question_about("/data/last/allocations");
		if (question && number(question, "blocks") < 1) {
			json_decref(question);
			question = NULL;
		}
	}
	assert_non_null(question);
	assert_true(number(question, "blocks_done") <= number(question, "blocks"));
	assert_true(json_is_false(json_object_get(question, "cancelled")));
	json_decref(question);
	close(fd);
	for (unsigned tries = 0;
	     (question = question_about("/data/last/allocations")) && tries < 2000; tries++)
		json_decref(question);
	assert_null(question);
	refused("/questions?x=1", 400, "x", "takes no parameters");
}

/* A statement that ends by its limits only. */
#define ENDLESS                                                                                    \
	"with%20recursive%20n(i)%20as%20(select%201%20union%20all%20select%20i%2B1%20from%20n)%"   \
	"20select%20count(*)%20from%20n"

static unsigned questions_in(const char *about, const char *where)
{
	json_t *list = get_json("/questions", 200), *one;
	unsigned count = 0;
	size_t i;

	json_array_foreach(list, i, one) count +=
		!strcmp(json_string_value(json_object_get(one, "path")), about) &&
		!strcmp(json_string_value(json_object_get(one, "state")), where);
	json_decref(list);
	return count;
}

static void await_questions(const char *about, const char *where, unsigned wanted)
{
	unsigned count = UINT_MAX;

	for (unsigned tries = 0; count != wanted && tries < 3000; tries++) {
		usleep(tries ? 10000 : 0);
		count = questions_in(about, where);
	}
	assert_int_equal(count, wanted);
}

/* One statement runs at a time, all else is answered meanwhile, and who hangs up ends what it asked
 * for. */
static void test_sql_turns(void **state)
{
	static const char sql[] = "GET /data/last/sql?query=" ENDLESS " HTTP/1.1\r\n" HOST;
	static const char filter[] =
		"GET /data/last/report?custom_filter=(" ENDLESS ")%3E0 HTTP/1.1\r\n" HOST;
	int first = client_connect(http_port(http)), second = client_connect(http_port(http)),
	    third = client_connect(http_port(http));

	(void)state;
	client_send(first, sql, sizeof(sql) - 1);
	await_questions("/data/last/sql", "running", 1);
	client_send(second, sql, sizeof(sql) - 1);
	await_questions("/data/last/sql", "waiting", 1);
	client_send(third, filter, sizeof(filter) - 1);
	await_questions("/data/last/report", "waiting", 1);
	json_decref(get_json("/data/last/allocations?count=1", 200));
	assert_int_equal(questions_in("/data/last/sql", "running"), 1);
	assert_int_equal(questions_in("/data/last/sql", "waiting"), 1);
	close(second); /* of those that wait */
	await_questions("/data/last/sql", "waiting", 0);
	assert_int_equal(questions_in("/data/last/sql", "running"), 1);
	close(first); /* of one that runs */
	await_questions("/data/last/sql", "running", 0);
	await_questions("/data/last/report", "running", 1);
	close(third);
	await_questions("/data/last/report", "running", 0);
	refused("/data/last/sql?query=select%201&timeout=61s", 400, "timeout", "up to 60s");
	refused("/data/last/sql?query=" ENDLESS "&timeout=100ms", 422, NULL, "limit of time");
	refused("/data/last/report?custom_filter=1&custom_filter=2", 400, "custom_filter", "twice");
}

/* A browser never closes half of a connection: who it asks for has gone at once. Another client may
 * still read. */
static void test_browser_gone(void **state)
{
	static const char sql[] = "GET /data/last/sql?query=" ENDLESS " HTTP/1.1\r\n"
				  "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n" HOST;
	int fd = client_connect(http_port(http));
	json_t *question;
	double seconds = 0;

	(void)state;
	client_send(fd, sql, sizeof(sql) - 1);
	await_questions("/data/last/sql", "running", 1);
	close(fd);
	while ((question = question_about("/data/last/sql"))) {
		seconds = json_number_value(json_object_get(question, "seconds"));
		json_decref(question);
		usleep(10000);
	}
	assert_true(seconds < 2); /* others: 3 */
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sql_turns),
		cmocka_unit_test(test_browser_gone),
		cmocka_unit_test(test_questions),
	};

	if (is_symbols_worker(argc, argv))
		return symbols_worker_main();
	return cmocka_run_group_tests(tests, start, stop);
}

/* Judges answers that are errors (failure.h). The codes are those of ClickHouse's ErrorCodes.cpp.
 */
#include "collector/clickhouse/failure.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

#include "base/ban.h"

#define CODE	 "Code: "
#define CODE_MAX 100000

/* How much of an answer's end may be an exception. */
#define APPENDED_MAX 4096

#define PASSWORD                                                                                   \
	"; are the user in the URL and the password right (HEAPCAST_CLICKHOUSE_PASSWORD, or "      \
	"password_file= in the URL)?"
#define RIGHTS                                                                                     \
	"; is the name of the database right, and has the user all rights on it (questions need "  \
	"SELECT)?"

static const struct failure_advice {
	int code; /* all of them are -EACCES */
	const char *text;
} failure_advices[] = {
	{192, PASSWORD}, /* UNKNOWN_USER */
	{193, PASSWORD}, /* WRONG_PASSWORD */
	{194, PASSWORD}, /* REQUIRED_PASSWORD */
	{516, PASSWORD}, /* AUTHENTICATION_FAILED: what newer servers say for these */
	{195, "; the server lets this user in from other addresses only"},
	{164, RIGHTS}, /* READONLY */
	{291, RIGHTS}, /* DATABASE_ACCESS_DENIED */
	{497, RIGHTS}, /* ACCESS_DENIED */
};

struct failure_code {
	int code, error;
};

static const struct failure_code failure_codes[] = {
	{159, -ETIMEDOUT}, /* TIMEOUT_EXCEEDED */
	{209, -ETIMEDOUT}, /* SOCKET_TIMEOUT */
	{210, -ETIMEDOUT}, /* NETWORK_ERROR */
	{236, -ETIMEDOUT}, /* ABORTED: the server is shutting down */
	{319, -ETIMEDOUT}, /* UNKNOWN_STATUS_OF_INSERT */
	{999, -ETIMEDOUT}, /* KEEPER_EXCEPTION: the connection to the coordinator was lost */
	{202, -EAGAIN},	   /* TOO_MANY_SIMULTANEOUS_QUERIES */
	{225, -EAGAIN},	   /* NO_ZOOKEEPER */
	{241, -EAGAIN},	   /* MEMORY_LIMIT_EXCEEDED */
	{242, -EAGAIN},	   /* TABLE_IS_READ_ONLY: it lost its coordinator */
	{243, -EAGAIN},	   /* NOT_ENOUGH_SPACE */
	{252, -EAGAIN},	   /* TOO_MANY_PARTS */
	{279, -EAGAIN},	   /* ALL_CONNECTION_TRIES_FAILED: another shard is away */
	{285, -EAGAIN},	   /* TOO_FEW_LIVE_REPLICAS */
	{286, -EAGAIN},	   /* UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE */
};

const char *failure_advice(int code)
{
	for (size_t i = 0; i < sizeof(failure_advices) / sizeof(*failure_advices); i++)
		if (failure_advices[i].code == code)
			return failure_advices[i].text;
	return "";
}

const char *failure_status_advice(long status)
{
	return failure_of_status(status) == -EACCES ? PASSWORD : "";
}

int failure_of_code(int code)
{
	for (size_t i = 0; i < sizeof(failure_codes) / sizeof(*failure_codes); i++)
		if (failure_codes[i].code == code)
			return failure_codes[i].error;
	return *failure_advice(code) ? -EACCES : -EREMOTEIO;
}

int failure_of_status(long status)
{
	if (status == 401 || status == 403)
		return -EACCES;
	if (status == 429 || status == 503)
		return -EAGAIN;
	return status == 500 || status == 502 || status == 504 ? -ETIMEDOUT : -EREMOTEIO;
}

void failure_show(const char *from, size_t length, char ret_text[FAILURE_TEXT])
{
	const char *line = memchr(from, '\n', length);
	size_t left = line ? (size_t)(line - from) : length, n = 0;

	while (left && n + 5 < FAILURE_TEXT) {
		uint32_t code;
		size_t size = utf8_next(from, left, &code);

		if (size && utf8_shows(code)) {
			memcpy(ret_text + n, from, size);
			n += size;
		} else {
			ret_text[n++] = '?';
			size = size ? size : 1;
		}
		from += size;
		left -= size;
	}
	ret_text[n] = '\0';
}

/* Skips `prefix` if the text begins so. */
static void failure_skip(const char **from, size_t *left, const char *prefix)
{
	size_t n = strlen(prefix);

	if (*left < n || memcmp(*from, prefix, n))
		return;
	*from += n;
	*left -= n;
}

int failure_exception(const char *body, size_t length, char ret_text[FAILURE_TEXT])
{
	const char *from = body;
	size_t left = length;
	char *end;
	int code = 0;

	failure_skip(&from, &left, CODE);
	if (left == length)
		return 0;
	while (left && *from >= '0' && *from <= '9' && code < CODE_MAX) {
		code = 10 * code + (*from - '0');
		from++;
		left--;
	}
	if (!code || !left || (*from != ',' && *from != '.'))
		return 0;
	failure_skip(&from, &left, ", e.displayText() =");
	failure_skip(&from, &left, ".");
	failure_skip(&from, &left, " DB::Exception: ");
	failure_show(from, left, ret_text);
	end = strstr(ret_text, ", e.what() = ");
	if (end)
		*end = '\0';
	return code;
}

int failure_appended(const char *body, size_t length, char ret_text[FAILURE_TEXT])
{
	static const char *const marks[] = {", e.displayText() = ", ". DB::Exception: "};
	size_t from = length > APPENDED_MAX ? length - APPENDED_MAX : 0;

	while (from < length) {
		const char *at = memmem(body + from, length - from, CODE, strlen(CODE));
		size_t digits;

		if (!at)
			return 0;
		from = (size_t)(at - body) + strlen(CODE);
		for (digits = from; digits < length && body[digits] >= '0' && body[digits] <= '9';)
			digits++;
		for (size_t i = 0; i < 2; i++)
			if (length - digits >= strlen(marks[i]) &&
			    !memcmp(body + digits, marks[i], strlen(marks[i])))
				return failure_exception(at, length - (size_t)(at - body),
							 ret_text);
	}
	return 0;
}

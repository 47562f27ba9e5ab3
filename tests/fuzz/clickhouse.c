/*
 * What comes from outside to the client of ClickHouse; the first byte says which: a URL, a server's
 * exception, or an answer in RowBinary.
 */
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "collector/clickhouse/failure.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/url.h"
#include "tests/fuzz/fuzz.h"

static void must_show(const char *text)
{
	uint32_t code;

	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		n = utf8_next(text, left, &code);
		must(n && utf8_shows(code));
	}
}

static void url(const char *text)
{
	char shown[CLICKHOUSE_HOSTS_MAX * CLICKHOUSE_HOST_TEXT + 256];
	struct clickhouse_url url;
	struct err_text err = {{0}};

	if (clickhouse_url_parse(text, &url, &err) < 0) {
		must(err.text[0] != '\0');
		return;
	}
	must(url.count > 0 && url.count <= CLICKHOUSE_HOSTS_MAX);
	must(!strpbrk(url.user, "\r\n") && !strpbrk(url.password, "\r\n"));
	must(url.database[0] && !strpbrk(url.database, "`'\\ /;"));
	must(!strpbrk(url.cluster, "`'\\ /;"));
	for (size_t i = 0; i < url.count; i++)
		must(url.hosts[i].port && url.hosts[i].name[0] &&
		     !strpbrk(url.hosts[i].name, "/?#@ %\r\n"));
	must(!strchr(clickhouse_url_format(&url, shown, sizeof(shown)), '\n'));
	clickhouse_url_clear(&url);
}

static void exception(const char *body, size_t length)
{
	char text[FAILURE_TEXT] = "";

	must(failure_exception(body, length, text) >= 0);
	must_show(text);
	text[0] = '\0';
	must(failure_appended(body, length, text) >= 0);
	must_show(text);
	failure_show(body, length, text);
	must_show(text);
}

static void rows(const uint8_t *data, size_t size)
{
	struct reader r = reader_of(data, size);

	while (reader_more(&r)) {
		size_t length = 0, count;
		const char *text;
		uint8_t id[ROW_ID_SIZE];

		row_get_u8(&r);
		row_get_u16(&r);
		row_get_u32(&r);
		row_get_i64(&r);
		row_get_id(&r, id);
		text = row_get_bytes(&r, 1000, &length);
		must(!text || length <= 1000);
		if (text)
			fuzz_touch((const uint8_t *)text, length);
		count = row_get_count(&r, 100);
		must(count <= 100);
		while (count--)
			row_get_u64(&r);
		must(r.offset <= size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[8192];

	if (!size || size > sizeof(text))
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (data[0] == 'u')
		url(text);
	else if (data[0] == 'e')
		exception((const char *)data + 1, size - 1);
	else
		rows(data + 1, size - 1);
	return 0;
}

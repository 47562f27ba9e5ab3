/* Parsing and formatting of numbers for people. parse.h describes the interface. */
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <strings.h>

#include "base/ban.h"

int parse_u64(const char *text, uint64_t *ret_value)
{
	char *end;
	uint64_t value;
	int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, base);
	if (errno)
		return -ERANGE;
	if (*end)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

/*
 * Takes the digits at *text into *value as long as there is room, and moves *text behind all of
 * them. Returns their count; *ret_left_out is the count of those for which there was no room.
 */
static unsigned take_digits(const char **text, uint64_t *value, unsigned *ret_left_out)
{
	unsigned count = 0, taken = 0;

	for (; isdigit((unsigned char)**text); ++*text, count++)
		if (*value <= (UINT64_MAX - 9) / 10) {
			*value = *value * 10 + (uint64_t)(**text - '0');
			taken++;
		}
	*ret_left_out = count - taken;
	return count;
}

static double power_of_ten(unsigned exponent)
{
	double power = 1;

	while (exponent--)
		power *= 10; /* exact up to 10^22 */
	return power;
}

/*
 * Parses a decimal number at *text, without sign, exponent, "inf" or "nan", and moves *text behind
 * it. All digits together are one whole number, and that is divided once: so 1.001 is the nearest
 * double, on every processor. If tenths and hundredths were added one by one, each would be
 * rounded, and otherwise by processors that multiply and add in one step.
 */
static int parse_decimal(const char **text, double *ret_value)
{
	unsigned whole, whole_left_out, fraction = 0, fraction_left_out = 0;
	const char *p = *text;
	uint64_t digits = 0;

	whole = take_digits(&p, &digits, &whole_left_out);
	if (*p == '.') {
		p++;
		fraction = take_digits(&p, &digits, &fraction_left_out);
	}
	if (!whole && !fraction)
		return -EINVAL;
	*text = p;
	*ret_value = (double)digits / power_of_ten(fraction - fraction_left_out);
	if (whole_left_out)
		*ret_value *= power_of_ten(whole_left_out);
	return 0;
}

/* The value is less than 2^64. */
static uint64_t nearest_whole(double value)
{
	uint64_t down = (uint64_t)value;

	return down + (value - (double)down >= 0.5);
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "KMGT";
	double value;
	int r = parse_decimal(&text, &value);
	const char *unit;

	if (r < 0)
		return r;
	unit = *text ? strchr(units, toupper((unsigned char)*text)) : NULL;
	if (unit) {
		value = ldexp(value, 10 * (int)(unit - units + 1));
		text++;
		if (*text == 'i')
			text++;
	}
	if (*text == 'B' || *text == 'b')
		text++;
	if (*text)
		return -EINVAL;
	if (value >= 18446744073709551616.0) /* 2^64 */
		return -ERANGE;
	*ret_bytes = nearest_whole(value);
	return 0;
}

/* `bare_ns` is the unit of a bare number after this unit (minutes in 1h30); 0 refuses it. */
static const struct duration_unit {
	const char *name;
	double ns, bare_ns;
} duration_units[] = {{"ns", 1, 0},  {"us", 1e3, 0},   {"ms", 1e6, 0},	    {"min", 6e10, 1e9},
		      {"s", 1e9, 0}, {"m", 6e10, 1e9}, {"h", 3.6e12, 6e10}, {"d", 8.64e13, 0}};

static const struct duration_unit *find_unit(const char *text)
{
	const size_t count = sizeof(duration_units) / sizeof(duration_units[0]);

	for (const struct duration_unit *u = duration_units; u < duration_units + count; u++) {
		size_t n = strlen(u->name);

		if (!strncmp(text, u->name, n) && !isalpha((unsigned char)text[n]))
			return u;
	}
	return NULL;
}

int parse_duration(const char *text, uint64_t *ret_ns)
{
	double total = 0, bare_ns = 1e9;

	if (!*text)
		return -EINVAL;
	while (*text) {
		double value, scale = 0;
		int r = parse_decimal(&text, &value);

		if (r < 0)
			return r;
		if (!*text) {
			scale = bare_ns;
		} else {
			const struct duration_unit *unit = find_unit(text);

			if (!unit)
				return -EINVAL;
			scale = unit->ns;
			bare_ns = unit->bare_ns;
			text += strlen(unit->name);
		}
		if (!scale)
			return -EINVAL;
		total += value * scale;
	}
	if (total >= 1.8e19)
		return -ERANGE;
	*ret_ns = nearest_whole(total);
	return 0;
}

#define WALL_SECONDS_MAX 9223372036 /* of an int64_t in ns */

static int wall_of(int64_t seconds, uint64_t *ret_ns)
{
	if (seconds < 0 || seconds > WALL_SECONDS_MAX)
		return -ERANGE;
	*ret_ns = (uint64_t)seconds * 1000000000u;
	return 0;
}

int parse_wall(const char *text, uint64_t *ret_ns)
{
	struct tm tm = {.tm_isdst = -1};
	const char *rest;
	uint64_t seconds;

	if (*text == '@') {
		int r = parse_u64(text + 1, &seconds);

		if (r < 0)
			return r;
		return seconds > WALL_SECONDS_MAX ? -ERANGE : wall_of((int64_t)seconds, ret_ns);
	}
	rest = strptime(text, "%Y-%m-%d", &tm);
	if (!rest || (*rest != ' ' && *rest != 'T'))
		return -EINVAL;
	rest = strptime(rest + 1, "%H:%M", &tm);
	if (rest && *rest == ':')
		rest = strptime(rest, ":%S", &tm);
	if (!rest || (*rest && strcmp(rest, "Z") != 0))
		return -EINVAL;
	return wall_of(*rest ? timegm(&tm) : mktime(&tm), ret_ns);
}

int parse_switch(const char *text, bool *ret_on)
{
	static const char *const words[] = {"",	    "1",     "0",  "yes", "no",
					    "true", "false", "on", "off"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(text, words[i])) {
			*ret_on = i % 2;
			return 0;
		}
	return -EINVAL;
}

int parse_endpoint(const char *text, char *ret_host, unsigned size, uint16_t *ret_port)
{
	const char *host = text, *port = NULL;
	size_t length = strlen(text);
	uint64_t number = 0;

	if (text[0] == '[') {
		const char *close = strchr(text, ']');

		if (!close)
			return -EINVAL;
		host = text + 1;
		length = (size_t)(close - host);
		if (close[1] == ':')
			port = close + 2;
		else if (close[1])
			return -EINVAL;
	} else {
		const char *colon = strchr(text, ':');

		if (colon && !strchr(colon + 1, ':')) {
			length = (size_t)(colon - text);
			port = colon + 1;
		}
	}
	if (!length || length >= size)
		return -EINVAL;
	if (port && (parse_u64(port, &number) < 0 || number == 0 || number > 65535))
		return -EINVAL;
	memcpy(ret_host, host, length);
	ret_host[length] = 0;
	*ret_port = (uint16_t)number;
	return 0;
}

char *format_size(char *out, double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double size = fabs(bytes);
	unsigned unit = 0;

	while (size >= 999.5 && unit < 5) {
		size /= 1024;
		unit++;
	}
	snprintf(out, 32, "%s%.*f %s", bytes < 0 ? "-" : "",
		 unit && size < 99.95 ? (size < 9.995 ? 2 : 1) : 0, size, units[unit]);
	return out;
}

static void format_two(char *out, uint64_t large, const char *large_unit, uint64_t small,
		       const char *small_unit)
{
	int n = snprintf(out, 32, "%" PRIu64 " %s", large, large_unit);

	if (small)
		snprintf(out + n, 32 - (size_t)n, " %" PRIu64 " %s", small, small_unit);
}

char *format_duration(char *out, uint64_t ns)
{
	/* Each bound is where rounding would show the next unit: 999.95 us is 1.0 ms. */
	if (ns < 1000)
		snprintf(out, 32, "%u ns", (unsigned)ns);
	else if (ns < 999950)
		snprintf(out, 32, "%.1f us", (double)ns / 1e3);
	else if (ns < 999950000)
		snprintf(out, 32, "%.1f ms", (double)ns / 1e6);
	else if (ns < 119995000000)
		snprintf(out, 32, "%.2f s", (double)ns / 1e9);
	else if (ns < 7200000000000)
		format_two(out, ns / 60000000000, "min", ns / 1000000000 % 60, "s");
	else
		format_two(out, ns / 3600000000000, "h", ns / 60000000000 % 60, "min");
	return out;
}

char *format_count(char *out, uint64_t count)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count), to = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			out[to++] = ',';
		out[to++] = digits[i];
	}
	out[to] = 0;
	return out;
}

char *format_counted(char *out, uint64_t count, const char *noun)
{
	char digits[32];

	snprintf(out, FORMAT_COUNTED, "%s %.28s%s", format_count(digits, count), noun,
		 count == 1 ? "" : "s");
	return out;
}

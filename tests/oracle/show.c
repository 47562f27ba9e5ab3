/* check-show FILE...: adds up the reports of the check build (agent/preload/check/report.h) and
 * prints them, "name value" a line; then the classes of what was found, the most frequent first; then the first differences in full. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/preload/check/report.h"

#define CLASSES_MAX 4096

static struct report sum;
static struct report_class classes[CLASSES_MAX];
static size_t class_count;

static const struct {
	const char *name;
	size_t offset;
} counters[] = {
	{"events", offsetof(struct report, events)},
	{"compared", offsetof(struct report, compared)},
	{"frames", offsetof(struct report, frames)},
	{"differences", offsetof(struct report, differences)},
	{"unsound", offsetof(struct report, unsound)},
	{"skipped", offsetof(struct report, skipped)},
	{"truncated", offsetof(struct report, truncated)},
	{"numbered", offsetof(struct report, numbered)},
	{"oracle", offsetof(struct report, oracle)},
	{"oracle_equal", offsetof(struct report, oracle_equal)},
	{"oracle_different", offsetof(struct report, oracle_different)},
	{"oracle_busy", offsetof(struct report, oracle_busy)},
	{"unclassed", offsetof(struct report, unclassed)},
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static uint64_t *counter(struct report *report, size_t index)
{
	return (uint64_t *)(void *)((char *)report + counters[index].offset);
}

static void add_class(const struct report_class *more)
{
	for (size_t i = 0; i < class_count; i++)
		if (!strcmp(classes[i].text, more->text)) {
			classes[i].count += more->count;
			return;
		}
	if (class_count < CLASSES_MAX)
		classes[class_count++] = *more;
}

static int add_file(const char *path, struct report *report)
{
	FILE *file = fopen(path, "rb");

	if (!file || fread(report, sizeof(*report), 1, file) != 1 ||
	    report->magic != REPORT_MAGIC) {
		fprintf(stderr, "%s is no report of the check build\n", path);
		return 1;
	}
	fclose(file);
	for (size_t i = 0; i < COUNTERS; i++)
		*counter(&sum, i) += *counter(report, i);
	for (size_t i = 0; i < REPORT_CLASSES; i++)
		if (report->classes[i].key)
			add_class(&report->classes[i]);
	report->text[sizeof(report->text) - 1] = '\0';
	if (!sum.text[0])
		memcpy(sum.text, report->text, sizeof(sum.text));
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct report_class *left = a, *right = b;

	return (left->count < right->count) - (left->count > right->count);
}

int main(int argc, char **argv)
{
	struct report *report = malloc(sizeof(*report));
	int status = !report;

	for (int i = 1; i < argc && !status; i++)
		status = add_file(argv[i], report);
	free(report);
	for (size_t i = 0; i < COUNTERS; i++)
		printf("%s %llu\n", counters[i].name, (unsigned long long)*counter(&sum, i));
	qsort(classes, class_count, sizeof(classes[0]), by_count);
	for (size_t i = 0; i < class_count; i++)
		printf("class %llu %s\n", (unsigned long long)classes[i].count, classes[i].text);
	fputs(sum.text, stdout);
	return status;
}

/* Keeps recent answers. See kept_answers.h. */
#include "collector/http/server/kept_answers.h"

#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

void kept_answers_init(struct kept_answers *kept)
{
	*kept = (struct kept_answers){.bytes = 0};
	pthread_mutex_init(&kept->lock, NULL);
}

static void kept_answers_drop(struct kept_answers *kept, struct kept_answer *answer)
{
	kept->count--;
	kept->bytes -= answer->body.length;
	free(answer->question);
	buf_done(&answer->body);
	*answer = (struct kept_answer){.question = NULL};
}

void kept_answers_clear(struct kept_answers *kept)
{
	pthread_mutex_lock(&kept->lock);
	for (unsigned i = 0; i < KEPT_ANSWERS; i++)
		if (kept->list[i].question)
			kept_answers_drop(kept, &kept->list[i]);
	pthread_mutex_unlock(&kept->lock);
}

void kept_answers_done(struct kept_answers *kept)
{
	kept_answers_clear(kept);
	pthread_mutex_destroy(&kept->lock);
}

char *kept_question(const char *route, const struct request *request)
{
	struct buf text = {0};
	size_t length;

	buf_string(&text, route);
	for (size_t i = 0; i < request->parameter_count; i++) {
		const struct parameter *p = &request->parameters[i];

		/* The lengths make the key unambiguous, as a value may contain any character. */
		buf_printf(&text, "&%zu,%zu:%s=%s", strlen(p->name), strlen(p->value), p->name,
			   p->value);
	}
	buf_byte(&text, 0);
	if (buf_error(&text))
		buf_done(&text);
	return (char *)buf_take(&text, &length);
}

static struct kept_answer *kept_answers_find(struct kept_answers *kept, const char *question)
{
	for (unsigned i = 0; i < KEPT_ANSWERS; i++)
		if (kept->list[i].question && !strcmp(kept->list[i].question, question))
			return &kept->list[i];
	return NULL;
}

bool kept_answers_get(struct kept_answers *kept, const char *question, struct buf *out)
{
	struct kept_answer *answer;

	pthread_mutex_lock(&kept->lock);
	answer = kept_answers_find(kept, question);
	if (answer) {
		answer->used = ++kept->uses;
		buf_append(out, answer->body.data, answer->body.length);
	}
	pthread_mutex_unlock(&kept->lock);
	return answer;
}

static struct kept_answer *oldest(struct kept_answers *kept)
{
	struct kept_answer *oldest = NULL;

	for (unsigned i = 0; i < KEPT_ANSWERS; i++)
		if (kept->list[i].question && (!oldest || kept->list[i].used < oldest->used))
			oldest = &kept->list[i];
	return oldest;
}

void kept_answers_put(struct kept_answers *kept, const char *question, const struct buf *body)
{
	struct kept_answer *answer;

	if (body->length > KEPT_ANSWER_BYTES_MAX)
		return;
	pthread_mutex_lock(&kept->lock);
	answer = kept_answers_find(kept, question);
	if (answer)
		kept_answers_drop(kept, answer);
	if (kept->count == KEPT_ANSWERS)
		kept_answers_drop(kept, oldest(kept));
	while (kept->count && kept->bytes + body->length > KEPT_ANSWERS_BYTES_MAX)
		kept_answers_drop(kept, oldest(kept));
	for (answer = kept->list; answer->question;)
		answer++;
	answer->question = strdup(question);
	if (answer->question) {
		kept->count++;
		answer->used = ++kept->uses;
		buf_append(&answer->body, body->data, body->length);
		kept->bytes += answer->body.length;
		if (buf_error(&answer->body))
			kept_answers_drop(kept, answer);
	}
	pthread_mutex_unlock(&kept->lock);
}

/* Keeps the logins of browsers. See logins.h. */
#include "collector/http/server/logins.h"

#include <string.h>

#include "collector/http/server/token.h"

#include "base/ban.h"

int logins_add(struct logins *logins, uint64_t now_ms, char ret_value[LOGIN_TEXT])
{
	struct login *oldest = &logins->list[0];
	int r = pair_code_make(ret_value);

	if (r < 0)
		return r;
	for (unsigned i = 1; i < LOGINS_MAX; i++)
		if (logins->list[i].until_ms < oldest->until_ms)
			oldest = &logins->list[i];
	memcpy(oldest->value, ret_value, LOGIN_TEXT);
	oldest->until_ms = now_ms + LOGIN_SECONDS * 1000;
	return 0;
}

bool logins_know(const struct logins *logins, const char *value, uint64_t now_ms)
{
	bool known = false;

	for (unsigned i = 0; i < LOGINS_MAX; i++) {
		const struct login *l = &logins->list[i];

		known |= l->value[0] && token_is_same(l->value, value) && now_ms < l->until_ms;
	}
	return known;
}

void logins_remove(struct logins *logins, const char *value)
{
	for (unsigned i = 0; i < LOGINS_MAX; i++)
		if (logins->list[i].value[0] && token_is_same(logins->list[i].value, value))
			logins->list[i] = (struct login){0};
}

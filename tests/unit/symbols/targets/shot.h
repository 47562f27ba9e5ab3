#pragma once
/* Where a call came from, as the target says it. */
struct shot {
	void (*shoot)(struct shot *shot);
	void *return_address;
	int lines[3]; /* of the call of shoot, of innermost, of between */
};

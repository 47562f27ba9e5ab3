/* Pairing codes. pair_code.h describes their form. */
#include "base/secure/pair_code.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/secure/secret_hmac.h"
#include "base/ban.h"

#define CODE_BYTES  16
#define LETTER_BITS 5

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

int pair_code_make(char ret[PAIR_CODE_LETTERS + 1])
{
	uint8_t bytes[CODE_BYTES + 1] = {0}; /* 26 letters hold two bits more than the code */

	if (getrandom(bytes, CODE_BYTES, 0) != CODE_BYTES)
		return -EIO;
	for (unsigned i = 0; i < PAIR_CODE_LETTERS; i++) {
		unsigned bit = i * LETTER_BITS,
			 two = (unsigned)bytes[bit / 8] << 8 |
			       (bit / 8 < CODE_BYTES ? bytes[bit / 8 + 1] : 0);

		ret[i] = letters[two >> (16 - LETTER_BITS - bit % 8) & 31];
	}
	ret[PAIR_CODE_LETTERS] = '\0';
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

/* Stores the five bits of a letter at their position. */
static void pair_code_put(uint8_t bytes[CODE_BYTES + 1], unsigned letter, unsigned value)
{
	unsigned bit = letter * LETTER_BITS, two = value << (16 - LETTER_BITS - bit % 8);

	bytes[bit / 8] |= (uint8_t)(two >> 8);
	if (bit / 8 < CODE_BYTES)
		bytes[bit / 8 + 1] |= (uint8_t)two;
}

/* Returns the number of letters, or -EINVAL if the text contains another character. */
static int pair_code_decode(const char *text, size_t length, uint8_t bytes[CODE_BYTES + 1])
{
	int count = 0;

	for (size_t i = 0; i < length; i++) {
		int c = toupper((unsigned char)text[i]);
		const char *at = c ? strchr(letters, c) : NULL;

		if (c == ' ' || c == '\t' || c == '-')
			continue;
		if (!at)
			return -EINVAL;
		if (count < PAIR_CODE_LETTERS)
			pair_code_put(bytes, (unsigned)count, (unsigned)(at - letters));
		count++;
	}
	return count;
}

/* Explains an invalid code, without revealing it. */
static int complain(int count, struct err_text *err)
{
	if (count < 0)
		return err_set(err, -EINVAL,
			       "that is no code: it holds something else than letters and the "
			       "digits 2 to 7 ('collector pair' prints one)");
	if (count != PAIR_CODE_LETTERS)
		return err_set(err, -EINVAL,
			       "that is no code: it has %d letters, and 'collector pair' has "
			       "printed %d",
			       count, PAIR_CODE_LETTERS);
	return err_set(err, -EINVAL,
		       "that is no code that 'collector pair' has printed: its last letter is "
		       "wrong");
}

int pair_code_secret(const char *text, size_t length, struct secret *ret, struct err_text *err)
{
	static const char purpose[] = "heapcast pairing code";
	uint8_t bytes[CODE_BYTES + 1] = {0}, key[SECRET_MAC_SIZE];
	int count = pair_code_decode(text, length, bytes), r;

	if (count != PAIR_CODE_LETTERS || bytes[CODE_BYTES]) {
		explicit_bzero(bytes, sizeof(bytes)); /* may hold most of a valid code */
		return complain(count, err);
	}
	r = secret_hmac(bytes, CODE_BYTES, purpose, strlen(purpose), key);
	if (!r)
		r = secret_make(key, sizeof(key), "pairing", ret);
	explicit_bzero(bytes, sizeof(bytes));
	explicit_bzero(key, sizeof(key));
	return r < 0 ? err_set(err, r,
			       "pairing needs TLS, and there is none here: this build was made "
			       "without it (HEAPCAST_TLS=OFF), or OpenSSL 3 is not installed "
			       "(Debian: package libssl3)")
		     : 0;
}

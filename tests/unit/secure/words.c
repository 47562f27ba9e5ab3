/*
 * The sentences about a handshake that failed, each of them, and for whom; and dates of
 * certificates, to the second. OpenSSL's part is played by the test.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/secure/secure_state.h"

#define ALERT(a) (SSL_AD_REASON_OFFSET + (a))
#define NO_KEY	 "it does not have our key (--key): it has another one, or wants certificates"
#define NO_PAIR                                                                                    \
	"it does not have our key (the pair may have been revoked): 'collector pair' and 'agent "  \
	"pair CODE' make a new one"
#define NO_CERT	 "it does not take our certificate: does it want a key (--key)?"
#define NO_TLS	 "it speaks no TLS: give --key there, too (or a certificate)"
#define NOT_OURS "its certificate is not signed by our CA"
#define REFUSES	 "it refuses our certificate"
#define CORRUPT	 "what came was not what was sent (TLS error "

static struct err_text err;

static int words(struct secure_session *s, bool by_key, bool paired, int reason)
{
	struct secure secure = {.by_key = by_key, .paired = paired};

	err = (struct err_text){{0}};
	s->secure = &secure;
	return secure_words(s, ERR_PACK(ERR_LIB_SSL, 0, reason), &err);
}

static void expect(struct secure_session s, bool by_key, bool paired, int reason, int result,
		   const char *text)
{
	assert_int_equal(words(&s, by_key, paired, reason), result);
	assert_string_equal(err.text, text);
}

static void alerts(void **state)
{
	static const struct {
		int alert;
		const char *by_key, *paired, *by_file;
	} list[] = {
		{SSL_AD_HANDSHAKE_FAILURE, NO_KEY, NO_PAIR, NO_CERT},
		{SSL_AD_ILLEGAL_PARAMETER, NO_KEY, NO_PAIR, NO_CERT},
		{SSL_AD_DECRYPT_ERROR, NO_KEY, NO_PAIR, NO_CERT},
		{TLS1_AD_UNKNOWN_PSK_IDENTITY, NO_KEY, NO_PAIR, NO_CERT},
		{SSL_AD_CERTIFICATE_EXPIRED,
		 "it says that our certificate is not in date (or its clock is wrong)", NULL, NULL},
		{SSL_AD_UNKNOWN_CA, "it says that our certificate is not signed by its CA", NULL,
		 NULL},
		{TLS13_AD_CERTIFICATE_REQUIRED,
		 "it wants a certificate: give --cert, --cert-key and --ca", NULL, NULL},
		{SSL_AD_BAD_CERTIFICATE, REFUSES, NULL, NULL},
		{SSL_AD_UNSUPPORTED_CERTIFICATE, REFUSES, NULL, NULL},
		{SSL_AD_CERTIFICATE_UNKNOWN, REFUSES, NULL, NULL},
		{SSL_AD_CERTIFICATE_REVOKED, REFUSES, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		for (int done = 0; done < 2; done++) {
			const struct secure_session s = {.done = done};
			int reason = ALERT(list[i].alert);
			const char *same = list[i].by_key;

			expect(s, true, false, reason, -EACCES, same);
			expect(s, true, true, reason, -EACCES,
			       list[i].paired ? list[i].paired : same);
			expect(s, false, false, reason, -EACCES,
			       list[i].by_file ? list[i].by_file : same);
		}
	expect((struct secure_session){0}, true, false, ALERT(SSL_AD_PROTOCOL_VERSION), -EPROTO,
	       "it speaks no TLS 1.3: give --key there, too (or a certificate)");
	/* Of others it says the number. */
	expect((struct secure_session){.done = true}, true, false, ALERT(SSL_AD_INTERNAL_ERROR),
	       -EPROTO, CORRUPT "1080)");
	expect((struct secure_session){0}, false, false, ALERT(SSL_AD_INTERNAL_ERROR), -EACCES,
	       "the handshake failed (TLS error 1080)");
	expect((struct secure_session){0}, false, false, ALERT(0), -EACCES,
	       "the handshake failed (TLS error 1000)");
}

static void what_is_no_tls(void **state)
{
	static const int reasons[] = {
		SSL_R_WRONG_VERSION_NUMBER,   SSL_R_HTTP_REQUEST,
		SSL_R_HTTPS_PROXY_REQUEST,    SSL_R_UNEXPECTED_MESSAGE,
		SSL_R_RECORD_LENGTH_MISMATCH, SSL_R_ENCRYPTED_LENGTH_TOO_LONG,
		SSL_R_DATA_LENGTH_TOO_LONG,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		char corrupt[80];

		snprintf(corrupt, sizeof(corrupt), CORRUPT "%d)", reasons[i]);
		expect((struct secure_session){0}, true, false, reasons[i], -EPROTO, NO_TLS);
		expect((struct secure_session){.accepted = true}, false, false, reasons[i], -EPROTO,
		       NO_TLS);
		expect((struct secure_session){.done = true}, true, false, reasons[i], -EPROTO,
		       corrupt);
	}
}

static void keys(void **state)
{
	const int reason = SSL_R_NO_SUITABLE_KEY_SHARE;
	const struct secure_session none = {.accepted = true},
				    other = {.accepted = true, .offered = true},
				    name = {.accepted = true, .offered = true, .known = true};

	(void)state;
	expect(none, true, false, reason, -EACCES,
	       "it has no key (--key); does it have a certificate instead?");
	expect(other, true, false, reason, -EACCES, "wrong key: it has another one (--key)");
	expect(name, true, false, reason, -EACCES,
	       "wrong key: it knows the name of ours, and not the key itself");
	expect(none, true, true, reason, -EACCES,
	       "it has no key: 'agent pair CODE' makes one, with the code of 'collector pair'");
	expect(other, true, true, reason, -EACCES,
	       "wrong key: it has another one (or its pair was revoked)");
	expect(name, true, true, reason, -EACCES,
	       "wrong key: it knows the name of ours, and not the key itself");
	expect((struct secure_session){.certificate_error = 1}, true, false, reason, -EACCES,
	       "it shows a certificate, and does not have our key (--key)");
	expect((struct secure_session){0}, true, false, SSL_R_CERTIFICATE_VERIFY_FAILED, -EACCES,
	       "it shows a certificate, and does not have our key (--key)");
	expect((struct secure_session){0}, true, false, 101, -EACCES,
	       "the handshake failed (TLS error 101)");
	expect((struct secure_session){0}, false, false, SSL_R_CERTIFICATE_VERIFY_FAILED, -EACCES,
	       "the handshake failed (TLS error 134)");
}

static void certificates(void **state)
{
	static const int not_ours[] = {
		X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
		X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
		X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
		X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
		X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
		X509_V_ERR_CERT_SIGNATURE_FAILURE,
	};
	const int reason = SSL_R_CERTIFICATE_VERIFY_FAILED;
	struct secure_session s = {.certificate_date = {.tm_year = 121, .tm_mon = 1, .tm_mday = 3}};

	(void)state;
	for (size_t i = 0; i < sizeof(not_ours) / sizeof(not_ours[0]); i++) {
		s.certificate_error = not_ours[i];
		expect(s, false, false, reason, -EACCES, NOT_OURS);
	}
	s.certificate_error = X509_V_ERR_INVALID_PURPOSE;
	expect(s, false, false, reason, -EACCES,
	       "its certificate is made for another purpose: give it both, serverAuth and "
	       "clientAuth");
	s.certificate_error = X509_V_ERR_CERT_REVOKED;
	expect(s, false, false, reason, -EACCES, "its certificate is no good (X.509 error 23)");
	s.certificate_error = X509_V_ERR_CERT_HAS_EXPIRED;
	expect(s, false, false, reason, -EACCES,
	       "its certificate has expired on 2021-02-03 00:00 UTC");
	s.certificate_error = X509_V_ERR_CERT_NOT_YET_VALID;
	assert_int_equal(words(&s, false, false, reason), -EACCES);
	assert_memory_equal(err.text,
			    "its certificate is valid only from 2021-02-03 00:00 UTC on, and here "
			    "it is 20",
			    76);
	expect((struct secure_session){0}, false, false, SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE,
	       -EACCES, "it shows no certificate");
}

/* ---- dates ---- */

static time_t clock_says; /* 0: the truth */

time_t time(time_t *ret)
{
	struct timespec now = {.tv_sec = clock_says};

	if (!clock_says)
		clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}

static const ASN1_TIME *const begin = (const void *)"begin", *const end = (const void *)"end";
static struct tm begin_date, end_date;
static bool begin_readable, end_readable;

static const ASN1_TIME *fake_begin(const X509 *certificate)
{
	(void)certificate;
	return begin;
}

static const ASN1_TIME *fake_end(const X509 *certificate)
{
	(void)certificate;
	return end;
}

static int fake_date(const ASN1_TIME *date, struct tm *ret)
{
	*ret = date == begin ? begin_date : end_date;
	return date == begin ? begin_readable : end_readable;
}

static int check_dates(time_t from, time_t to)
{
	const struct openssl fake = {.X509_get0_notBefore = fake_begin,
				     .X509_get0_notAfter = fake_end,
				     .ASN1_TIME_to_tm = fake_date};

	gmtime_r(&from, &begin_date);
	gmtime_r(&to, &end_date);
	err = (struct err_text){{0}};
	return secure_check_dates(&fake, NULL, "it", &err);
}

static void dates(void **state)
{
	time_t now = time(NULL);

	(void)state;
	begin_readable = end_readable = true;
	assert_false(secure_clock_unset());
	assert_int_equal(check_dates(now - 1, now + 1000), 0);
	assert_int_equal(check_dates(now, now + 1000), 0);
	assert_int_equal(check_dates(0, now + 60), 0);
	assert_string_equal(err.text, "");
	assert_int_equal(check_dates(now + 1000, now + 2000), -EINVAL);
	assert_memory_equal(err.text, "it is valid only from 2", 23);
	assert_int_equal(check_dates(0, now - 1), -EINVAL);
	assert_memory_equal(err.text, "it has expired on 2", 19);
	assert_int_equal(check_dates(0, 86400), -EINVAL);
	assert_string_equal(err.text, "it has expired on 1970-01-02 00:00 UTC");
	begin_readable = false;
	assert_int_equal(check_dates(0, now + 1000), -EINVAL);
	assert_string_equal(err.text, "it has dates that make no sense");
	begin_readable = true;
	end_readable = false;
	assert_int_equal(check_dates(0, now + 1000), -EINVAL);
	assert_string_equal(err.text, "it has dates that make no sense");
}

/* A board whose clock was never set can't tell, and says so. */
static void clock_that_is_not_set(void **state)
{
	const time_t built = 1767225600, released = 1600000000; /* after and before any build */
	struct secure_session s = {.certificate_error = X509_V_ERR_CERT_NOT_YET_VALID,
				   .certificate_date = {.tm_year = 126, .tm_mday = 1}};

	(void)state;
	begin_readable = end_readable = true;
	clock_says = 86400;
	assert_true(secure_clock_unset());
	assert_int_equal(check_dates(built, built + 1000), 1);
	assert_string_equal(
		err.text, "the clock of this machine says 1970-01-02 00:00 UTC, so it can't tell "
			  "whether it is in date (it begins 2026-01-01 00:00 UTC): set the clock");
	assert_int_equal(check_dates(0, built), 0);
	assert_int_equal(words(&s, false, false, SSL_R_CERTIFICATE_VERIFY_FAILED), -EACCES);
	assert_memory_equal(err.text, "the clock of this machine says 1970-01-02", 41);
	clock_says = released;
	assert_true(secure_clock_unset());
	clock_says = INT32_MAX;
	assert_false(secure_clock_unset());
	assert_int_equal(check_dates(built, built + 1000), -EINVAL);
	assert_string_equal(err.text, "it has expired on 2026-01-01 00:16 UTC");
	clock_says = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alerts), cmocka_unit_test(what_is_no_tls),
		cmocka_unit_test(keys),	  cmocka_unit_test(certificates),
		cmocka_unit_test(dates),  cmocka_unit_test(clock_that_is_not_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Explains, in sentences that name the remedy, why a peer was refused. secure_state.h declares the
 * functions.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/secure/secure_state.h"
#include "base/ban.h"

#define CLOCK_LEAST 1704067200 /* 2024-01-01; an earlier clock was never set */
#define DATE_TEXT   40

static const char *date_text(const struct tm *date, char out[DATE_TEXT])
{
	if (!strftime(out, DATE_TEXT, "%Y-%m-%d %H:%M UTC", date))
		*out = '\0';
	return out;
}

bool secure_clock_unset(void)
{
	return time(NULL) < CLOCK_LEAST;
}

static int not_yet(const char *whose, const struct tm *date, struct err_text *err)
{
	time_t now = time(NULL);
	char begins[DATE_TEXT], today[DATE_TEXT];
	struct tm parts;

	gmtime_r(&now, &parts);
	date_text(&parts, today);
	date_text(date, begins);
	if (secure_clock_unset())
		return err_set(err, -EACCES,
			       "the clock of this machine says %s, so it can't tell whether %s is "
			       "in date (it begins %s): set the clock",
			       today, whose, begins);
	return err_set(err, -EACCES, "%s is valid only from %s on, and here it is %s", whose,
		       begins, today);
}

static int expired(const char *whose, const struct tm *date, struct err_text *err)
{
	char text[DATE_TEXT];

	return err_set(err, -EACCES, "%s has expired on %s", whose, date_text(date, text));
}

int secure_check_dates(const struct openssl *o, const X509 *certificate, const char *whose,
		       struct err_text *err)
{
	struct tm begin, end;
	time_t now = time(NULL);

	if (!o->ASN1_TIME_to_tm(o->X509_get0_notBefore(certificate), &begin) ||
	    !o->ASN1_TIME_to_tm(o->X509_get0_notAfter(certificate), &end))
		return err_set(err, -EINVAL, "%s has dates that make no sense", whose);
	if (now < timegm(&begin)) {
		not_yet(whose, &begin, err);
		return secure_clock_unset() ? 1 : -EINVAL;
	}
	if (now > timegm(&end)) {
		expired(whose, &end, err);
		return -EINVAL;
	}
	return 0;
}

static int certificate_words(const struct secure_session *s, struct err_text *err)
{
	switch (s->certificate_error) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return expired("its certificate", &s->certificate_date, err);
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return not_yet("its certificate", &s->certificate_date, err);
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
		return err_set(err, -EACCES, "its certificate is not signed by our CA");
	case X509_V_ERR_INVALID_PURPOSE:
		return err_set(err, -EACCES,
			       "its certificate is made for another purpose: give it both, "
			       "serverAuth and clientAuth");
	default:
		return err_set(err, -EACCES, "its certificate is no good (X.509 error %d)",
			       s->certificate_error);
	}
}

/* Explains an alert that the peer sent (RFC 8446, 6.2). */
static const char *alert_text(const struct secure *secure, int alert)
{
	bool by_key = secure->by_key;

	switch (alert) {
	case SSL_AD_PROTOCOL_VERSION:
		return "it speaks no TLS 1.3: give --key there, too (or a certificate)";
	case SSL_AD_HANDSHAKE_FAILURE:
	case SSL_AD_ILLEGAL_PARAMETER:
	case SSL_AD_DECRYPT_ERROR:
	case TLS1_AD_UNKNOWN_PSK_IDENTITY:
		return secure->paired
			       ? "it does not have our key (the pair may have been revoked): "
				 "'collector pair' and 'agent pair CODE' make a new one"
		       : by_key ? "it does not have our key (--key): it has another one, or wants "
				  "certificates"
				: "it does not take our certificate: does it want a key (--key)?";
	case SSL_AD_CERTIFICATE_EXPIRED:
		return "it says that our certificate is not in date (or its clock is wrong)";
	case SSL_AD_UNKNOWN_CA:
		return "it says that our certificate is not signed by its CA";
	case TLS13_AD_CERTIFICATE_REQUIRED:
		return "it wants a certificate: give --cert, --cert-key and --ca";
	case SSL_AD_BAD_CERTIFICATE:
	case SSL_AD_UNSUPPORTED_CERTIFICATE:
	case SSL_AD_CERTIFICATE_UNKNOWN:
	case SSL_AD_CERTIFICATE_REVOKED:
		return "it refuses our certificate";
	default:
		return NULL;
	}
}

static int server_key_words(const struct secure_session *s, struct err_text *err)
{
	if (s->secure->paired)
		return err_set(err, -EACCES,
			       !s->offered ? "it has no key: 'agent pair CODE' makes one, with the "
					     "code of 'collector pair'"
			       : s->known ? "wrong key: it knows the name of ours, and not the key "
					    "itself"
					  : "wrong key: it has another one (or its pair was "
					    "revoked)");
	if (!s->offered)
		return err_set(err, -EACCES,
			       "it has no key (--key); does it have a certificate instead?");
	return err_set(err, -EACCES,
		       s->known ? "wrong key: it knows the name of ours, and not the key itself"
				: "wrong key: it has another one (--key)");
}

static bool is_no_tls(int reason)
{
	return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
	       reason == SSL_R_HTTPS_PROXY_REQUEST || reason == SSL_R_UNEXPECTED_MESSAGE ||
	       reason == SSL_R_RECORD_LENGTH_MISMATCH ||
	       reason == SSL_R_ENCRYPTED_LENGTH_TOO_LONG || reason == SSL_R_DATA_LENGTH_TOO_LONG;
}

int secure_words(const struct secure_session *s, unsigned long code, struct err_text *err)
{
	int reason = ERR_GET_REASON(code);
	const char *alert = reason > SSL_AD_REASON_OFFSET
				    ? alert_text(s->secure, reason - SSL_AD_REASON_OFFSET)
				    : NULL;

	if (alert)
		return err_set(err,
			       reason == SSL_AD_REASON_OFFSET + SSL_AD_PROTOCOL_VERSION ? -EPROTO
											: -EACCES,
			       "%s", alert);
	if (s->done)
		return err_set(err, -EPROTO, "what came was not what was sent (TLS error %d)",
			       reason);
	if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
		return err_set(err, -EACCES, "it shows no certificate");
	if (is_no_tls(reason))
		return err_set(err, -EPROTO,
			       "it speaks no TLS: give --key there, too (or a certificate)");
	if (s->certificate_error && !s->secure->by_key)
		return certificate_words(s, err);
	if (s->secure->by_key && s->accepted)
		return server_key_words(s, err);
	if (s->secure->by_key &&
	    (s->certificate_error || reason == SSL_R_CERTIFICATE_VERIFY_FAILED))
		return err_set(err, -EACCES,
			       "it shows a certificate, and does not have our key (--key)");
	return err_set(err, -EACCES, "the handshake failed (TLS error %d)", reason);
}

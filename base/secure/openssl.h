#pragma once
/*
 * OpenSSL 3, loaded only when the user supplies a key or a certificate. Linking with OpenSSL costs
 * a process half a MiB of private memory for relocated tables, and a board without TLS needs
 * neither that memory nor the library. A table holds the functions that we call. Their types come
 * from OpenSSL's own headers, so the compiler checks every call. Only base/ includes this file.
 */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

struct err_text;

#define OPENSSL_OF_CRYPTO(X)                                                                       \
	X(ASN1_TIME_to_tm)                                                                         \
	X(BIO_clear_flags)                                                                         \
	X(BIO_free)                                                                                \
	X(BIO_get_data)                                                                            \
	X(BIO_get_new_index)                                                                       \
	X(BIO_meth_free)                                                                           \
	X(BIO_meth_new)                                                                            \
	X(BIO_meth_set_ctrl)                                                                       \
	X(BIO_meth_set_read)                                                                       \
	X(BIO_meth_set_write)                                                                      \
	X(BIO_new)                                                                                 \
	X(BIO_new_mem_buf)                                                                         \
	X(BIO_set_data)                                                                            \
	X(BIO_set_flags)                                                                           \
	X(BIO_set_init)                                                                            \
	X(ERR_clear_error)                                                                         \
	X(ERR_peek_error)                                                                          \
	X(EVP_Digest)                                                                              \
	X(EVP_PKEY_free)                                                                           \
	X(EVP_sha256)                                                                              \
	X(HMAC)                                                                                    \
	X(OpenSSL_version)                                                                         \
	X(PEM_read_bio_PrivateKey)                                                                 \
	X(X509_STORE_CTX_get_current_cert)                                                         \
	X(X509_STORE_CTX_get_error)                                                                \
	X(X509_STORE_CTX_get_ex_data)                                                              \
	X(X509_get0_notAfter)                                                                      \
	X(X509_get0_notBefore)

#define OPENSSL_OF_SSL(X)                                                                          \
	X(OPENSSL_init_ssl)                                                                        \
	X(SSL_CIPHER_find)                                                                         \
	X(SSL_CTX_check_private_key)                                                               \
	X(SSL_CTX_ctrl)                                                                            \
	X(SSL_CTX_free)                                                                            \
	X(SSL_CTX_get0_certificate)                                                                \
	X(SSL_CTX_load_verify_file)                                                                \
	X(SSL_CTX_new)                                                                             \
	X(SSL_CTX_set_ciphersuites)                                                                \
	X(SSL_CTX_set_num_tickets)                                                                 \
	X(SSL_CTX_set_options)                                                                     \
	X(SSL_CTX_set_psk_find_session_callback)                                                   \
	X(SSL_CTX_set_psk_use_session_callback)                                                    \
	X(SSL_CTX_set_session_id_context)                                                          \
	X(SSL_CTX_set_verify)                                                                      \
	X(SSL_CTX_use_PrivateKey)                                                                  \
	X(SSL_CTX_use_certificate_chain_file)                                                      \
	X(SSL_SESSION_free)                                                                        \
	X(SSL_SESSION_new)                                                                         \
	X(SSL_SESSION_set1_id_context)                                                             \
	X(SSL_SESSION_set1_master_key)                                                             \
	X(SSL_SESSION_set_cipher)                                                                  \
	X(SSL_SESSION_set_protocol_version)                                                        \
	X(SSL_do_handshake)                                                                        \
	X(SSL_export_keying_material)                                                              \
	X(SSL_free)                                                                                \
	X(SSL_get_error)                                                                           \
	X(SSL_get_ex_data)                                                                         \
	X(SSL_get_ex_data_X509_STORE_CTX_idx)                                                      \
	X(SSL_new)                                                                                 \
	X(SSL_read)                                                                                \
	X(SSL_session_reused)                                                                      \
	X(SSL_set_accept_state)                                                                    \
	X(SSL_set_bio)                                                                             \
	X(SSL_set_connect_state)                                                                   \
	X(SSL_set_ex_data)                                                                         \
	X(SSL_shutdown)                                                                            \
	X(SSL_write)                                                                               \
	X(TLS_method)

struct openssl {
#define OPENSSL_FIELD(name) __typeof__(name) *name;
	OPENSSL_OF_CRYPTO(OPENSSL_FIELD)
	OPENSSL_OF_SSL(OPENSSL_FIELD)
#undef OPENSSL_FIELD
};

/*
 * Returns the table, which is filled once; any thread may call this. Returns NULL, with a sentence
 * in `err`, if the library cannot be loaded.
 */
const struct openssl *openssl_load(struct err_text *err);

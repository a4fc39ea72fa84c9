/* tls.c - TLS by OpenSSL: the only file that knows it.
 *
 * IDEA  One SSL_CTX for all connections, with the certificates and the rules; one SSL for each,
 *       over a socket that does not block.
 * WHY   hiredis 0.14 has no TLS. Its reader and its formatter do not care where bytes come from, so
 *       only the bytes go another way (wire.c).
 * I1    A peer's refusal often arrives after the handshake is over: in TLS 1.3 a server looks at
 *       the client's certificate only then. So a failure is one of the handshake until the first
 *       byte was read.
 * NAMES Of a certificate that is for another host, the names are kept while it is checked, for the
 *       message: afterwards OpenSSL has dropped it. */
#include "redis/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "say/message.h"

enum { NAME_BYTES = 256 };

struct redis_tls {
    SSL_CTX *context;
    char name[NAME_BYTES]; /* empty: each server's host */
};

struct redis_tls_session {
    SSL *ssl;
    bool wants_to_write, has_read;
    char host[NAME_BYTES];  /* what the certificate must be for */
    char names[NAME_BYTES]; /* what a certificate for another host is for */
};

/* --- Whom to trust, and who we are */

/* A key that needs a pass phrase is refused: nobody is there to be asked. */
static int give_no_phrase(char *out, int room, int is_writing, void *context) {
    (void)is_writing, (void)context;
    if (room > 0) out[0] = '\0';
    return -1;
}

/* Says why a file could not be used. */
static int fail_file(const char *option, const char *path, const char *what) {
    struct stat about;
    if (stat(path, &about) != 0) {
        ERR_clear_error();
        return message_fail(EXIT_ENVIRONMENT,
                            "--%s: cannot read %s: %s; check the name and the "
                            "permissions",
                            option, path, strerror(errno));
    }
    unsigned long error = ERR_peek_error();
    const char *reason = ERR_reason_error_string(error);
    bool is_system = ERR_SYSTEM_ERROR(error);
    int code = message_fail(is_system ? EXIT_ENVIRONMENT : EXIT_BAD_DATA, "--%s: %s is not %s (%s)",
                            option, path, what,
                            is_system        ? strerror(ERR_GET_REASON(error))
                            : reason != NULL ? reason
                                             : "it has none");
    ERR_clear_error();
    return code;
}

static int load_authorities(SSL_CTX *context, const char *path) {
    struct stat about;
    if (path == NULL) {
        if (SSL_CTX_set_default_verify_paths(context) == 1) return EXIT_DONE;
        return message_fail(EXIT_ENVIRONMENT, "cannot read the system's certificates; give the "
                                              "certificate of the servers' authority with "
                                              "--tls-ca");
    }
    bool is_folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    int is_loaded = is_folder ? SSL_CTX_load_verify_dir(context, path)
                              : SSL_CTX_load_verify_file(context, path);
    if (is_loaded == 1) return EXIT_DONE;
    return fail_file("tls-ca", path, "a file of certificates (PEM)");
}

static int load_identity(SSL_CTX *context, const struct redis_tls_options *options) {
    if (options->certificate == NULL) return EXIT_DONE;
    if (SSL_CTX_use_certificate_chain_file(context, options->certificate) != 1)
        return fail_file("tls-cert", options->certificate, "a certificate (PEM)");
    bool is_read = SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM) == 1;
    bool is_other = !is_read && ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509;
    if (is_read && SSL_CTX_check_private_key(context) == 1) return EXIT_DONE;
    if (is_read || is_other) {
        ERR_clear_error();
        return message_fail(EXIT_BAD_DATA, "--tls-key: %s is not the key of the certificate %s",
                            options->key, options->certificate);
    }
    return fail_file("tls-key", options->key, "a private key (PEM) without a pass phrase");
}

/* --- Names */

static void add_name(char out[NAME_BYTES], const char *name, size_t size) {
    size_t used = strlen(out);
    if (used + size + 3 > NAME_BYTES) return;
    snprintf(out + used, NAME_BYTES - used, "%s%.*s", used > 0 ? ", " : "", (int)size, name);
}

/* Writes the hosts that a certificate is for. */
static void list_names(X509 *certificate, char out[NAME_BYTES]) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_DNS) {
            add_name(out, (const char *)ASN1_STRING_get0_data(name->d.dNSName),
                     (size_t)ASN1_STRING_length(name->d.dNSName));
        } else if (name->type == GEN_IPADD) {
            char text[INET6_ADDRSTRLEN] = "";
            int size = ASN1_STRING_length(name->d.iPAddress);
            if (size != 4 && size != 16) continue; /* a hostile certificate: no address */
            inet_ntop(size == 16 ? AF_INET6 : AF_INET, ASN1_STRING_get0_data(name->d.iPAddress),
                      text, sizeof text);
            add_name(out, text, strlen(text));
        }
    }
    GENERAL_NAMES_free(names);
}

/* Called while a certificate is checked; keeps what OpenSSL found. */
static int watch_check(int is_good, X509_STORE_CTX *store) {
    const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct redis_tls_session *session = ssl != NULL ? SSL_get_app_data(ssl) : NULL;
    X509 *certificate = X509_STORE_CTX_get0_cert(store);
    if (!is_good && session != NULL && certificate != NULL && session->names[0] == '\0')
        list_names(certificate, session->names);
    return is_good;
}

int redis_tls_new(const struct redis_tls_options *options, struct redis_tls **out) {
    *out = NULL;
    struct redis_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL) return message_fail_memory();
    tls->context = SSL_CTX_new(TLS_client_method());
    if (tls->context == NULL || SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION) != 1) {
        redis_tls_free(tls);
        return message_fail_memory();
    }
    if (options->name != NULL) snprintf(tls->name, sizeof tls->name, "%s", options->name);
    SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, watch_check);
    SSL_CTX_set_default_passwd_cb(tls->context, give_no_phrase);
    /* A stream of answers has its own lengths: a connection that ends early is just lost. */
    SSL_CTX_set_options(tls->context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(tls->context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* A server's own certificate may be what is trusted. */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(tls->context), X509_V_FLAG_PARTIAL_CHAIN);
    int code = load_authorities(tls->context, options->ca);
    if (code == EXIT_DONE) code = load_identity(tls->context, options);
    if (code == EXIT_DONE) {
        *out = tls;
    } else {
        redis_tls_free(tls);
    }
    return code;
}

void redis_tls_free(struct redis_tls *tls) {
    if (tls == NULL) return;
    SSL_CTX_free(tls->context);
    free(tls);
}

/* --- One connection */

/* host is not const because a macro of OpenSSL casts it so. */
static bool expect_host(SSL *ssl, char *host) {
    unsigned char address[16];
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

struct redis_tls_session *redis_tls_begin(struct redis_tls *tls, int descriptor, const char *host) {
    struct redis_tls_session *session = calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    snprintf(session->host, sizeof session->host, "%s", tls->name[0] != '\0' ? tls->name : host);
    session->ssl = SSL_new(tls->context);
    if (session->ssl == NULL || SSL_set_fd(session->ssl, descriptor) != 1 ||
        SSL_set_app_data(session->ssl, session) != 1 || !expect_host(session->ssl, session->host)) {
        ERR_clear_error();
        redis_tls_end(session);
        return NULL;
    }
    SSL_set_connect_state(session->ssl);
    return session;
}

void redis_tls_end(struct redis_tls_session *session) {
    if (session == NULL) return;
    SSL_free(session->ssl);
    free(session);
}

bool redis_tls_wants_to_write(const struct redis_tls_session *session) {
    return session->wants_to_write;
}

/* --- What went wrong */

static void explain_certificate(const struct redis_tls_session *session, long problem,
                                char why[REDIS_WHY_BYTES]) {
    const char *text = X509_verify_cert_error_string(problem);
    switch (problem) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        snprintf(why, REDIS_WHY_BYTES,
                 "the server's certificate is for %s and not for %s; use a host that it names, or "
                 "give the name that it has with --tls-name",
                 session->names[0] != '\0' ? session->names : "no host", session->host);
        return;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        snprintf(why, REDIS_WHY_BYTES,
                 "the server's certificate, or one that signed it, %s; renew it, or check this "
                 "machine's clock",
                 problem == X509_V_ERR_CERT_HAS_EXPIRED ? "has expired" : "is not valid yet");
        return;
    default:
        snprintf(why, REDIS_WHY_BYTES,
                 "the server's certificate is not trusted (%s); give the certificate of its "
                 "authority with --tls-ca",
                 text);
    }
}

/* What OpenSSL's reasons mean here. */
static const struct {
    int reason;
    const char *text;
} reasons[] = {
    {SSL_R_WRONG_VERSION_NUMBER,
     "the server does not use TLS on this port; write redis:// instead, or give its TLS port (in a "
     "cluster, set tls-cluster on the nodes)"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
     "the server wants a client certificate; give --tls-cert and --tls-key"},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
     "the server refused the TLS handshake; it may want a client certificate: give --tls-cert and "
     "--tls-key"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA,
     "the server does not trust the client certificate; give one of an authority that it knows "
     "with --tls-cert"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
     "the server refused the client certificate; give another one with --tls-cert"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
     "the client certificate has expired; give another one with --tls-cert"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
     "the server refused the client certificate; give another one with --tls-cert"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
     "the client certificate is revoked; give another one with --tls-cert"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
     "the server has no version of TLS from 1.2 on; see its setting tls-protocols"},
    {SSL_R_UNSUPPORTED_PROTOCOL,
     "the server has no version of TLS from 1.2 on; see its setting tls-protocols"},
    {SSL_R_TLSV1_UNRECOGNIZED_NAME,
     "the server has no certificate for this host; give the name that it has with --tls-name"},
};

/* A failure that OpenSSL itself found, or was told by the server. */
static enum redis_tls_result explain(struct redis_tls_session *session, char why[REDIS_WHY_BYTES]) {
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_REASON(error);
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        snprintf(why, REDIS_WHY_BYTES, "the server closed the connection");
        return REDIS_TLS_LOST;
    }
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        explain_certificate(session, SSL_get_verify_result(session->ssl), why);
        return REDIS_TLS_REFUSED;
    }
    const char *text = NULL;
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0] && text == NULL; i++) {
        if (reasons[i].reason == reason) text = reasons[i].text;
    }
    if (text != NULL) {
        snprintf(why, REDIS_WHY_BYTES, "%s", text);
    } else {
        text = ERR_reason_error_string(error);
        snprintf(why, REDIS_WHY_BYTES, "TLS failed: %s", text != NULL ? text : "no reason known");
    }
    return session->has_read ? REDIS_TLS_LOST : REDIS_TLS_REFUSED; /* I1 */
}

/* What the result of a call of OpenSSL means. */
static enum redis_tls_result judge(struct redis_tls_session *session, int result, int problem,
                                   char why[REDIS_WHY_BYTES]) {
    int kind = SSL_get_error(session->ssl, result);
    session->wants_to_write = kind == SSL_ERROR_WANT_WRITE;
    enum redis_tls_result answer = REDIS_TLS_LOST;
    switch (kind) {
    case SSL_ERROR_NONE:
        return REDIS_TLS_DONE;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return REDIS_TLS_AGAIN;
    case SSL_ERROR_SSL:
        answer = explain(session, why);
        break;
    default:
        snprintf(why, REDIS_WHY_BYTES, "%s",
                 kind == SSL_ERROR_SYSCALL && problem != 0 ? strerror(problem)
                                                           : "the server closed the connection");
    }
    ERR_clear_error();
    return answer;
}

enum redis_tls_result redis_tls_shake_hands(struct redis_tls_session *session,
                                            char why[REDIS_WHY_BYTES]) {
    errno = 0;
    int result = SSL_do_handshake(session->ssl);
    return judge(session, result, errno, why);
}

enum redis_tls_result redis_tls_read(struct redis_tls_session *session, void *data, size_t room,
                                     size_t *size, char why[REDIS_WHY_BYTES]) {
    *size = 0;
    errno = 0;
    int result = SSL_read_ex(session->ssl, data, room, size);
    session->has_read = session->has_read || result == 1;
    return judge(session, result, errno, why);
}

enum redis_tls_result redis_tls_write(struct redis_tls_session *session, const void *data,
                                      size_t size, size_t *written, char why[REDIS_WHY_BYTES]) {
    *written = 0;
    errno = 0;
    int result = SSL_write_ex(session->ssl, data, size, written);
    return judge(session, result, errno, why);
}

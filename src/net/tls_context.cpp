#include "net/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "base/text.h"
#include "os/file.h"

namespace weir {

namespace {

/// The oldest error in OpenSSL's queue of this thread, which is the cause; empties the queue.
std::string take_ssl_error() {
    const unsigned long code = ERR_get_error();
    ERR_clear_error();
    const char* reason = code ? ERR_reason_error_string(code) : nullptr;
    return reason ? reason : "unknown error";
}

tl::unexpected<Error> file_error(std::string_view flag, const std::string& path,
                                 std::string_view what) {
    return fail(ErrorCode::kBadConfig, concat(flag, " ", path, ": ", what), std::string(flag));
}

Result<void> check_readable(std::string_view flag, const std::string& path) {
    const auto start = read_file_start(path, 1);
    if (!start) return file_error(flag, path, start.error().text);
    return {};
}

/// Instead of OpenSSL's default, which asks on the terminal and hangs a service.
int refuse_password(char*, int, int, void*) { return -1; }

Result<void> load_key_pair(SSL_CTX* context, const TlsFiles& files) {
    TRY_VOID(check_readable("--ssl-certfile", files.certfile));
    if (SSL_CTX_use_certificate_chain_file(context, files.certfile.c_str()) != 1) {
        return file_error("--ssl-certfile", files.certfile,
                          concat("no certificate in PEM form (", take_ssl_error(), ")"));
    }
    const bool own_file = !files.keyfile.empty();
    const std::string& keyfile = own_file ? files.keyfile : files.certfile;
    const std::string_view flag = own_file ? "--ssl-keyfile" : "--ssl-certfile";
    TRY_VOID(check_readable(flag, keyfile));
    SSL_CTX_set_default_passwd_cb(context, refuse_password);
    if (SSL_CTX_use_PrivateKey_file(context, keyfile.c_str(), SSL_FILETYPE_PEM) != 1) {
        const unsigned long code = ERR_peek_error();
        if (ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH) {
            ERR_clear_error();
            return file_error(
                flag, keyfile,
                concat("this key does not belong to the certificate in ", files.certfile));
        }
        return file_error(
            flag, keyfile,
            concat("no private key in PEM form without a password (", take_ssl_error(), ")",
                   own_file ? "" : "; give its file with --ssl-keyfile"));
    }
    return {};
}

Result<void> load_client_check(SSL_CTX* context, const TlsFiles& files) {
    if (files.cert_reqs < 0 || files.cert_reqs > 2) {
        return fail(ErrorCode::kBadConfig,
                    concat("--ssl-cert-reqs ", files.cert_reqs,
                           ": must be 0 (none), 1 (optional) or 2 (required)"),
                    "--ssl-cert-reqs");
    }
    if (files.cert_reqs > 0 && files.ca_certs.empty()) {
        return fail(ErrorCode::kBadConfig,
                    concat("--ssl-cert-reqs ", files.cert_reqs,
                           " checks client certificates: say whose with --ssl-ca-certs"),
                    "--ssl-ca-certs");
    }
    if (!files.ca_certs.empty()) {
        TRY_VOID(check_readable("--ssl-ca-certs", files.ca_certs));
        if (SSL_CTX_load_verify_file(context, files.ca_certs.c_str()) != 1) {
            return file_error("--ssl-ca-certs", files.ca_certs,
                              concat("no certificates in PEM form (", take_ssl_error(), ")"));
        }
        SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(files.ca_certs.c_str()));
    }
    int mode = SSL_VERIFY_NONE;
    if (files.cert_reqs > 0) mode = SSL_VERIFY_PEER;
    if (files.cert_reqs == 2) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(context, mode, nullptr);
    return {};
}

std::string stamp_of(const std::string& path) {
    struct stat info {};
    if (path.empty() || ::stat(path.c_str(), &info) != 0) return "-";
    return concat(info.st_dev, "/", info.st_ino, "/", info.st_size, "/", info.st_mtim.tv_sec, ".",
                  info.st_mtim.tv_nsec);
}

std::string stamp_of(const TlsFiles& files) {
    return concat(stamp_of(files.certfile), " ", stamp_of(files.keyfile), " ",
                  stamp_of(files.ca_certs));
}

}  // namespace

Result<SslContext> make_server_context(const TlsFiles& files) {
    ERR_clear_error();
    const SslContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    if (!context) return fail(ErrorCode::kInternal, concat("OpenSSL: ", take_ssl_error()));
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    // Partial writes and moving buffers: what is left of an answer may move while it waits.
    // Idle connections give their 34 KiB of buffers back.
    SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    const unsigned char session_name[] = "weir";
    SSL_CTX_set_session_id_context(context.get(), session_name, sizeof(session_name) - 1);
    if (!files.ciphers.empty() &&
        SSL_CTX_set_cipher_list(context.get(), files.ciphers.c_str()) != 1) {
        ERR_clear_error();
        return fail(ErrorCode::kBadConfig,
                    concat("--ssl-ciphers \"", files.ciphers,
                           "\" names no cipher that OpenSSL knows; `openssl ciphers` lists them"),
                    "--ssl-ciphers");
    }
    TRY_VOID(load_key_pair(context.get(), files));
    TRY_VOID(load_client_check(context.get(), files));
    return context;
}

Result<std::unique_ptr<TlsContext>> TlsContext::create(const TlsFiles& files) {
    auto context = std::make_unique<TlsContext>();
    context->files_ = files;
    context->stamp_ = stamp_of(files);
    TRY(context->current_, make_server_context(files));
    return context;
}

Result<void> TlsContext::refresh() {
    std::string stamp = stamp_of(files_);
    if (stamp == stamp_) return {};
    stamp_ = std::move(stamp);
    TRY(current_, make_server_context(files_));
    return {};
}

}  // namespace weir

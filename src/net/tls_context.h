#pragma once

#include <memory>
#include <string>

#include "base/result.h"

struct ssl_ctx_st;

namespace weir {

struct TlsFiles {
    std::string certfile;  // PEM: the certificate, then its chain.
    std::string keyfile;   // Empty: the key is in certfile.
    std::string ca_certs;  // Who may sign client certificates.
    std::string ciphers;   // OpenSSL's list; empty: its default.
    int cert_reqs = 0;     // 0 none, 1 optional, 2 required.
};

using SslContext = std::shared_ptr<ssl_ctx_st>;

/// Fails with kBadConfig; the text names the file and what is wrong with it.
Result<SslContext> make_server_context(const TlsFiles& files);

/// TLS settings whose files may be replaced while the server runs. IO thread only.
class TlsContext {
 public:
    static Result<std::unique_ptr<TlsContext>> create(const TlsFiles& files);

    /// Loads the files anew if one of them changed (device, inode, size, time). Files that do not
    /// load (half copied, key and certificate of different pairs) leave the old ones in use until
    /// they change again; the error is returned once.
    Result<void> refresh();

    const SslContext& current() const { return current_; }

 private:
    TlsFiles files_;
    std::string stamp_;
    SslContext current_;
};

}  // namespace weir

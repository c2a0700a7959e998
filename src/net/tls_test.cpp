#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "base/text.h"
#include "net/test_server.h"
#include "net/tls_context.h"

namespace weir {

namespace {

using Key = std::shared_ptr<EVP_PKEY>;

void ok(HttpRequest&& request, const std::shared_ptr<HttpResponder>& responder) {
    responder->send({200, {}, request.path});
}

/// A folder with certificates made for the test; the names stand for their subjects.
class Tls : public testing::Test {
 protected:
    void SetUp() override {
        char pattern[] = "/tmp/weir-tls-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern), nullptr);
        folder_ = pattern;
        write_pair("server");
        options_ = local_options();
        options_.ssl_certfile = path("server.crt");
        options_.ssl_keyfile = path("server.key");
    }
    void TearDown() override {
        for (const std::string& file : files_) ::unlink(file.c_str());
        EXPECT_EQ(::rmdir(folder_.c_str()), 0);
    }

    std::string path(const std::string& name) { return folder_ + "/" + name; }

    std::string new_file(const std::string& name) {
        files_.push_back(path(name));
        return files_.back();
    }

    std::string write_text(const std::string& name, const std::string& text) {
        std::ofstream(new_file(name)) << text;
        return path(name);
    }

    /// NAME.crt and NAME.key: self-signed, for 127.0.0.1.
    void write_pair(const std::string& name, const std::string& password = "") {
        const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
        const std::shared_ptr<X509> certificate(X509_new(), X509_free);
        X509_set_version(certificate.get(), 2);
        ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial_);
        X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
        X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400);
        X509_set_pubkey(certificate.get(), key.get());
        X509_NAME* const subject = X509_get_subject_name(certificate.get());
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                   reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
        X509_set_issuer_name(certificate.get(), subject);
        X509_EXTENSION* const names =
            X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
        X509_add_ext(certificate.get(), names, -1);
        X509_EXTENSION_free(names);
        X509_sign(certificate.get(), key.get(), EVP_sha256());
        FILE* const crt = std::fopen(new_file(name + ".crt").c_str(), "w");
        PEM_write_X509(crt, certificate.get());
        std::fclose(crt);
        FILE* const pem = std::fopen(new_file(name + ".key").c_str(), "w");
        PEM_write_PrivateKey(pem, key.get(), password.empty() ? nullptr : EVP_aes_128_cbc(),
                             reinterpret_cast<const unsigned char*>(password.data()),
                             static_cast<int>(password.size()), nullptr, nullptr);
        std::fclose(pem);
    }

    std::string refusal() {
        const auto server = HttpServer::create(options_);
        return server ? "created" : server.error().text;
    }

    std::string folder_;
    std::vector<std::string> files_;
    HttpServerOptions options_;
    int serial_ = 0;
};

}  // namespace

TEST_F(Tls, ServesLargeBodiesAndStreamsBothWays) {
    TestServer server(
        [](HttpRequest&& request, const std::shared_ptr<HttpResponder>& responder) {
            responder->begin_stream(200, {});
            for (size_t at = 0; at < request.body.size(); at += 100'000) {
                responder->write(std::string_view(request.body).substr(at, 100'000));
            }
            responder->end_stream();
        },
        options_);
    HttpClientOptions options = server.client_options();
    options.tls_verify = true;
    options.ca_certs = path("server.crt");
    HttpClient client = HttpClient::connect(options).value();
    std::string body;
    for (int i = 0; body.size() < (3u << 20); ++i) body += std::to_string(i);
    for (int round = 0; round < 2; ++round) {
        const auto reply = client.post("/", body);
        ASSERT_TRUE(reply.has_value()) << reply.error().text;
        EXPECT_EQ(reply->body, body);
    }
    EXPECT_EQ(server.server().counters().connections_total, 1);
}

TEST_F(Tls, ClientsThatVerifyRefuseStrangers) {
    TestServer server(ok, options_);
    HttpClientOptions options = server.client_options();
    options.tls_verify = true;
    const auto client = HttpClient::connect(options);
    ASSERT_FALSE(client.has_value());
    EXPECT_EQ(client.error().text,
              concat("127.0.0.1:", options.port, ": TLS handshake: certificate verify failed"));
    EXPECT_EQ(server.client().get("/a")->body, "/a");
}

TEST_F(Tls, PlainHttpOnTheTlsPortIsToldSo) {
    TestServer server(ok, options_);
    HttpClientOptions options = server.client_options();
    options.tls = false;
    const auto reply = HttpClient::connect(options)->get("/");
    ASSERT_TRUE(reply.has_value()) << reply.error().text;
    EXPECT_EQ(reply->status, 400);
    EXPECT_EQ(reply->body, "this port speaks HTTPS: use https:// in the URL");
}

TEST_F(Tls, GarbageAndSilenceEndTheHandshake) {
    options_.header_timeout = std::chrono::milliseconds(50);
    TestServer server(ok, options_);
    HttpClientOptions options = server.client_options();
    options.tls = false;
    HttpClient silent = HttpClient::connect(options).value();
    EXPECT_EQ(silent.read_to_end().value(), "");
    options_.header_timeout = std::chrono::seconds(60);
    TestServer patient(ok, options_);
    options.port = patient.server().port();
    HttpClient garbage = HttpClient::connect(options).value();
    ASSERT_TRUE(garbage.send_raw(std::string(600, '\x01')).has_value());
    const auto end = garbage.read_to_end();  // An alert, or a reset.
    EXPECT_TRUE(!end || end->size() < 100);
}

TEST_F(Tls, HangUpIsNoticed) {
    TestCounter arrived, closed;
    std::shared_ptr<HttpResponder> kept;
    TestServer server(
        [&](HttpRequest&&, const std::shared_ptr<HttpResponder>& responder) {
            responder->on_close([&] { closed.add(); });
            kept = responder;
            arrived.add();
        },
        options_);
    HttpClient client = server.client();
    ASSERT_TRUE(client.send_raw("GET / HTTP/1.1\r\nHost: x\r\n\r\n").has_value());
    ASSERT_TRUE(arrived.wait_for(1));
    client.close();
    EXPECT_TRUE(closed.wait_for(1));
}

TEST_F(Tls, ClientCertificatesAreCheckedAsAsked) {
    write_pair("friend");
    write_pair("stranger");
    options_.ssl_ca_certs = path("friend.crt");
    const auto status = [&](const std::string& name) {
        TestServer server(ok, options_);
        HttpClientOptions options = server.client_options();
        if (!name.empty()) options.certfile = path(name + ".crt");
        if (!name.empty()) options.keyfile = path(name + ".key");
        auto client = HttpClient::connect(options);
        if (!client) return 0;
        // With TLS 1.3 the client learns of the refusal with its first read.
        const auto reply = client->get("/");
        return reply ? reply->status : 0;
    };
    options_.ssl_cert_reqs = 2;
    EXPECT_EQ(status("friend"), 200);
    EXPECT_EQ(status(""), 0);
    EXPECT_EQ(status("stranger"), 0);
    options_.ssl_cert_reqs = 1;
    EXPECT_EQ(status("friend"), 200);
    EXPECT_EQ(status(""), 200);
    EXPECT_EQ(status("stranger"), 0);
    options_.ssl_cert_reqs = 0;
    EXPECT_EQ(status("stranger"), 200);
}

TEST_F(Tls, RefusalsNameTheFile) {
    write_pair("other");
    write_pair("locked", "secret");
    const std::string junk = write_text("junk", "not PEM");
    const HttpServerOptions good = options_;

    options_.ssl_certfile = path("none.crt");
    EXPECT_EQ(refusal(), concat("--ssl-certfile ", path("none.crt"), ": cannot open ",
                                path("none.crt"), ": No such file or directory"));
    options_.ssl_certfile = junk;
    EXPECT_EQ(refusal(),
              concat("--ssl-certfile ", junk, ": no certificate in PEM form (no start line)"));
    options_ = good;
    options_.ssl_keyfile = path("other.key");
    EXPECT_EQ(refusal(),
              concat("--ssl-keyfile ", path("other.key"),
                     ": this key does not belong to the certificate in ", path("server.crt")));
    options_.ssl_keyfile = path("locked.key");
    EXPECT_TRUE(refusal().starts_with(concat("--ssl-keyfile ", path("locked.key"),
                                             ": no private key in PEM form without a "
                                             "password (")))
        << refusal();
    options_.ssl_keyfile = "";
    EXPECT_TRUE(refusal().ends_with("; give its file with --ssl-keyfile")) << refusal();
    options_ = good;
    options_.ssl_ca_certs = junk;
    EXPECT_TRUE(
        refusal().starts_with(concat("--ssl-ca-certs ", junk, ": no certificates in PEM form (")))
        << refusal();
    options_ = good;
    options_.ssl_cert_reqs = 2;
    EXPECT_EQ(refusal(),
              "--ssl-cert-reqs 2 checks client certificates: say whose with --ssl-ca-certs");
    options_.ssl_cert_reqs = 3;
    EXPECT_EQ(refusal(), "--ssl-cert-reqs 3: must be 0 (none), 1 (optional) or 2 (required)");
    options_ = good;
    options_.ssl_ciphers = "NONSENSE";
    EXPECT_EQ(refusal(),
              "--ssl-ciphers \"NONSENSE\" names no cipher that OpenSSL knows; `openssl "
              "ciphers` lists them");
    options_ = good;
    options_.ssl_certfile = "";
    EXPECT_EQ(refusal(),
              "--ssl-keyfile and --ssl-ca-certs do nothing without a certificate: give "
              "its file with --ssl-certfile");
}

TEST_F(Tls, ChangedFilesServeNewConnections) {
    std::vector<std::string> warnings;  // IO thread, read after stop().
    options_.enable_ssl_refresh = true;
    options_.on_warning = [&](const std::string& text) { warnings.push_back(text); };
    write_pair("new");
    TestServer server(ok, options_);
    HttpClientOptions trusts_new = server.client_options();
    trusts_new.tls_verify = true;
    trusts_new.ca_certs = path("new.crt");
    HttpClient old_client = server.client();
    EXPECT_EQ(old_client.get("/")->status, 200);
    EXPECT_FALSE(HttpClient::connect(trusts_new).has_value());

    // The certificate first: for a moment the key does not fit, and the old pair stays in use.
    ASSERT_EQ(std::rename(path("new.crt").c_str(), path("server.crt").c_str()), 0);
    trusts_new.ca_certs = path("server.crt");
    EXPECT_EQ(server.client().get("/")->status, 200);
    EXPECT_FALSE(HttpClient::connect(trusts_new).has_value());
    ASSERT_EQ(std::rename(path("new.key").c_str(), path("server.key").c_str()), 0);
    EXPECT_EQ(HttpClient::connect(trusts_new)->get("/")->status, 200);
    EXPECT_EQ(old_client.get("/")->status, 200);
    server.stop();
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0],
              concat("the certificate was not reloaded, the old one stays in use: --ssl-keyfile ",
                     path("server.key"), ": this key does not belong to the certificate in ",
                     path("server.crt")));
}

}  // namespace weir

#include "net/listen_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/text.h"
#include "net/test_server.h"

namespace weir {

namespace {

std::string text_of(const Result<ListenSocket>& result) {
    return result ? "bound" : result.error().text;
}

class UnixSocket : public testing::Test {
 protected:
    void SetUp() override {
        char pattern[] = "/tmp/weir-net-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern), nullptr);
        folder_ = pattern;
        path_ = folder_ + "/s";
    }
    void TearDown() override {
        ::unlink(path_.c_str());
        EXPECT_EQ(::rmdir(folder_.c_str()), 0) << "files are left in " << folder_;
    }
    bool exists() const {
        struct stat info {};
        return ::lstat(path_.c_str(), &info) == 0;
    }

    std::string folder_, path_;
};

void ok(HttpRequest&& request, const std::shared_ptr<HttpResponder>& responder) {
    responder->send({200, {}, request.remote});
}

}  // namespace

TEST(ListenSocket, PortInUseFailsAtOnceEvenBeforeListening) {
    const auto first = ListenSocket::bind_tcp("127.0.0.1", 0);
    ASSERT_TRUE(first.has_value());
    const std::string want =
        concat("127.0.0.1:", first->port(),
               " is in use by another process: stop that one, or choose another port with --port "
               "(0: any free one)");
    EXPECT_EQ(text_of(ListenSocket::bind_tcp("127.0.0.1", first->port())), want);
    EXPECT_EQ(text_of(ListenSocket::bind_tcp("", first->port())),
              concat("port ", first->port(), want.substr(want.find(" is in use"))));
}

TEST(ListenSocket, RefusalsSayWhatToDo) {
    EXPECT_EQ(text_of(ListenSocket::bind_tcp("", 65536)),
              "port 65536 does not exist: --port takes 1 to 65535, or 0 for any free one");
    EXPECT_EQ(text_of(ListenSocket::bind_tcp("192.0.2.1", 0)),
              "192.0.2.1:0 is not an address of this machine: give one of its own with --host, or "
              "0.0.0.0 for all of them");
    const std::string bad_name = text_of(ListenSocket::bind_tcp("no such host", 0));
    EXPECT_TRUE(bad_name.starts_with("cannot resolve --host \"no such host\": ")) << bad_name;
    EXPECT_TRUE(bad_name.ends_with("; give a name or an address of this machine")) << bad_name;
}

TEST(ListenSocket, AddressesAsText) {
    EXPECT_EQ(ListenSocket::bind_tcp("localhost", 0).has_value(), true);
    EXPECT_EQ(ListenSocket::bind_tcp("0.0.0.0", 0).has_value(), true);
    sockaddr_un unix_address{};
    unix_address.sun_family = AF_UNIX;
    EXPECT_EQ(address_text(&unix_address), "unix:");
}

TEST(ListenSocket, AllInterfacesAndIpv6) {
    HttpServerOptions options = local_options();
    options.host = "";
    TestServer all(ok, options);
    EXPECT_TRUE(all.client().get("/")->body.starts_with("127.0.0.1:"));
    HttpClientOptions v6 = all.client_options();
    v6.host = "::1";
    if (!ListenSocket::bind_tcp("::1", 0)) GTEST_SKIP() << "this machine has no IPv6";
    EXPECT_TRUE(HttpClient::connect(v6)->get("/")->body.starts_with("[::1]:"));
    options.host = "::1";
    TestServer only_v6(ok, options);
    v6.port = only_v6.server().port();
    EXPECT_TRUE(HttpClient::connect(v6)->get("/")->body.starts_with("[::1]:"));
}

TEST(ListenSocket, ConnectingIsRefusedBeforeListen) {
    auto server = HttpServer::create(local_options());
    ASSERT_TRUE((*server)->bind().has_value());
    HttpClientOptions client;
    client.port = (*server)->port();
    const auto refused = HttpClient::connect(client);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().text,
              concat("127.0.0.1:", client.port, ": cannot connect: Connection refused"));
}

TEST(ListenSocket, APortIsFreeAgainAfterTheServerClosedConnections) {
    HttpServerOptions options = local_options();
    {
        TestServer server(ok, options);
        options.port = server.server().port();
        HttpClient client = server.client();
        EXPECT_EQ(client.request("GET", "/", {{"connection", "close"}}, "")->status, 200);
    }
    TestServer again(ok, options);  // The first one's connection is in TIME_WAIT.
    EXPECT_EQ(again.client().get("/")->status, 200);
}

TEST_F(UnixSocket, ServesAndCleansUp) {
    HttpServerOptions options = local_options();
    options.uds = path_;
    {
        TestServer server(ok, options);
        EXPECT_EQ(server.client().get("/")->body, "unix:");
        EXPECT_EQ(text_of(ListenSocket::bind_unix(path_)),
                  path_ +
                      " is in use by another process: stop that one, or give another path "
                      "with --uds");
        EXPECT_EQ(server.client().get("/")->status, 200);
    }
    EXPECT_FALSE(exists());
}

TEST_F(UnixSocket, ReplacesADeadServersFileOnly) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(::listen(fd, 1), 0);
    EXPECT_EQ(text_of(ListenSocket::bind_unix(path_)),
              path_ +
                  " is in use by another process: stop that one, or give another path with "
                  "--uds");
    EXPECT_TRUE(exists());
    ::close(fd);
    EXPECT_EQ(text_of(ListenSocket::bind_unix(path_)), "bound");

    std::ofstream(path_) << "precious";
    EXPECT_EQ(text_of(ListenSocket::bind_unix(path_)),
              path_ + " exists and is not a socket: remove it, or give another path with --uds");
    EXPECT_TRUE(exists());
}

TEST_F(UnixSocket, BadPathsAreRefused) {
    const std::string lost = folder_ + "/none/s";
    EXPECT_EQ(text_of(ListenSocket::bind_unix(lost)),
              concat("cannot create ", lost,
                     ".lock: No such file or directory; --uds needs a "
                     "folder that can be written"));
    const std::string deep(200, 'd');
    EXPECT_EQ(text_of(ListenSocket::bind_unix(deep)),
              concat("the socket path ", deep,
                     " has 200 bytes, but at most 107 are possible: give a shorter one with "
                     "--uds"));
}

}  // namespace weir

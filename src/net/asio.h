#pragma once

// Internal to net: the parts of Asio that weir uses. Only connection.cpp and http_server.cpp may
// include it (through their headers): each file that does costs seconds of compile time.

#ifdef __SANITIZE_THREAD__
// TSan does not know fences; Asio's mutexes order the same things.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#endif

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

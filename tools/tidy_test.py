"""The rules of tidy.py on small texts: python3 -m unittest tools/tidy_test.py"""

import unittest

import tidy

LAYERS = tidy.read_layers(
    "# comment\nos:\nkv:\nmodel: os\nengine_core: kv sampling/params.h\nengine: engine_core os\n"
    "api: engine/engine_client.h\n"
)


def messages(path, text):
    return [message for _, message in tidy.check_file(path, text, LAYERS)]


class TidyTest(unittest.TestCase):
    def test_layers(self):
        allowed = lambda path, target: tidy.include_allowed(LAYERS, path, target)
        self.assertTrue(allowed("kv/a.cpp", "base/check.h"))
        self.assertFalse(allowed("kv/a.cpp", "os/clock.h"))
        self.assertTrue(allowed("kv/a_test.cpp", "os/clock.h"))
        self.assertTrue(allowed("engine/engine_core.cpp", "sampling/params.h"))
        self.assertFalse(allowed("engine/engine_core.cpp", "sampling/sampler.h"))
        self.assertFalse(allowed("engine/engine_core.cpp", "os/clock.h"))
        self.assertFalse(allowed("engine/engine_core.cpp", "engine/engine_thread.h"))
        self.assertTrue(allowed("engine/engine_thread.cpp", "os/clock.h"))
        self.assertTrue(allowed("api/chat.cpp", "engine/engine_client.h"))
        self.assertFalse(allowed("api/chat.cpp", "engine/engine_core.h"))

    def test_libraries(self):
        self.assertTrue(messages("src/kv/a.cpp", "#include <boost/asio.hpp>\n"))
        self.assertFalse(messages("src/net/a.cpp", "#include <boost/asio.hpp>\n"))

    def test_bans(self):
        for line in [
            "throw 1;",
            "std::cout << 1;",
            "assert(x);",
            "auto t = std::chrono::steady_clock::now();",
            "std::mutex m;",
            "x = rand();",
            "using namespace std;",
            "// TODO later",
        ]:
            self.assertTrue(messages("src/kv/a.cpp", line + "\n"), line)
        for line in [
            "// throw",
            '"throw";',
            "static_assert(x);",
            "// TODO(#12) later",
            "operand(1);",
        ]:
            self.assertFalse(messages("src/kv/a.cpp", line + "\n"), line)

    def test_sizes(self):
        self.assertTrue(messages("src/kv/a.cpp", "x;\n" * 701))
        self.assertTrue(messages("src/kv/a.cpp", "x;\n" * 401))
        self.assertFalse(
            messages("src/kv/a.cpp", "// Longer than 400 lines: a table.\n" + "x;\n" * 401)
        )
        self.assertTrue(messages("src/kv/a.cpp", "x" * 101 + "\n"))

    def test_function_length(self):
        body = "    x();\n"
        self.assertTrue(messages("src/kv/a.cpp", "int f(int a) {\n" + body * 69 + "}\n"))
        self.assertFalse(messages("src/kv/a.cpp", "int f(int a) {\n" + body * 68 + "}\n"))
        self.assertFalse(messages("src/kv/a.cpp", "namespace weir {\n" + body * 90 + "}\n"))
        lambdas = "    run([&](int i) {\n        x();\n    });\n" * 40
        self.assertFalse(messages("src/kv/a.cpp", lambdas + "    if (x) {\n    }\n"))

    def test_regions(self):
        text = 'WEIR_TARGET_BEGIN("avx2")\n#include <vector>\nWEIR_TARGET_END\n'
        self.assertTrue(messages("src/kernels/a.cpp", text))

    def test_awaits(self):
        self.assertTrue(messages("src/net/a.cpp", "co_await f(Options{1});\n"))
        self.assertTrue(messages("src/net/a.cpp", "co_await f([x](int) { });\n"))
        self.assertFalse(messages("src/net/a.cpp", "co_await f(options);\n"))

    def test_paths(self):
        self.assertTrue(messages("docs/a.md", "see /wo" + "rk/main\n"))


if __name__ == "__main__":
    unittest.main()

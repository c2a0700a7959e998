#include "os/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "os/mapped_file.h"
#include "os/temp_folder.h"

namespace weir {
namespace {

TEST(File, ReadsWhole) {
    const TempFolder folder;
    const std::string content("a\0b\n", 4);
    EXPECT_EQ(read_file(folder.write("a", content)).value(), content);
    EXPECT_EQ(read_file(folder.write("empty", "")).value(), "");
    const std::string large(300'000, 'x');
    EXPECT_EQ(read_file(folder.write("large", large)).value(), large);
    EXPECT_EQ(read_file(folder.file("large"), 300'000).value(), large);
    EXPECT_EQ(read_file(folder.file("large"), 299'999).error().text,
              "cannot read " + folder.file("large") +
                  ": it has more than 299999 bytes, the most that is read here");
    EXPECT_EQ(read_file_start(folder.file("large"), 5).value(), "xxxxx");
}

TEST(File, FilesWithoutASizeAreRead) {
    EXPECT_NE(read_file("/proc/self/stat").value().find(')'), std::string::npos);
}

TEST(File, Refusals) {
    const TempFolder folder;
    const auto text = [](const std::string& path) { return read_file(path).error().text; };
    EXPECT_EQ(text("/nowhere/a"), "cannot open /nowhere/a: No such file or directory");
    EXPECT_EQ(read_file("/nowhere/a").error().code, ErrorCode::kFileNotFound);
    EXPECT_EQ(text(folder.path()), "cannot open " + folder.path() + ": it is a directory");
    EXPECT_EQ(text("/dev/zero"), "cannot open /dev/zero: it is not a regular file");
    EXPECT_EQ(text(""), "an empty file name");
    EXPECT_EQ(text(std::string("/etc/passwd\0.gguf", 17)), "a file name with a NUL byte");
    ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
    EXPECT_EQ(text(folder.file("pipe")),
              "cannot open " + folder.file("pipe") + ": it is not a regular file");
}

TEST(File, Kinds) {
    const TempFolder folder;
    const std::string file = folder.write("a", "x");
    EXPECT_TRUE(path_exists(file) && is_regular_file(file) && !is_directory(file));
    EXPECT_TRUE(path_exists(folder.path()) && is_directory(folder.path()));
    EXPECT_FALSE(is_regular_file(folder.path()) || path_exists(folder.file("b")));
    ASSERT_EQ(::symlink("/nowhere", folder.file("dangling").c_str()), 0);
    EXPECT_FALSE(path_exists(folder.file("dangling")));
}

TEST(File, ListsSorted) {
    const TempFolder folder;
    for (const char* name : {"b", "a", "c/d"}) folder.write(name, "");
    EXPECT_EQ(list_directory(folder.path()).value(), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(list_directory("/nowhere").error().text,
              "cannot list /nowhere: No such file or directory");
}

TEST(File, WritesAtomically) {
    const TempFolder folder;
    const std::string path = folder.write("a", "old");
    ASSERT_TRUE(write_file_atomic(path, "new").has_value());
    EXPECT_EQ(read_file(path).value(), "new");
    EXPECT_EQ(list_directory(folder.path())->size(), 1U);
    const auto written = write_file_atomic("/nowhere/a", "x");
    ASSERT_FALSE(written.has_value());
    EXPECT_TRUE(written.error().text.starts_with("cannot write /nowhere/a"));
}

// A rename onto a folder fails after the data was written: nothing may stay behind.
TEST(File, FailedWriteLeavesNothing) {
    const TempFolder folder;
    folder.write("a/inside", "x");
    EXPECT_FALSE(write_file_atomic(folder.file("a"), "x").has_value());
    EXPECT_EQ(list_directory(folder.path()).value(), std::vector<std::string>{"a"});
}

TEST(File, MakesDirectories) {
    const TempFolder folder;
    ASSERT_TRUE(make_directories(folder.file("a/b/c")).has_value());
    ASSERT_TRUE(make_directories(folder.file("a/b/c/")).has_value());
    EXPECT_TRUE(is_directory(folder.file("a/b/c")));
    folder.write("file", "x");
    EXPECT_FALSE(make_directories(folder.file("file/d")).has_value());
    EXPECT_FALSE(make_directories(folder.file("file")).has_value());
}

TEST(MappedFile, MapsMovesAndDrops) {
    const TempFolder folder;
    auto file = MappedFile::open(folder.write("a", "hello"));
    ASSERT_TRUE(file.has_value());
    ASSERT_EQ(file->size(), 5U);
    const std::byte* data = file->bytes().data();
    MappedFile moved = std::move(*file);
    EXPECT_EQ(moved.bytes().data(), data);
    EXPECT_EQ(file->size(), 0U);
    moved.prefetch();
    moved.drop_pages();
    EXPECT_EQ(moved.bytes()[4], std::byte{'o'});
    moved = MappedFile();
    EXPECT_EQ(moved.size(), 0U);
}

TEST(MappedFile, EmptyAndMissing) {
    const TempFolder folder;
    const auto empty = MappedFile::open(folder.write("a", ""));
    ASSERT_TRUE(empty.has_value());
    EXPECT_TRUE(empty->bytes().empty());
    EXPECT_EQ(MappedFile::open(folder.file("b")).error().code, ErrorCode::kFileNotFound);
}

// 1 TiB that takes no disk: sizes beyond 32 bits, and no more memory than is touched.
TEST(MappedFile, HugeSparseFile) {
    const TempFolder folder;
    const std::string path = folder.write("a", "x");
    if (::truncate(path.c_str(), int64_t{1} << 40) != 0) GTEST_SKIP() << "no sparse files here";
    const auto file = MappedFile::open(path);
    ASSERT_TRUE(file.has_value()) << file.error().text;
    EXPECT_EQ(file->size(), size_t{1} << 40);
    EXPECT_EQ(file->bytes()[(size_t{1} << 40) - 1], std::byte{0});
    EXPECT_NE(read_file(path, 10).error().text.find("more than 10 bytes"), std::string::npos);
}

}  // namespace
}  // namespace weir

#include "model/model_path.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include "base/json.h"
#include "base/testing.h"
#include "model/gguf_model.h"
#include "model/gguf_split.h"
#include "model/gguf_testing.h"
#include "os/temp_folder.h"

namespace weir {
namespace {

std::string error_of(const std::string& model) {
    const auto path = resolve_model_path(model);
    return path ? "found " + *path : path.error().text;
}

TEST(ModelPath, FilesAndFolders) {
    const TempFolder folder;
    EXPECT_EQ(error_of(folder.path()), "no .gguf file in the folder " + folder.path());
    const std::string file = folder.write("a.gguf", "x");
    folder.write("mmproj-a.gguf", "x");
    folder.write("sub.gguf/readme", "a folder with the name of a model");
    EXPECT_EQ(error_of(file), "found " + file);
    EXPECT_EQ(error_of(folder.path()), "found " + file);
    EXPECT_EQ(error_of(folder.path() + "/"), "found " + file);
    folder.write("b.gguf", "x");
    EXPECT_EQ(error_of(folder.path()), "the folder " + folder.path() +
                                           " holds 2 models; name one of them: a.gguf, b.gguf");
    for (const char* name : {"c.gguf", "d.gguf", "e.gguf", "f.gguf"}) folder.write(name, "x");
    EXPECT_NE(error_of(folder.path()).find("e.gguf and 1 more"), std::string::npos);
}

TEST(ModelPath, Missing) {
    EXPECT_EQ(error_of(""), "MODEL is empty: give a .gguf file or a folder");
    EXPECT_EQ(error_of("/nowhere/x.gguf"),
              "no such file or folder: /nowhere/x.gguf; give a .gguf file or a folder with one");
    EXPECT_EQ(error_of("HuggingFaceTB/SmolLM2-135M-Instruct"),
              "no such file or folder: HuggingFaceTB/SmolLM2-135M-Instruct; weir does not download "
              "models: get its .gguf file and name that");
}

TEST(ModelPath, HuggingFaceFolder) {
    const TempFolder folder;
    folder.write("config.json", "{}");
    EXPECT_EQ(error_of(folder.path()), folder.path() +
                                           " is a Hugging Face folder (config.json); weir reads "
                                           "those later: give a .gguf file for now");
    folder.write("model.safetensors", "x");
    EXPECT_NE(error_of(folder.path()).find("(safetensors)"), std::string::npos);
}

TEST(ModelPath, SplitModelInAFolder) {
    const TempFolder folder;
    folder.write("m-00002-of-00002.gguf", "x");
    EXPECT_EQ(error_of(folder.path()), "found " + folder.file("m-00002-of-00002.gguf"));
    folder.write("m-00001-of-00002.gguf", "x");
    EXPECT_EQ(error_of(folder.path()), "found " + folder.file("m-00001-of-00002.gguf"));
    folder.write("n-00001-of-00002.gguf", "x");
    EXPECT_NE(error_of(folder.path()).find("holds 3 models"), std::string::npos);
}

TEST(ModelPath, SplitWithoutItsFirstPart) {
    const TempFolder folder;
    folder.write("m-00002-of-00003.gguf", "x");
    folder.write("m-00003-of-00003.gguf", "x");
    EXPECT_EQ(error_of(folder.path()), "the folder " + folder.path() +
                                           " lacks the first part of its model, "
                                           "m-00001-of-00003.gguf");
}

// gguf-split-files.json, variant directory-named.
TEST(ModelPath, FolderOfTheSplitCase) {
    const auto json = read_json_file(test_file("cases/gguf-split-files.json"));
    ASSERT_TRUE(json.has_value());
    const Json& variant = (*json)["input"]["variants"][2];
    ASSERT_EQ(variant["id"].as_string(), "directory-named");
    const TempFolder folder;
    for (const JsonMember& file : variant["files"].members()) {
        folder.write(file.name, decode_base64(file.value.as_string()));
    }
    const auto path = resolve_model_path(folder.file("."));
    ASSERT_TRUE(path.has_value()) << path.error().text;
    const auto file = GgufFile::open(*path);
    ASSERT_TRUE(file.has_value()) << file.error().text;
    EXPECT_EQ(file->tensors().size(), 4U);
    EXPECT_EQ(file->num_parts(), 3);
    const auto model = open_gguf_model(folder.path());
    ASSERT_FALSE(model.has_value());
    EXPECT_NE(model.error().text.find("unknown architecture weirtest"), std::string::npos);
}

TEST(ModelPath, FilesOfOtherKindsAreNamed) {
    const std::pair<std::string, const char*> kinds[] = {
        {std::string("\x40\0\0\0\0\0\0\0{\"a\":{}}", 16), "safetensors"},
        {std::string("PK\x03\x04\0\0", 6), "PyTorch pickle"},
        {std::string("\x80\x02}q", 4), "PyTorch pickle"},
        {"<!DOCTYPE html><html>", "web page"},
        {"\n<HTML><head>", "web page"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:1", "Git LFS pointer"},
        {"tjgg\x01", "GGML file from before GGUF"},
        {"\x1f\x8b\x08", "compressed"},
        {"{\"a\": 1}", "JSON"},
        {"hello", "not a GGUF file: it starts with \"hell\", not \"GGUF\""},
        {"", "the file is empty"},
    };
    const TempFolder folder;
    for (const auto& [content, text] : kinds) {
        const std::string path = folder.write("x.gguf", content);
        const auto model = open_gguf_model(path);
        ASSERT_FALSE(model.has_value());
        EXPECT_EQ(model.error().code, ErrorCode::kBadModelFile);
        EXPECT_TRUE(model.error().text.starts_with(path + ": ")) << model.error().text;
        EXPECT_NE(model.error().text.find(text), std::string::npos) << model.error().text;
    }
}

TEST(ModelPath, PipesDoNotHang) {
    const TempFolder folder;
    ASSERT_EQ(::mkfifo(folder.file("x.gguf").c_str(), 0600), 0);
    const auto model = open_gguf_model(folder.file("x.gguf"));
    ASSERT_FALSE(model.has_value());
    EXPECT_NE(model.error().text.find("it is not a regular file"), std::string::npos);
}

TEST(SplitName, Forms) {
    const auto name = parse_split_name("/x/m-00002-of-00003.gguf");
    ASSERT_TRUE(name.has_value());
    EXPECT_EQ(name->stem, "/x/m");
    EXPECT_EQ(name->number, 2);
    EXPECT_EQ(name->count, 3);
    EXPECT_EQ(split_path(*name, 3), "/x/m-00003-of-00003.gguf");
    for (const char* bad : {"best-of-breed.gguf", "m-00000-of-00003.gguf", "m-00004-of-00003.gguf",
                            "m-2-of-3.gguf", "m-0000a-of-00003.gguf", "m-+0002-of-00003.gguf",
                            "m--0002-of-00003.gguf", "m_00002-of-00003.gguf", ".gguf", ""}) {
        EXPECT_FALSE(parse_split_name(bad).has_value()) << bad;
    }
}

}  // namespace
}  // namespace weir

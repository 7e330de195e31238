#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "config/load.hpp"

using namespace sm::config;

namespace {

/// A folder that goes away again.
class Folder {
  public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "sm-files-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string file(const std::string& name, std::filesystem::perms perms = std::filesystem::perms::owner_read) const {
        const auto path = path_ / name;
        std::ofstream(path) << "x";
        std::filesystem::permissions(path, perms);
        return path.string();
    }
    std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

Loaded read(const std::string& text) {
    return load_text(text, "f", [](const std::string&) { return std::nullopt; });
}

}  // namespace

TEST_CASE("files: what is named and cannot be read is an error at its place", "[config]") {
    const Folder folder;
    auto loaded =
        read("tls:\n  certificates:\n    - {certificate: /nonexistent/a, private_key: /nonexistent/b}\n  client_ca: " +
             folder.path() + "\nregistry: {kind: file, path: /nonexistent/c}\nplans: {directory: " + folder.file("d") +
             "}\n");
    REQUIRE(loaded.ok());
    check_files(loaded);
    REQUIRE(loaded.errors.size() == 5);
    CHECK(to_string(loaded.errors[0]) ==
          "f:3:21: tls.certificates[0].certificate: /nonexistent/a cannot be read: No such file or directory (check "
          "the path and the "
          "permissions)");
    CHECK(loaded.errors[1].column == 50);
    CHECK_THAT(loaded.errors[2].message, Catch::Contains("is a folder"));
    CHECK_THAT(loaded.errors[3].message, Catch::Contains("registry.path"));
    CHECK_THAT(loaded.errors[4].message, Catch::Contains("is no folder"));
}

TEST_CASE("files: a key that everybody can read is a warning", "[config]") {
    const Folder folder;
    using Perms = std::filesystem::perms;
    const auto open = folder.file("open", Perms::owner_read | Perms::others_read);
    auto loaded = read("tls: {certificates: [{certificate: " + open + ", private_key: " + open + "}]}");
    check_files(loaded);
    CHECK(loaded.ok());
    REQUIRE(loaded.warnings.size() == 1);
    CHECK_THAT(to_string(loaded.warnings[0]), Catch::Contains("can be read by everybody"));
}

TEST_CASE("files: files of another kind of registry or upstream are not looked for", "[config]") {
    auto loaded = read(
        "registry: {kind: open, path: /nonexistent/c}\nupstream: {kind: console, targets: [{tls: {ca: "
        "/nonexistent}}]}");
    check_files(loaded);
    CHECK(loaded.ok());
}

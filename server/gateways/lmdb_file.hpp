#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/eui.hpp"

struct MDB_env;
struct MDB_txn;

namespace sm::gateways {

/// The tables of the store; the key is an EUI, the value is sealed bytes.
enum class Table : std::uint8_t { kRecords, kMemories };
constexpr int kTableCount = 2;

/// One open LMDB file: thread-safe reading, one writing thread. Owned by the store through a shared_ptr, so that
/// readers can finish while it is replaced. The destructor closes it.
class LmdbFile {
  public:
    struct Failure {
        int code = 0;
        std::string text;
    };
    /// Opens or makes the file; checks only its first pages. nullptr and `failure` when it cannot.
    static std::shared_ptr<LmdbFile> open(const std::string& path, std::size_t max_size, Failure& failure);
    ~LmdbFile();
    LmdbFile(const LmdbFile&) = delete;
    LmdbFile& operator=(const LmdbFile&) = delete;

    /// What is wrong with the file (every page is looked at), or nothing. Must be asked before anything is read.
    std::optional<std::string> damage();
    /// Opens the tables; false with `failure` when that does not work. `schema` as written in the file.
    bool open_tables(std::uint32_t expected_schema, std::uint32_t& schema, Failure& failure);

    std::optional<std::string> get(Table table, protocol::Eui64 eui) const;
    struct Change {
        Table table;
        protocol::Eui64 eui;
        std::optional<std::string> value;  ///< nothing = erase
    };
    /// All or nothing. 0, or LMDB's or the system's error code.
    int write(const std::vector<Change>& changes);
    /// EUIs of a table above `after`, ascending, at most `limit`.
    std::vector<protocol::Eui64> list(Table table, protocol::Eui64 after, std::size_t limit) const;
    std::size_t count(Table table) const;

    static std::string message(int code);

  private:
    class Reading;
    LmdbFile(std::string path, MDB_env* env) : path_(std::move(path)), env_(env) {}

    std::string path_;
    MDB_env* env_;
    unsigned tables_[kTableCount] = {};
    mutable std::mutex mutex_;  ///< leaf lock: the idle read transactions
    mutable std::vector<MDB_txn*> idle_;
};

}  // namespace sm::gateways

#include "server/gateways/lmdb_file.hpp"

#include <lmdb.h>

#include <array>
#include <cstring>

#include "server/gateways/lmdb_check.hpp"

namespace sm::gateways {

namespace {

constexpr std::array<const char*, kTableCount> kTableNames{"records", "memories"};
constexpr const char* kAboutTable = "about";
constexpr unsigned kMaxReaders = 512;

using Key = std::array<unsigned char, 8>;

/// Big-endian, so that the file's order is the order of the EUIs.
Key key_of(protocol::Eui64 eui) {
    Key key{};
    for (std::size_t i = 0; i < 8; ++i) key[i] = static_cast<unsigned char>(eui.value >> (56 - 8 * i));
    return key;
}

protocol::Eui64 eui_of(const MDB_val& key) {
    protocol::Eui64 eui;
    const auto* bytes = static_cast<const unsigned char*>(key.mv_data);
    for (std::size_t i = 0; i < key.mv_size && i < 8; ++i) eui.value = eui.value << 8U | bytes[i];
    return eui;
}

MDB_val value_of(std::string_view text) {
    return {text.size(), const_cast<char*>(text.data())};
}

}  // namespace

/// A read transaction, taken from the idle ones and given back.
class LmdbFile::Reading {
  public:
    explicit Reading(const LmdbFile& file) : file_(file) {
        {
            const std::lock_guard lock(file.mutex_);
            if (!file.idle_.empty()) {
                txn_ = file.idle_.back();
                file.idle_.pop_back();
            }
        }
        if (txn_ != nullptr && mdb_txn_renew(txn_) == 0) return;
        if (txn_ != nullptr) mdb_txn_abort(txn_);
        if (mdb_txn_begin(file.env_, nullptr, MDB_RDONLY, &txn_) != 0) txn_ = nullptr;
    }
    ~Reading() {
        if (txn_ == nullptr) return;
        mdb_txn_reset(txn_);
        const std::lock_guard lock(file_.mutex_);
        file_.idle_.push_back(txn_);
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    MDB_txn* txn() const noexcept { return txn_; }

  private:
    const LmdbFile& file_;
    MDB_txn* txn_ = nullptr;
};

std::string LmdbFile::message(int code) {
    return mdb_strerror(code);
}

std::shared_ptr<LmdbFile> LmdbFile::open(const std::string& path, std::size_t max_size, Failure& failure) {
    if (const auto problem = find_header_damage(path)) {
        failure = {MDB_INVALID, *problem};
        return nullptr;
    }
    MDB_env* env = nullptr;
    int rc = mdb_env_create(&env);
    if (rc == 0) rc = mdb_env_set_mapsize(env, max_size);
    if (rc == 0) rc = mdb_env_set_maxdbs(env, kTableCount + 1);
    if (rc == 0) rc = mdb_env_set_maxreaders(env, kMaxReaders);
    // No sync of the meta page: a power cut may lose the last batch, never the file.
    if (rc == 0) rc = mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_NOTLS | MDB_NOMETASYNC, 0600);
    if (rc != 0) {
        if (env != nullptr) mdb_env_close(env);
        failure = {rc, message(rc)};
        return nullptr;
    }
    int dead = 0;
    mdb_reader_check(env, &dead);
    return std::shared_ptr<LmdbFile>(new LmdbFile(path, env));
}

LmdbFile::~LmdbFile() {
    for (MDB_txn* txn : idle_) mdb_txn_abort(txn);
    mdb_env_close(env_);
}

std::optional<std::string> LmdbFile::damage() {
    // The transaction keeps the pages of its snapshot from being used again while they are looked at.
    const Reading reading(*this);
    if (reading.txn() == nullptr) return "no read transaction";
    return find_damage(path_, mdb_txn_id(reading.txn()));
}

bool LmdbFile::open_tables(std::uint32_t expected_schema, std::uint32_t& schema, Failure& failure) {
    schema = expected_schema;
    MDB_txn* txn = nullptr;
    MDB_dbi about = 0;
    int rc = mdb_txn_begin(env_, nullptr, 0, &txn);
    if (rc == 0) rc = mdb_dbi_open(txn, kAboutTable, MDB_CREATE, &about);
    for (std::size_t i = 0; rc == 0 && i < kTableNames.size(); ++i) {
        rc = mdb_dbi_open(txn, kTableNames[i], MDB_CREATE, &tables_[i]);
    }
    if (rc == 0) {
        MDB_val key = value_of("schema"), value{};
        rc = mdb_get(txn, about, &key, &value);
        if (rc == 0 && value.mv_size == sizeof schema) std::memcpy(&schema, value.mv_data, sizeof schema);
        if (rc == MDB_NOTFOUND) {
            value = {sizeof schema, &schema};
            rc = mdb_put(txn, about, &key, &value, 0);
        }
    }
    if (rc == 0) {
        rc = mdb_txn_commit(txn);
    } else if (txn != nullptr) {
        mdb_txn_abort(txn);
    }
    if (rc != 0) failure = {rc, message(rc)};
    return rc == 0;
}

std::optional<std::string> LmdbFile::get(Table table, protocol::Eui64 eui) const {
    const Reading reading(*this);
    if (reading.txn() == nullptr) return std::nullopt;
    Key bytes = key_of(eui);
    MDB_val key{bytes.size(), bytes.data()}, value{};
    if (mdb_get(reading.txn(), tables_[static_cast<std::size_t>(table)], &key, &value) != 0) return std::nullopt;
    return std::string(static_cast<const char*>(value.mv_data), value.mv_size);
}

int LmdbFile::write(const std::vector<Change>& changes) {
    MDB_txn* txn = nullptr;
    int rc = mdb_txn_begin(env_, nullptr, 0, &txn);
    if (rc != 0) return rc;
    for (const Change& change : changes) {
        Key bytes = key_of(change.eui);
        MDB_val key{bytes.size(), bytes.data()};
        const MDB_dbi table = tables_[static_cast<std::size_t>(change.table)];
        if (change.value) {
            MDB_val value = value_of(*change.value);
            rc = mdb_put(txn, table, &key, &value, 0);
        } else {
            rc = mdb_del(txn, table, &key, nullptr);
            if (rc == MDB_NOTFOUND) rc = 0;
        }
        if (rc != 0) {
            mdb_txn_abort(txn);
            return rc;
        }
    }
    return mdb_txn_commit(txn);
}

std::vector<protocol::Eui64> LmdbFile::list(Table table, protocol::Eui64 after, std::size_t limit) const {
    std::vector<protocol::Eui64> out;
    if (after.value == ~std::uint64_t{0}) return out;
    const Reading reading(*this);
    MDB_cursor* cursor = nullptr;
    if (reading.txn() == nullptr) return out;
    if (mdb_cursor_open(reading.txn(), tables_[static_cast<std::size_t>(table)], &cursor) != 0) return out;
    Key bytes = key_of(protocol::Eui64{after.value + 1});
    MDB_val key{bytes.size(), bytes.data()}, value{};
    for (int rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE); rc == 0 && out.size() < limit;
         rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        out.push_back(eui_of(key));
    }
    mdb_cursor_close(cursor);
    return out;
}

std::size_t LmdbFile::count(Table table) const {
    const Reading reading(*this);
    MDB_stat stat{};
    if (reading.txn() == nullptr || mdb_stat(reading.txn(), tables_[static_cast<std::size_t>(table)], &stat) != 0)
        return 0;
    return stat.ms_entries;
}

}  // namespace sm::gateways

#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/runtime/task.hpp"

struct pg_conn;
struct pg_result;

namespace sm::gateways {

struct PgResultDelete {
    void operator()(pg_result* result) const noexcept;
};
using PgResult = std::unique_ptr<pg_result, PgResultDelete>;

/// One connection to PostgreSQL, driven by readiness of its socket: libpq never blocks here. One query at a time. Lives
/// on the cache's thread; the destructor closes it.
class PgConnection {
  public:
    /// What went wrong, for the log; never a password.
    using Failure = std::string;

    /// Host names are resolved before libpq sees them (it would block). No deadline of its own.
    static runtime::Task<boost::system::result<std::unique_ptr<PgConnection>, Failure>> open(runtime::Executor executor,
                                                                                             std::string dsn);
    ~PgConnection();
    PgConnection(const PgConnection&) = delete;
    PgConnection& operator=(const PgConnection&) = delete;

    /// One statement; `parameter` is $1, as text. After a failure the connection is of no more use unless usable().
    runtime::Task<boost::system::result<PgResult, Failure>> query(std::string sql,
                                                                  std::optional<std::string> parameter);
    /// Until something has come from the server; false = the connection is gone.
    runtime::Task<bool> wait_for_input();
    /// Payloads of notifications that have come.
    std::vector<std::string> notifications();
    bool usable() const noexcept;

  private:
    PgConnection(runtime::Executor executor, pg_conn* conn) : executor_(executor), conn_(conn) {}
    enum class Wait { kRead, kWrite };
    runtime::Task<bool> wait(Wait what);
    void attach();
    void detach();
    Failure failure() const;

    runtime::Executor executor_;
    pg_conn* conn_;
    std::optional<boost::asio::posix::basic_stream_descriptor<runtime::Executor>> socket_;
};

/// The elements of a PostgreSQL array as text ("{a,\"b c\",NULL}"); NULL elements are left out. Nothing when malformed
/// or nested.
std::optional<std::vector<std::string>> parse_pg_array(std::string_view text);

}  // namespace sm::gateways

#pragma once

#include <boost/asio/signal_set.hpp>
#include <functional>

#include "server/runtime/task.hpp"

namespace sm::runtime {

/// Turns the signals of the process into calls on one executor's thread, as often as they come. (SIGPIPE is
/// ignored from the first line of main.)
///
/// Owner: `app`. Destroyed on the executor's thread, or after it has ended.
class Signals {
  public:
    struct Callbacks {
        std::function<void(int signal)> terminate;  ///< SIGTERM, SIGINT: the first asks, the second insists
        std::function<void()> reload;               ///< SIGHUP: read certificates and files again
    };

    /// Throws boost::system::system_error when a signal cannot be watched.
    Signals(Executor executor, Callbacks callbacks);
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

  private:
    void wait();

    Callbacks callbacks_;
    boost::asio::signal_set set_;
};

}  // namespace sm::runtime

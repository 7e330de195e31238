#include "server/runtime/signals.hpp"

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <vector>

TEST_CASE("signals: each one is told, again and again", "[runtime]") {
    boost::asio::io_context io(1);
    std::vector<int> terminated;
    int reloaded = 0;
    sm::runtime::Signals signals(io.get_executor(),
                                 {[&](int signal) { terminated.push_back(signal); }, [&] { ++reloaded; }});
    auto raise_and_run = [&](int signal) {
        REQUIRE(std::raise(signal) == 0);
        io.restart();
        io.run_one_for(std::chrono::seconds(10));
        io.poll();
    };
    raise_and_run(SIGTERM);
    raise_and_run(SIGHUP);
    raise_and_run(SIGINT);
    raise_and_run(SIGHUP);
    CHECK(terminated == std::vector<int>{SIGTERM, SIGINT});
    CHECK(reloaded == 2);
}

#include "server/upstream/line_queue.hpp"

#include <catch2/catch.hpp>
#include <thread>

using namespace sm::upstream;

namespace {

LineBlock block(std::uint32_t lines, const std::string& text = "x\n") {
    LineBlock out;
    for (std::uint32_t i = 0; i < lines; ++i) out.text += text;
    out.counts[static_cast<std::size_t>(EventKind::kUp)] = lines;
    return out;
}

void push(LineQueue& queue, LineBlock lines) {
    std::atomic<bool> pending{true};
    queue.push(lines, pending);
    CHECK_FALSE(pending);
    CHECK(lines.text.empty());
    CHECK(lines.lines() == 0);
}

std::string pull_all(LineQueue& queue) {
    std::string out;
    EventCounts counts{};
    while (queue.pull(out, counts, 1 << 20) == LineQueue::Pull::kLines) {
    }
    return out;
}

}  // namespace

TEST_CASE("line_queue: blocks come out in order, together up to the size", "[upstream]") {
    UpstreamProbe probe;
    LineQueue queue(100, probe);
    push(queue, block(1, "aaa\n"));
    push(queue, block(2, "bbb\n"));
    push(queue, block(1, "ccc\n"));
    std::string out;
    EventCounts counts{};
    CHECK(queue.pull(out, counts, 12) == LineQueue::Pull::kLines);
    CHECK(out == "aaa\nbbb\nbbb\n");
    CHECK(counts[0] == 3);
    CHECK(queue.lines() == 4);
    out.clear();
    CHECK(queue.pull(out, counts, 1) == LineQueue::Pull::kLines);
    CHECK(out == "ccc\n");
    CHECK(queue.lines() == 1);
}

TEST_CASE("line_queue: when full the oldest go, counted", "[upstream]") {
    UpstreamProbe probe;
    LineQueue queue(5, probe);
    push(queue, block(2, "a\n"));
    push(queue, block(3, "b\n"));
    push(queue, block(1, "c\n"));
    CHECK(probe.dropped(DropReason::kQueueFull) == 2);
    CHECK(queue.lines() == 4);
    queue.close();
    CHECK(pull_all(queue) == "b\nb\nb\nc\n");
}

TEST_CASE("line_queue: a block larger than the queue is taken alone", "[upstream]") {
    UpstreamProbe probe;
    LineQueue queue(2, probe);
    push(queue, block(1, "a\n"));
    push(queue, block(4, "b\n"));
    CHECK(probe.dropped(DropReason::kQueueFull) == 1);
    queue.close();
    CHECK(pull_all(queue) == "b\nb\nb\nb\n");
}

TEST_CASE("line_queue: after close lines are dropped and counted", "[upstream]") {
    UpstreamProbe probe;
    LineQueue queue(10, probe);
    push(queue, block(1));
    queue.close();
    push(queue, block(2));
    CHECK(probe.dropped(DropReason::kStopped) == 2);
    CHECK(pull_all(queue) == "x\n");
    CHECK(queue.lines() == 0);
}

TEST_CASE("line_queue: waking the writer is no line and no end", "[upstream]") {
    UpstreamProbe probe;
    LineQueue queue(10, probe);
    queue.wake();
    std::string out;
    EventCounts counts{};
    CHECK(queue.pull(out, counts, 100) == LineQueue::Pull::kWoken);
    push(queue, block(1));
    CHECK(queue.pull(out, counts, 100) == LineQueue::Pull::kLines);
}

TEST_CASE("line_queue: waiting for shards and for the writer ends when they are done", "[upstream]") {
    UpstreamProbe probe;
    LineQueue queue(1000, probe);
    std::atomic<bool> pending{true};
    std::string written;
    std::thread writer([&] { written = pull_all(queue); });
    std::thread shard([&] {
        LineBlock lines = block(3);
        queue.push(lines, pending);
    });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    queue.wait_idle({&pending}, deadline);
    CHECK_FALSE(pending);
    queue.close();
    queue.wait_drained(deadline);
    CHECK(queue.lines() == 0);
    CHECK(std::chrono::steady_clock::now() < deadline);
    shard.join();
    writer.join();
    CHECK(written == "x\nx\nx\n");
}

TEST_CASE("line_queue: waiting ends at its deadline", "[upstream]") {
    UpstreamProbe probe;
    LineQueue queue(10, probe);
    const std::atomic<bool> pending{true};
    queue.wait_idle({&pending}, std::chrono::steady_clock::now());
    push(queue, block(1));
    queue.wait_drained(std::chrono::steady_clock::now());
    CHECK(queue.lines() == 1);
}

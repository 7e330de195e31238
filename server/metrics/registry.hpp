#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "server/metrics/page.hpp"

namespace sm::metrics {

/// Who writes on the metrics page. Built by app, handed to the rooms, outlives them. Any thread adds and removes;
/// `scrape` runs on the admin thread and calls every collector there, under the registry's lock (leaf lock, never held
/// while anything waits): collectors only read probes, and never add or remove collectors.
class Registry {
  public:
    using Collector = std::function<void(Page&)>;

    /// A place on the page; gives it back when destroyed. Destroyed before what its collector reads.
    class Registration {
      public:
        Registration() = default;
        Registration(Registration&& other) noexcept;
        Registration& operator=(Registration&& other) noexcept;
        ~Registration();

      private:
        friend class Registry;
        Registration(Registry& registry, std::uint64_t id) : registry_(&registry), id_(id) {}
        void release() noexcept;

        Registry* registry_ = nullptr;
        std::uint64_t id_ = 0;
    };

    [[nodiscard]] Registration add(Collector collector);

    /// The whole page in Prometheus text format 0.0.4 (`text/plain; version=0.0.4`).
    std::string scrape() const;
    /// The same as values, for tests and for the status page.
    Page collect() const;

  private:
    mutable std::mutex mutex_;
    std::map<std::uint64_t, Collector> collectors_;
    std::uint64_t next_id_ = 1;
};

/// The text of a page.
std::string to_text(const Page& page);

}  // namespace sm::metrics

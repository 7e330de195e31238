#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "server/directory/handle.hpp"

namespace sm::directory {

/// Who is connected on this instance: EUI → newest session. Shared by all threads; every critical section is a map
/// operation on one of 64 parts, never held across a wait. An old session's cleanup can never hurt the new one: a claim
/// gives back only its own epoch.
class Directory {
  public:
    /// Proof of being the newest session of an EUI; move-only, gives the place back when destroyed.
    class Claim {
      public:
        Claim() = default;
        Claim(Claim&& other) noexcept;
        Claim& operator=(Claim&& other) noexcept;
        ~Claim();
        explicit operator bool() const noexcept { return directory_ != nullptr; }
        /// Still the newest?
        bool current() const;
        void release();

      private:
        friend class Directory;
        Claim(Directory& directory, protocol::Eui64 eui, std::uint64_t epoch);
        Directory* directory_ = nullptr;
        protocol::Eui64 eui_;
        std::uint64_t epoch_ = 0;
    };

    /// Strictly increasing; the higher half starts from the wall clock so that a restart never reuses one.
    std::uint64_t next_epoch() noexcept;

    struct ClaimResult {
        Claim claim;                              ///< empty: a newer session is there already
        std::shared_ptr<SessionHandle> replaced;  ///< the older session, already out of the map; owes it a Goodbye
    };
    /// The newest session wins by epoch.
    ClaimResult claim(std::shared_ptr<SessionHandle> session);

    std::shared_ptr<SessionHandle> find(protocol::Eui64 eui) const;
    std::size_t size() const noexcept;
    /// Handles with EUI > `after` in ascending order, at most `limit`.
    std::vector<std::shared_ptr<SessionHandle>> list(protocol::Eui64 after, std::size_t limit) const;
    void for_each(const std::function<void(const std::shared_ptr<SessionHandle>&)>& visit) const;

  private:
    static constexpr std::size_t kParts = 64;
    struct Part {
        mutable std::mutex mutex;
        std::unordered_map<protocol::Eui64, std::shared_ptr<SessionHandle>> sessions;
    };
    Part& part(protocol::Eui64 eui) noexcept;
    const Part& part(protocol::Eui64 eui) const noexcept;
    void give_back(protocol::Eui64 eui, std::uint64_t epoch);

    std::array<Part, kParts> parts_;
    std::atomic<std::size_t> size_{0};
    std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace sm::directory

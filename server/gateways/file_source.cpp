#include "server/gateways/file_source.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "server/gateways/gateways_file.hpp"

namespace sm::gateways {

namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::size_t kMaxProblemLines = 50;

}  // namespace

FileSource::FileSource(const config::Registry& settings, KeyRingPtr keys, runtime::Executor executor, log::Logger log)
    : path_(settings.path),
      default_tenant_(settings.default_tenant),
      keys_(std::move(keys)),
      log_(log),
      timer_(executor) {}

void FileSource::start() {
    look();
    wait();
}

void FileSource::wait() {
    if (closed_) return;
    timer_.expires_after(kLookEvery);
    timer_.async_wait([this](boost::system::error_code ec) {
        if (ec || closed_) return;
        look();
        wait();
    });
}

void FileSource::close() {
    closed_ = true;
    timer_.cancel();
}

FileSource::Stamp FileSource::stamp() const {
    struct stat about {};
    if (::stat(path_.c_str(), &about) != 0) return {};
    return {about.st_dev, about.st_ino, static_cast<std::uint64_t>(about.st_size),
            std::int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec, true};
}

void FileSource::look() {
    const Stamp now = stamp();
    const bool first = !seen_;
    const bool still = seen_ && *seen_ == now;
    seen_ = now;
    if (read_ && *read_ == now) return;
    if (!first && !still) return;
    read_ = now;
    read();
}

void FileSource::read() {
    const auto began = std::chrono::steady_clock::now();
    errno = 0;
    std::ifstream in(path_, std::ios::binary);
    if (!in) {
        log_.error("gateways_file_refused",
                   {{"path", path_}, {"error", std::strerror(errno)}, {"old_in_force", table() != nullptr}});
        return;
    }
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    GatewaysFile file = read_gateways(text, path_, *keys_, default_tenant_);
    if (!file.problems.empty()) {
        log_.error("gateways_file_refused",
                   {{"path", path_}, {"problems", file.problems.size()}, {"old_in_force", table() != nullptr}});
        for (std::size_t i = 0; i < std::min(file.problems.size(), kMaxProblemLines); ++i) {
            log_.error("gateways_file_problem", {{"problem", config::to_string(file.problems[i])}});
        }
        return;
    }
    const std::size_t count = file.records.size();
    take(std::move(file.records));
    log_.info("gateways_file_read",
              {{"path", path_}, {"gateways", count}, {"took_s", std::chrono::steady_clock::now() - began}});
}

void FileSource::take(std::vector<RecordPtr> records) {
    const auto old = table();
    auto next = std::make_shared<Table>();
    std::vector<protocol::Eui64> changed;
    for (RecordPtr& record : records) {
        const protocol::Eui64 eui = record->eui;
        const auto before = old ? old->records.find(eui) : decltype(old->records.find(eui)){};
        if (old && before != old->records.end() && *before->second == *record) {
            record = before->second;
        } else {
            changed.push_back(eui);
        }
        next->order.push_back(eui);
        next->records.emplace(eui, std::move(record));
    }
    std::sort(next->order.begin(), next->order.end());
    if (old) {
        for (const auto& [eui, record] : old->records) {
            if (!next->records.contains(eui)) changed.push_back(eui);
        }
    }
    {
        const std::lock_guard lock(mutex_);
        table_ = std::move(next);
    }
    if (changed_ && !changed.empty()) changed_(std::move(changed));
}

std::shared_ptr<const FileSource::Table> FileSource::table() const {
    const std::lock_guard lock(mutex_);
    return table_;
}

SourceAnswer FileSource::find_now(protocol::Eui64 eui) {
    const auto now = table();
    if (!now) return {SourceAnswer::Kind::kError, nullptr, "no gateways file could be read yet"};
    const auto it = now->records.find(eui);
    if (it == now->records.end()) return {SourceAnswer::Kind::kUnknown, nullptr, {}};
    return {SourceAnswer::Kind::kFound, it->second, {}};
}

runtime::Task<std::vector<SourceAnswer>> FileSource::find(std::vector<protocol::Eui64> euis) {
    std::vector<SourceAnswer> answers;
    answers.reserve(euis.size());
    for (const protocol::Eui64 eui : euis) answers.push_back(find_now(eui));
    co_return answers;
}

std::vector<protocol::Eui64> FileSource::list(protocol::Eui64 after, std::size_t limit) const {
    const auto now = table();
    if (!now) return {};
    const auto begin = std::upper_bound(now->order.begin(), now->order.end(), after);
    const auto count = std::min<std::size_t>(limit, static_cast<std::size_t>(now->order.end() - begin));
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace sm::gateways

#include "server/gateways/lmdb_check.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

static_assert(std::endian::native == std::endian::little && sizeof(void*) == 8, "LMDB's file format is the machine's");

namespace sm::gateways {

namespace {

constexpr std::uint32_t kMagic = 0xBEEFC0DE, kVersion = 1;
constexpr std::uint16_t kBranch = 0x01, kLeaf = 0x02, kOverflow = 0x04, kMeta = 0x08, kKindMask = 0x6f;
constexpr std::uint16_t kBigData = 0x01, kSubData = 0x02;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr std::size_t kPageHeader = 16, kNodeHeader = 8;
constexpr unsigned kMaxDepth = 32;

struct Tree {
    std::uint32_t pad;
    std::uint16_t flags, depth;
    std::uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
};
static_assert(sizeof(Tree) == 48);

struct Meta {
    std::uint32_t magic, version;
    std::uint64_t address, map_size;
    Tree free, main;
    std::uint64_t last_page, txn;
};
static_assert(sizeof(Meta) == 136);

template <class T>
T read_at(std::span<const std::byte> page, std::size_t at) {
    T value;
    std::memcpy(&value, page.data() + at, sizeof value);
    return value;
}

class File {
  public:
    explicit File(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        struct stat about {};
        if (fd_ >= 0 && ::fstat(fd_, &about) == 0) size_ = static_cast<std::uint64_t>(about.st_size);
    }
    ~File() {
        if (fd_ >= 0) ::close(fd_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    bool is_open() const noexcept { return fd_ >= 0; }
    std::uint64_t size() const noexcept { return size_; }
    bool read(std::uint64_t at, std::span<std::byte> out) const {
        std::size_t done = 0;
        while (done < out.size()) {
            const ssize_t n = ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(at + done));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            done += static_cast<std::size_t>(n);
        }
        return true;
    }

  private:
    int fd_;
    std::uint64_t size_ = 0;
};

/// The meta page of `which` (0 or 1); nothing and a reason when it cannot be one.
std::optional<Meta> read_meta(const File& file, std::uint32_t page_size, unsigned which, std::string& why) {
    std::vector<std::byte> page(kPageHeader + sizeof(Meta));
    if (!file.read(std::uint64_t{page_size} * which, page)) {
        why = "shorter than its header";
        return std::nullopt;
    }
    const Meta meta = read_at<Meta>(page, kPageHeader);
    if ((read_at<std::uint16_t>(page, 10) & kMeta) == 0 || meta.magic != kMagic) {
        why = "not an LMDB file";
    } else if (meta.version != kVersion) {
        why = fmt::format("data format {} instead of {}", meta.version, kVersion);
    } else if (meta.free.pad < 512 || meta.free.pad > 65536 || !std::has_single_bit(meta.free.pad)) {
        why = fmt::format("page size {}", meta.free.pad);
    } else if (meta.last_page < 1 || meta.last_page > (std::uint64_t{1} << 40U)) {
        why = fmt::format("{} pages", meta.last_page);
    } else {
        return meta;
    }
    return std::nullopt;
}

/// Walks the trees of one snapshot.
class Walk {
  public:
    Walk(const File& file, const Meta& meta)
        : file_(file), page_size_(meta.free.pad), last_page_(meta.last_page), seen_(meta.last_page + 1) {}

    std::optional<std::string> run(const Meta& meta) {
        tree(meta.free, Kind::kFreeList);
        if (problem_.empty()) tree(meta.main, Kind::kMain);
        return problem_.empty() ? std::nullopt : std::optional(problem_);
    }

  private:
    enum class Kind { kFreeList, kMain, kTable };

    bool fail(std::uint64_t page, const char* what) {
        if (problem_.empty()) problem_ = fmt::format("page {}: {}", page, what);
        return false;
    }

    /// Each page belongs to one place of one tree.
    bool load(std::uint64_t number, std::vector<std::byte>& page) {
        if (number < 2 || number > last_page_) return fail(number, "no such page");
        if (seen_[number]) return fail(number, "used twice");
        seen_[number] = true;
        page.resize(page_size_);
        if ((number + 1) * page_size_ > file_.size() || !file_.read(number * page_size_, page)) {
            return fail(number, "behind the end of the file");
        }
        if (read_at<std::uint64_t>(page, 0) != number) return fail(number, "carries another number");
        return true;
    }

    bool tree(const Tree& tree, Kind kind) {
        if (tree.root == kNoPage) return tree.depth == 0 || fail(kNoPage, "a depth without a root");
        if (tree.depth < 1 || tree.depth > kMaxDepth) return fail(tree.root, "impossible depth");
        return node(tree.root, tree.depth, kind);
    }

    bool node(std::uint64_t number, unsigned levels, Kind kind) {
        std::vector<std::byte> page;
        if (!load(number, page)) return false;
        const auto flags = static_cast<std::uint16_t>(read_at<std::uint16_t>(page, 10) & kKindMask);
        if (flags != (levels > 1 ? kBranch : kLeaf)) return fail(number, "not the kind of page that belongs here");
        const auto lower = read_at<std::uint16_t>(page, 12), upper = read_at<std::uint16_t>(page, 14);
        if (lower < kPageHeader || lower % 2 != 0 || lower > upper || upper > page_size_)
            return fail(number, "bad bounds");
        const std::size_t count = (lower - kPageHeader) / 2U;
        if (levels > 1 && count < 2) return fail(number, "a branch without twigs");
        for (std::size_t i = 0; i < count; ++i) {
            const auto at = read_at<std::uint16_t>(page, kPageHeader + 2 * i);
            if (at < upper || at + kNodeHeader > page_size_ || at % 2 != 0) return fail(number, "an entry outside");
            const auto low = read_at<std::uint16_t>(page, at), high = read_at<std::uint16_t>(page, at + 2U);
            const auto node_flags = read_at<std::uint16_t>(page, at + 4U),
                       key_size = read_at<std::uint16_t>(page, at + 6U);
            if (at + kNodeHeader + key_size > page_size_) return fail(number, "a key outside");
            if (levels > 1) {
                const std::uint64_t child = low | std::uint64_t{high} << 16U | std::uint64_t{node_flags} << 32U;
                if (!node(child, levels - 1, kind)) return false;
                continue;
            }
            const std::size_t size = low | std::size_t{high} << 16U;
            if (!leaf_entry(number, page, at + kNodeHeader + key_size, size, node_flags, kind)) return false;
        }
        return true;
    }

    bool leaf_entry(std::uint64_t number, const std::vector<std::byte>& page, std::size_t at, std::size_t size,
                    std::uint16_t flags, Kind kind) {
        if (flags == kBigData) {
            if (kind == Kind::kMain || at + 8 > page_size_) return fail(number, "a large value where none belongs");
            return overflow(read_at<std::uint64_t>(page, at), size, kind);
        }
        if (at + size > page_size_) return fail(number, "a value outside");
        if (flags == kSubData && kind == Kind::kMain && size == sizeof(Tree)) {
            const Tree table = read_at<Tree>(page, at);
            return table.flags == 0 ? tree(table, Kind::kTable) : fail(number, "a table of another kind");
        }
        if (flags != 0 || kind == Kind::kMain) return fail(number, "an entry of another kind");
        return kind != Kind::kFreeList || free_list(number, std::span(page).subspan(at, size));
    }

    bool overflow(std::uint64_t number, std::size_t size, Kind kind) {
        std::vector<std::byte> page;
        if (!load(number, page)) return false;
        const auto pages = read_at<std::uint32_t>(page, 12);
        if ((read_at<std::uint16_t>(page, 10) & kKindMask) != kOverflow || pages == 0 ||
            size > std::uint64_t{pages} * page_size_ - kPageHeader) {
            return fail(number, "not the rest of a large value");
        }
        if (number + pages - 1 > last_page_) return fail(number, "a large value outside");
        for (std::uint64_t i = number + 1; i < number + pages; ++i) {
            if (seen_[i]) return fail(i, "used twice");
            seen_[i] = true;
        }
        if (number * page_size_ + kPageHeader + size > file_.size()) return fail(number, "behind the end of the file");
        if (kind != Kind::kFreeList) return true;
        std::vector<std::byte> list(size);
        return file_.read(number * page_size_ + kPageHeader, list) ? free_list(number, list)
                                                                   : fail(number, "behind the end of the file");
    }

    /// A count, then that many page numbers, largest first.
    bool free_list(std::uint64_t number, std::span<const std::byte> list) {
        if (list.size() < 8) return fail(number, "a short free list");
        const auto count = read_at<std::uint64_t>(list, 0);
        if (count > list.size() / 8 - 1) return fail(number, "a short free list");
        std::uint64_t above = last_page_ + 1;
        for (std::uint64_t i = 1; i <= count; ++i) {
            const auto page = read_at<std::uint64_t>(list, 8 * i);
            if (page < 2 || page >= above) return fail(number, "a bad free list");
            above = page;
        }
        return true;
    }

    const File& file_;
    const std::uint32_t page_size_;
    const std::uint64_t last_page_;
    std::vector<bool> seen_;
    std::string problem_;
};

}  // namespace

std::optional<std::string> find_header_damage(const std::string& path) {
    const File file(path);
    if (!file.is_open()) return errno == ENOENT ? std::nullopt : std::optional(std::string(std::strerror(errno)));
    if (file.size() == 0) return std::nullopt;
    std::string why;
    const auto first = read_meta(file, 0, 0, why);
    if (!first) return why;
    const auto second = read_meta(file, first->free.pad, 1, why);
    if (!second) return why;
    if (second->free.pad != first->free.pad) return "two page sizes";
    return std::nullopt;
}

std::optional<std::string> find_damage(const std::string& path, std::uint64_t id) {
    const File file(path);
    std::string why;
    const auto first = read_meta(file, 0, 0, why);
    if (!first) return why;
    const auto second = read_meta(file, first->free.pad, 1, why);
    if (!second) return why;
    const Meta* meta = nullptr;
    if (first->txn == id) meta = &*first;
    if (second->txn == id) meta = &*second;
    // A file that was just made: both pages say 0, LMDB reports the larger.
    if (meta == nullptr) return fmt::format("no snapshot {} (there are {} and {})", id, first->txn, second->txn);
    if (meta->last_page + 1 > file.size() / meta->free.pad + 65536) return "much shorter than it says";
    return Walk(file, *meta).run(*meta);
}

}  // namespace sm::gateways

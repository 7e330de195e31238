#include "config/suggest.hpp"

#include <algorithm>
#include <numeric>

namespace sm::config {
namespace {

/// "pingInterval", "ping-interval" and "PING_INTERVAL" are all ping_interval.
std::string normal(const std::string& word) {
    std::string result;
    bool after_lower = false;
    for (const char c : word) {
        const bool upper = c >= 'A' && c <= 'Z';
        if (upper && after_lower) result += '_';
        after_lower = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        result += upper ? static_cast<char>(c - 'A' + 'a') : c == '-' || c == ' ' ? '_' : c;
    }
    return result;
}

/// Insertions, deletions, replacements and swaps of neighbours.
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> before;
    std::vector<std::size_t> above(b.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::vector<std::size_t> row(b.size() + 1, i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = a[i - 1] == b[j - 1];
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0U : 1U)});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::move(above);
        above = std::move(row);
    }
    return above.back();
}

}  // namespace

std::string nearest(const std::string& written, const std::vector<std::string>& known) {
    const auto word = normal(written);
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const auto& candidate : known) {
        const auto away = distance(word, normal(candidate));
        // A word that is only begun ("cert" for certificate) is meant too, if nothing is nearer.
        const bool begun = word.size() >= 3 && candidate.starts_with(word);
        if (away < best_distance || (begun && best.empty())) {
            best = candidate;
            best_distance = std::min(best_distance, away);
        }
    }
    return best;
}

}  // namespace sm::config

#include "server/admin/target.hpp"

#include <algorithm>

#include "config/address.hpp"

namespace sm::admin {
namespace {

/// Calls visit(part) for each part between separators; stops and answers false when visit does.
template <class Visit>
bool split(std::string_view text, char separator, Visit visit) {
    for (;;) {
        const std::size_t end = text.find(separator);
        if (!visit(text.substr(0, end))) return false;
        if (end == std::string_view::npos) return true;
        text.remove_prefix(end + 1);
    }
}

std::optional<std::string> decode_query(std::string_view text) {
    std::string spaced(text);
    std::replace(spaced.begin(), spaced.end(), '+', ' ');
    return config::percent_decode(spaced);
}

}  // namespace

std::optional<std::string_view> Target::find(std::string_view name) const {
    for (const auto& [key, value] : query) {
        if (key == name) return value;
    }
    return std::nullopt;
}

std::optional<std::string_view> Target::stray(std::initializer_list<std::string_view> known) const {
    for (std::size_t i = 0; i < query.size(); ++i) {
        const std::string& key = query[i].first;
        const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
        const bool again = std::any_of(query.begin(), query.begin() + static_cast<std::ptrdiff_t>(i),
                                       [&key](const auto& earlier) { return earlier.first == key; });
        if (!is_known || again) return key;
    }
    return std::nullopt;
}

std::optional<Target> parse_target(std::string_view text) {
    if (text.empty() || text.front() != '/') return std::nullopt;
    text = text.substr(0, text.find('#'));
    const std::size_t question = text.find('?');
    std::string_view path = text.substr(1, question == std::string_view::npos ? question : question - 1);
    if (!path.empty() && path.back() == '/') path.remove_suffix(1);
    Target target;
    const bool path_fine = path.empty() || split(path, '/', [&target](std::string_view part) {
                               auto segment = config::percent_decode(part);
                               if (segment) target.segments.push_back(std::move(*segment));
                               return segment.has_value();
                           });
    if (!path_fine) return std::nullopt;
    if (question == std::string_view::npos) return target;
    const bool query_fine = split(text.substr(question + 1), '&', [&target](std::string_view part) {
        if (part.empty()) return true;
        const std::size_t sign = part.find('=');
        auto key = decode_query(part.substr(0, sign));
        auto value = decode_query(sign == std::string_view::npos ? std::string_view() : part.substr(sign + 1));
        if (!key || !value) return false;
        target.query.emplace_back(std::move(*key), std::move(*value));
        return true;
    });
    if (!query_fine) return std::nullopt;
    return target;
}

}  // namespace sm::admin

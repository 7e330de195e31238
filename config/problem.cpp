#include "config/problem.hpp"

#include <algorithm>
#include <tuple>

namespace sm::config {

std::string to_string(const Problem& problem) {
    std::string text = problem.file;
    if (problem.line > 0) {
        text += ":" + std::to_string(problem.line);
        if (problem.column > 0) text += ":" + std::to_string(problem.column);
    }
    if (!text.empty()) text += ": ";
    text += problem.message;
    if (!problem.remedy.empty()) text += " (" + problem.remedy + ")";
    return text;
}

void sort_by_place(Problems& problems) {
    std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
        return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
    });
}

}  // namespace sm::config
